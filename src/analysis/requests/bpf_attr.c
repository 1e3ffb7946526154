/* SPDX-License-Identifier: MIT */
/*
 * analysis/requests/bpf_attr.c - the attributes of bpf().
 *
 * They are a union: the command decides which structure it is. Later kernels add fields at its end, and
 * a caller passes the bytes of its own version. The descriptions are those of syscalls/described.c, with
 * a bar before each field or group of fields that was added later: it is shown if the caller passed
 * its first byte. Fields before the first bar are always shown; the kernel takes 0 for bytes that are
 * not passed. More forms:
 *
 *   T      a text behind a pointer
 *   B      data behind a pointer
 *   N      a name of at most so many bytes
 *   I      a network interface
 *   K      a version of the kernel
 *   R G    a program that is replaced, a type that is attached to, if there is one
 *   L      a size that the kernel changes
 *   M      the description of a map
 *   A      a memory node, only if the flags at byte 16 ask for one
 */
#include "analysis/requests/decoders.h"

#include <inttypes.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/syscalls/fds.h"
#include "analysis/syscalls/words.h"

enum { PAGE = 4096 };

#define MAP_ID(name) name "=%0u4, next_id=%4u4|, open_flags=%8F4:bpf_file"
#define ELEMENT "map_fd=%0f4, key=%8p8"

static const struct attributes {
	uint32_t command;
	uint16_t size; /* of the structure that is described; more bytes are extra data */
	const char *text;
} commands[] = {
	{ BPF_MAP_CREATE, 72,
	  "map_type=%0E4:bpf_map_type, key_size=%4u4, value_size=%8u4, max_entries=%12u4|, "
	  "map_flags=%16F4:bpf_map_flag|, inner_map_fd=%20f4|%24A4|, map_name=%28N16|, "
	  "map_ifindex=%44I4|, btf_fd=%48f4, btf_key_type_id=%52u4, btf_value_type_id=%56u4|, "
	  "btf_vmlinux_value_type_id=%60u4|, map_extra=%64u8" },
	{ BPF_MAP_LOOKUP_ELEM, 32, ELEMENT ", value=%16p8|, flags=%24F8:bpf_lookup" },
	{ BPF_MAP_LOOKUP_AND_DELETE_ELEM, 32, ELEMENT ", value=%16p8|, flags=%24F8:bpf_lookup" },
	{ BPF_MAP_UPDATE_ELEM, 32, ELEMENT ", value=%16p8, flags=%24E8:bpf_update" },
	{ BPF_MAP_DELETE_ELEM, 16, ELEMENT },
	{ BPF_MAP_GET_NEXT_KEY, 24, ELEMENT ", next_key=%16p8" },
	{ BPF_MAP_FREEZE, 4, "map_fd=%0f4" },
	{ BPF_PROG_LOAD, 128,
	  "prog_type=%0E4:bpf_prog_type, insn_cnt=%4u4, insns=%8p8, license=%16T8|, "
	  "log_level=%24u4, log_size=%28u4, log_buf=%32T8|, kern_version=%40K4|, "
	  "prog_flags=%44F4:bpf_prog_flag|, prog_name=%48N16|, prog_ifindex=%64I4|, "
	  "expected_attach_type=%68E4:bpf_attach|, prog_btf_fd=%72f4, func_info_rec_size=%76u4, "
	  "func_info=%80p8, func_info_cnt=%88u4, line_info_rec_size=%92u4, line_info=%96p8, "
	  "line_info_cnt=%104u4|, attach_btf_id=%108u4|, attach_prog_fd=%112f4|, "
	  "fd_array=%120p8" },
	{ BPF_OBJ_PIN, 16, "pathname=%0T8, bpf_fd=%8f4|, file_flags=%12F4:bpf_file" },
	{ BPF_OBJ_GET, 16, "pathname=%0T8, bpf_fd=%8f4|, file_flags=%12F4:bpf_file" },
	{ BPF_PROG_ATTACH, 20,
	  "target_fd=%0f4, attach_bpf_fd=%4f4, attach_type=%8E4:bpf_attach, "
	  "attach_flags=%12F4:bpf_attach_flag|, replace_bpf_fd=%16f4" },
	{ BPF_PROG_DETACH, 12, "target_fd=%0f4, attach_type=%8E4:bpf_attach" },
	{ BPF_PROG_TEST_RUN, 76,
	  "test={prog_fd=%0f4, retval=%4u4, data_size_in=%8u4, data_size_out=%12u4, "
	  "data_in=%16p8, data_out=%24p8, repeat=%32u4, duration=%36u4|, ctx_size_in=%40u4, "
	  "ctx_size_out=%44u4, ctx_in=%48p8, ctx_out=%56p8|, flags=%64F4:bpf_test, "
	  "cpu=%68u4|, batch_size=%72u4|}" },
	{ BPF_PROG_GET_NEXT_ID, 12, MAP_ID("start_id") },
	{ BPF_MAP_GET_NEXT_ID, 12, MAP_ID("start_id") },
	{ BPF_BTF_GET_NEXT_ID, 12, MAP_ID("start_id") },
	{ BPF_LINK_GET_NEXT_ID, 12, MAP_ID("start_id") },
	{ BPF_PROG_GET_FD_BY_ID, 12, MAP_ID("prog_id") },
	{ BPF_MAP_GET_FD_BY_ID, 12, MAP_ID("map_id") },
	{ BPF_OBJ_GET_INFO_BY_FD, 16, "info={bpf_fd=%0f4, info_len=%4L4, info=%8M8}" },
	{ BPF_PROG_QUERY, 28,
	  "query={target_fd=%0f4, attach_type=%4E4:bpf_attach, query_flags=%8F4:bpf_query, "
	  "attach_flags=%12F4:bpf_attach_flag, prog_ids=%16p8, prog_cnt=%24u4}" },
	{ BPF_RAW_TRACEPOINT_OPEN, 12, "raw_tracepoint={name=%0T8, prog_fd=%8f4}" },
	{ BPF_BTF_LOAD, 28,
	  "btf=%0B8, btf_log_buf=%8p8, btf_size=%16u4, btf_log_size=%20u4, btf_log_level=%24u4" },
	{ BPF_BTF_GET_FD_BY_ID, 4, "btf_id=%0u4" },
	{ BPF_TASK_FD_QUERY, 48,
	  "task_fd_query={pid=%0d4, fd=%4f4, flags=%8u4, buf_len=%12u4, buf=%16p8, prog_id=%24u4, "
	  "fd_type=%28E4:bpf_fd_type, probe_offset=%32x8, probe_addr=%40x8}" },
	{ BPF_MAP_LOOKUP_BATCH, 56,
	  "batch={in_batch=%0p8, out_batch=%8p8, keys=%16p8, values=%24p8, count=%32u4, "
	  "map_fd=%36f4, elem_flags=%40F8:bpf_lookup, flags=%48x8}" },
	{ BPF_MAP_LOOKUP_AND_DELETE_BATCH, 56,
	  "batch={in_batch=%0p8, out_batch=%8p8, keys=%16p8, values=%24p8, count=%32u4, "
	  "map_fd=%36f4, elem_flags=%40F8:bpf_lookup, flags=%48x8}" },
	{ BPF_MAP_UPDATE_BATCH, 56,
	  "batch={keys=%16p8, values=%24p8, count=%32u4, map_fd=%36f4, "
	  "elem_flags=%40F8:bpf_lookup, flags=%48x8}" },
	{ BPF_MAP_DELETE_BATCH, 56,
	  "batch={keys=%16p8, count=%32u4, map_fd=%36f4, elem_flags=%40F8:bpf_lookup, "
	  "flags=%48x8}" },
	{ BPF_LINK_CREATE, 16,
	  "link_create={prog_fd=%0f4, target_fd=%4f4, attach_type=%8E4:bpf_attach, flags=%12x4}" },
	{ BPF_LINK_UPDATE, 16,
	  "link_update={link_fd=%0f4, new_prog_fd=%4f4, flags=%8F4:bpf_attach_flag%12R4}" },
	{ BPF_LINK_GET_FD_BY_ID, 4, "link_id=%0u4" },
};

/* The rest of BPF_LINK_CREATE: the attach type at byte 8 decides. */
#define LINK "link_create={prog_fd=%0f4, target_fd=%4f4, attach_type=%8E4:bpf_attach, flags=%12x4"
static const struct attributes links[] = {
	{ BPF_CGROUP_INET_INGRESS, 20, LINK "%16G4}" },
	{ BPF_TRACE_ITER, 28, LINK "|, iter_info=%16p8, iter_info_len=%24u4|}" },
	{ BPF_PERF_EVENT, 24, LINK "|, perf_event={bpf_cookie=%16x8}|}" },
	{ BPF_TRACE_KPROBE_MULTI, 48,
	  LINK "|, kprobe_multi={flags=%16F4:bpf_kprobe, cnt=%20u4, syms=%24p8, addrs=%32p8, "
	       "cookies=%40p8}|}" },
};

/* ---------------------------------------------------------------- fields */

struct attribute_bytes {
	const struct call_memory *m;
	const struct call_moment *x;
	uint8_t bytes[PAGE]; /* all of them; 0 where the caller passed none */
	uint32_t size;	     /* passed */
};

static uint64_t number_at(const struct attribute_bytes *a, unsigned at, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, a->bytes + at, size);
	return v;
}

static void add_behind(struct text *t, const struct attribute_bytes *a, unsigned at, bool is_text)
{
	enum { LOG_AT = 32, LOG_SIZE_AT = 28, NAME = 128 };
	const struct call_memory *b = call_memory_behind(a->m, a->x, at);
	uint64_t most = a->x->string_bytes ? a->x->string_bytes : UINT64_MAX,
		 size = b ? b->size : 0, limit = UINT64_MAX, n;
	uint32_t command = (uint32_t)a->x->args[0];

	if (!number_at(a, at, 8))
		return add(t, "NULL");
	if (command == BPF_PROG_LOAD && at == LOG_AT)
		limit = number_at(a, LOG_SIZE_AT, 4);
	if (command == BPF_RAW_TRACEPOINT_OPEN)
		limit = NAME;
	if (command == BPF_OBJ_PIN || command == BPF_OBJ_GET)
		most = UINT64_MAX;
	if (!is_text) {
		limit = number_at(a, 16, 4);
		if (!b || size < (limit < most ? limit : most))
			return add_address(t, number_at(a, at, 8));
		return call_quoted_part(t, b->bytes, size < limit ? size : limit, limit, a->x);
	}
	size = size < limit ? size : limit;
	n = b ? strnlen((const char *)b->bytes, size) : 0;
	if (!b || (n == size && n < limit && n <= most))
		return add_address(t, number_at(a, at, 8));
	call_quoted(t, (const char *)b->bytes, n < most ? n : most);
	add(t, n == size || n > most ? "..." : "");
}

/* A name; the caller may have passed a part of it. */
static void add_name(struct text *t, const struct attribute_bytes *a, unsigned at, unsigned room)
{
	unsigned passed = a->size - at < room ? a->size - at : room;
	size_t n = strnlen((const char *)a->bytes + at, passed);

	if (n < passed)
		return call_quoted(t, (const char *)a->bytes + at, n);
	call_quoted(t, (const char *)a->bytes + at, n ? n - 1 : 0);
	add(t, "...");
}

static void add_version(struct text *t, uint32_t v)
{
	if (call_style()->constants != CALL_ABBREV)
		text_addf(t, "%#x", v);
	if (call_style()->constants == CALL_RAW)
		return;
	text_addf(t, "%sKERNEL_VERSION(%u, %u, %u)%s",
		  call_style()->constants == CALL_VERBOSE ? " /* " : "", v >> 16, v >> 8 & 255,
		  v & 255, call_style()->constants == CALL_VERBOSE ? " */" : "");
}

static void add_node(struct text *t, const struct attribute_bytes *a, unsigned at)
{
	uint32_t node = (uint32_t)number_at(a, at, 4);

	if (!(number_at(a, 16, 4) & BPF_F_NUMA_NODE))
		return;
	text_addf(t, ", numa_node=%" PRIu32, node);
	if (node == UINT32_MAX && call_style()->constants != CALL_RAW)
		add(t, " /* NUMA_NO_NODE */");
}

/* "152 => 104": the kernel writes the size that it filled. */
static void add_length(struct text *t, const struct attribute_bytes *a, unsigned at)
{
	const struct call_length *passed = call_length_of(a->x, 2);
	uint32_t before = (uint32_t)(passed ? passed->bytes : number_at(a, at, 4));

	text_addf(t, "%" PRIu32, before);
	if (before != number_at(a, at, 4))
		text_addf(t, " => %" PRIu32, (uint32_t)number_at(a, at, 4));
}

static void add_groups(struct text *t, const struct attribute_bytes *a, const char *p);
static void add_extra(struct text *t, const struct attribute_bytes *a, uint32_t known);

/* struct bpf_map_info, if the descriptor is known to be a map. */
static void add_info(struct text *t, const struct attribute_bytes *a, unsigned at)
{
	enum { SIZE = 88 };
	static const char map[] =
		"type=%0E4:bpf_map_type, id=%4u4, key_size=%8u4, value_size=%12u4, "
		"max_entries=%16u4, map_flags=%20F4:bpf_map_flag|, name=%24s16|, ifindex=%40I4, "
		"btf_vmlinux_value_type_id=%44u4, netns_dev=%48v8, netns_ino=%56u8|, "
		"btf_id=%64u4, btf_key_type_id=%68u4, btf_value_type_id=%72u4";
	const struct call_about *about = a->x->about;
	const struct call_memory *info = call_memory_behind(a->m, a->x, at);
	const struct fd_file *f = about && about->fds ? fds_look(about->fds, about->process,
								 (int32_t)number_at(a, 0, 4))
						      : NULL;
	struct attribute_bytes of_map = { .m = a->m, .x = a->x };

	if (!a->x->is_end || !call_style()->is_whole || !f || !f->name ||
	    strcmp(f->name, fds_bpf_kind(BPF_MAP_CREATE)) != 0 || !info ||
	    info->size < number_at(a, 4, 4) || info->size > PAGE)
		return add_address(t, number_at(a, at, 8));
	memcpy(of_map.bytes, info->bytes, info->size);
	of_map.size = info->size;
	add(t, "{");
	add_groups(t, &of_map, map);
	add_extra(t, &of_map, SIZE);
	add(t, "}");
}

/* Adds the field whose mark is @size characters at @mark. */
static void add_field(struct text *t, const struct attribute_bytes *a, const char *mark,
		      size_t size)
{
	char one[64], *end;
	unsigned at = (unsigned)strtoul(mark + 1, &end, 10), width = (unsigned)atoi(end + 1);

	switch (*end) {
	case 'T':
	case 'B':
		return add_behind(t, a, at, *end == 'T');
	case 'N':
		return add_name(t, a, at, width);
	case 'I':
		return call_interface(t, (uint32_t)number_at(a, at, 4));
	case 'K':
		return add_version(t, (uint32_t)number_at(a, at, 4));
	case 'A':
		return add_node(t, a, at);
	case 'R':
		if (number_at(a, 8, 4) & BPF_F_REPLACE)
			call_description_add(t, ", old_prog_fd=%12f4", a->bytes, a->x);
		return;
	case 'G':
		if (number_at(a, at, 4))
			call_description_add(t, ", target_btf_id=%16u4", a->bytes, a->x);
		return;
	case 'M':
		return add_info(t, a, at);
	case 'L':
		return add_length(t, a, at);
	}
	if (size >= sizeof one)
		return;
	memcpy(one, mark, size);
	one[size] = 0;
	call_description_add(t, one, a->bytes, a->x);
}

static size_t mark_size(const char *mark)
{
	size_t n = 1 + strspn(mark + 1, "0123456789");

	n += 1 + strspn(mark + n + 1, "0123456789");
	if (mark[n] == ':')
		n += 1 + strspn(mark + n + 1, "abcdefghijklmnopqrstuvwxyz_0123456789");
	return n;
}

/* Adds a description up to the first group that the caller did not pass. */
static void add_groups(struct text *t, const struct attribute_bytes *a, const char *p)
{
	for (; *p;) {
		size_t n = strcspn(p, "%|");

		text_add(t, p, n);
		p += n;
		if (*p == '|') {
			const char *mark = strchr(++p, '%');

			if (mark && strtoul(mark + 1, NULL, 10) >= a->size) {
				const char *last = strrchr(p, '|');

				p = last && last[1] == '}' ? last + 1 : "";
			}
		} else if (*p) {
			n = mark_size(p);
			add_field(t, a, p, n);
			p += n;
		}
	}
}

static void add_extra(struct text *t, const struct attribute_bytes *a, uint32_t known)
{
	uint32_t i = known;

	while (i < a->size && !a->bytes[i])
		i++;
	if (i >= a->size)
		return;
	if (!call_style()->is_whole)
		return add(t, ", ...");
	add(t, ", extra_data=");
	call_hex_quoted(t, a->bytes + known, a->size - known);
	text_addf(t, " /* bytes %" PRIu32 "..%" PRIu32 " */", known, a->size - 1);
}

bool request_bpf_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint32_t size = (uint32_t)x->args[2];
	struct attribute_bytes a = { .m = m, .x = x, .size = size };
	const struct attributes *c = commands, *end = commands + sizeof commands / sizeof *commands;

	while (c < end && c->command != (uint32_t)x->args[0])
		c++;
	if (c < end && c->command == BPF_LINK_CREATE && size > 16 && m->size >= size)
		for (size_t i = 0; i < sizeof links / sizeof *links; i++)
			if (links[i].command == u32(m, 8))
				c = &links[i];
	if (c == end || !size || size > PAGE)
		return false;
	/* At the exit only the start is recorded, which the call writes. A caller may pass the whole union. */
	if (x->is_end && m->size == m->what->size && size > m->size)
		a.size = size = (uint32_t)m->size;
	if (m->size < size)
		return false;
	memcpy(a.bytes, m->bytes, size);
	add(t, "{");
	add_groups(t, &a, c->text);
	if (!x->is_end)
		add_extra(t, &a, c->size);
	add(t, "}");
	return true;
}
