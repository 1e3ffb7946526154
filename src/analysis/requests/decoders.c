/* SPDX-License-Identifier: MIT */
/* analysis/requests/decoders.c - types of memory that no description fits: the table, and the small
 * ones. */
#include "analysis/requests/decoders.h"

#include <errno.h>
#include <linux/mount.h>
#include <linux/reboot.h>
#include <limits.h>
#include <string.h>

#include "analysis/syscalls/words.h"

/* A text. The call reads at most @limit bytes, and at most @most are shown. It is shown as text only if
 * it ends, or if more bytes are recorded than shown. */
static bool add_limited(struct text *t, const struct call_memory *m, size_t limit, size_t most)
{
	size_t n = strnlen((const char *)m->bytes, m->size);
	bool has_end = n < m->size && n < limit;

	if (!m->size || (!has_end && n < limit && n <= most && m->size < ABI_CAPTURE_BUFFER_MAX))
		return false;
	most = most < limit ? most : limit;
	call_quoted(t, (const char *)m->bytes, n < most ? n : most);
	add(t, has_end && n <= most ? "" : "...");
	return true;
}

static bool add_text_type(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum {
		KEY = 256,
		RESTART = 255,
		PROPAGATES = MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE
	};
	size_t limit = SIZE_MAX;

	uint64_t flags = (uint64_t)x->args[3];

	if ((flags & MS_MGC_MSK) == MS_MGC_VAL)
		flags &= ~(uint64_t)MS_MGC_MSK;
	if (!strcmp(m->what->call, "mount") && !(flags & MS_REMOUNT) && flags & PROPAGATES)
		return false; /* ignored */
	if (!strcmp(m->what->call, "fsconfig"))
		limit = KEY;
	else if (!strcmp(m->what->call, "reboot"))
		limit = RESTART;
	return add_limited(t, m, limit, x->string_bytes ? x->string_bytes : SIZE_MAX);
}

static bool add_path_type(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	(void)x;
	return add_limited(t, m, PATH_MAX, PATH_MAX - 1);
}

/* Data whose size is an argument. */
static bool add_hex_data(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { MOST = 1 << 20 };
	int32_t all = (int32_t)x->args[m->what->size_argument - 1];
	uint64_t most = x->string_bytes ? x->string_bytes : UINT64_MAX,
		 n = m->size < most ? m->size : most;

	if (all < 0 || all > MOST || (m->size < (uint32_t)all && m->size <= most))
		return false;
	call_hex_quoted(t, m->bytes, n);
	add(t, n < (uint64_t)all ? "..." : "");
	return true;
}

/* A segment of modify_ldt(), whose flags are bits of one number. */
static bool add_user_desc(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SIZE = 16 };
	uint32_t bits;

	if (m->size < SIZE || x->args[2] != SIZE)
		return false;
	bits = u32(m, 12);
	call_description_add(t, "{entry_number=%0i4, base_addr=", m->bytes, x);
	text_addf(t, "%#08x, limit=%#08x", u32(m, 4), u32(m, 8));
	text_addf(t, ", seg_32bit=%u, contents=%u, read_exec_only=%u, limit_in_pages=%u", bits & 1,
		  bits >> 1 & 3, bits >> 3 & 1, bits >> 4 & 1);
	text_addf(t, ", seg_not_present=%u, useable=%u, lm=%u}", bits >> 5 & 1, bits >> 6 & 1,
		  bits >> 7 & 1);
	return true;
}

static bool add_mount_attr(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SIZE = 32, BY_IDS = 0x100000, PAGE = 4096 };
	uint64_t size = (uint64_t)x->args[4];

	if (m->size < SIZE || size < SIZE)
		return false;
	call_description_add(t,
			     "{attr_set=%0F8:mount_attr, attr_clr=%8F8:mount_attr, "
			     "propagation=%16E8:propagation, userns_fd=",
			     m->bytes, x);
	call_description_add(
		t, u64(m, 24) <= INT_MAX && (u64(m, 0) | u64(m, 8)) & BY_IDS ? "%24f8" : "%24u8",
		m->bytes, x);
	call_rest_add(t, m, SIZE, size < PAGE ? size : PAGE);
	add(t, "}");
	return true;
}

/* A thread's scheduling. The kernel writes its own size if it refuses that of the caller. */
static bool add_sched_attr(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { FIRST = 48, SECOND = 56, KEEP_POLICY = 8, KEEP_PARAMS = 16 };
	bool is_set = !strcmp(m->what->call, "sched_setattr");
	uint32_t passed = m->size >= 4 ? u32(m, 0) : 0, size;
	uint64_t flags;

	if (m->size < 4 || (is_set && x->is_end))
		return m->size >= 4 && x->result == -E2BIG &&
		       (call_description_add(t, "{size=%0u4}", m->bytes, x), true);
	size = !is_set || passed ? passed : FIRST;
	passed = size;
	size = size < SECOND ? size : SECOND;
	if (m->size < (size < FIRST ? 4 : size))
		return false;
	call_description_add(t, "{size=%0u4", m->bytes, x);
	if (size >= FIRST) {
		flags = u64(m, 8);
		if (!is_set || (int32_t)u32(m, 4) < 0 || !(flags & (KEEP_POLICY | KEEP_PARAMS)))
			call_description_add(t, ", sched_policy=%4E4:sched", m->bytes, x);
		call_description_add(t, ", sched_flags=%8F8:sched_flag", m->bytes, x);
		if (!is_set || !(flags & KEEP_PARAMS))
			call_description_add(t,
					     ", sched_nice=%16d4, sched_priority=%20u4, "
					     "sched_runtime=%24u8, sched_deadline=%32u8, "
					     "sched_period=%40u8",
					     m->bytes, x);
	}
	if (size >= SECOND)
		call_description_add(t, ", sched_util_min=%48u4, sched_util_max=%52u4", m->bytes,
				     x);
	add(t, passed > size ? ", ...}" : "}");
	return true;
}

/* The attributes of a Landlock ruleset; later kernels have more. */
static bool add_ruleset(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SIZE = 8 };

	if (m->size < SIZE)
		return false;
	call_description_add(t, "{handled_access_fs=%0F8:landlock_fs", m->bytes, x);
	add(t, (uint64_t)x->args[1] > SIZE ? ", ...}" : "}");
	return true;
}

/* struct io_uring_params: the caller's part, then the kernel's. */
static bool add_rings(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SIZE = 120, CQSIZE = 8, ATTACH = 32 };
	uint32_t flags, reserved;

	if (m->size < SIZE)
		return false;
	flags = u32(m, 8);
	reserved = u32(m, 28) | u32(m, 32) | u32(m, 36);
	add(t, "{");
	if (flags & CQSIZE && !x->is_end)
		call_description_add(t, "cq_entries=%4u4, ", m->bytes, x);
	call_description_add(t,
			     "flags=%8F4:io_uring_setup, sq_thread_cpu=%12x4, sq_thread_idle=%16u4",
			     m->bytes, x);
	if (flags & ATTACH)
		call_description_add(t, ", wq_fd=%24f4", m->bytes, x);
	if (reserved)
		call_description_add(t, ", resv=[%28x4, %32x4, %36x4]", m->bytes, x);
	if (x->is_end)
		call_description_add(
			t,
			", sq_entries=%0u4, cq_entries=%4u4, features=%20F4:io_uring_feat, "
			"sq_off={head=%40u4, tail=%44u4, ring_mask=%48u4, ring_entries=%52u4, "
			"flags=%56u4, dropped=%60u4, array=%64u4}, cq_off={head=%80u4, tail=%84u4, "
			"ring_mask=%88u4, ring_entries=%92u4, overflow=%96u4, cqes=%100u4, "
			"flags=%104u4}",
			m->bytes, x);
	add(t, "}");
	return true;
}

const struct call_decoder call_decoders[] = {
	{ "sched_attr", add_sched_attr },  { "key_argument", request_key_add },
	{ "ruleset", add_ruleset },	   { "rings", add_rings },
	{ "perf_attr", request_perf_add }, { "text", add_text_type },
	{ "path", add_path_type },	   { "hex_data", add_hex_data },
	{ "user_desc", add_user_desc },	   { "mount_attr", add_mount_attr },
	{ "bpf_attr", request_bpf_add },   { "ptrace_data", request_ptrace_add },
	{ "bpf_after", request_bpf_add },  { NULL, NULL },
};
