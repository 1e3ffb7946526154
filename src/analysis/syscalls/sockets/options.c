/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/sockets/options.c - options of sockets that are structures, and filters of sockets: see
 * structs.h.
 *
 * The kernel reads as many bytes as its structure has; of a shorter option the address is shown.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/icmp.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

#include "analysis/syscalls/sockets/internal.h"

enum { RAW = 255, PACKET = 263, IP = 0, IPV6 = 41 };

static void add_mreq(struct text *t, const uint8_t *p)
{
	sockets_internet(t, "{imr_multiaddr=", p);
	sockets_internet(t, ", imr_interface=", p + 4);
	add(t, "}");
}

static void add_mreq6(struct text *t, const uint8_t *p)
{
	char shown[INET6_ADDRSTRLEN];

	text_addf(t, "{inet_pton(AF_INET6, \"%s\", &ipv6mr_multiaddr), ipv6mr_interface=",
		  inet_ntop(AF_INET6, p, shown, sizeof shown));
	call_interface(t, bytes_u32(p + 16));
	add(t, "}");
}

static void add_group(struct text *t, const uint8_t *p)
{
	sa_family_t family;

	memcpy(&family, p + 8, sizeof family);
	add(t, "{gr_interface=");
	call_interface(t, bytes_u32(p));
	add(t, ", gr_group=");
	call_address_add(t, p + 8, family == AF_INET ? 16 : family == AF_INET6 ? 28 : 128, NULL);
	add(t, "}");
}

static void add_packet_mreq(struct text *t, const uint8_t *p)
{
	struct packet_mreq m;
	size_t most = sizeof m.mr_address;

	memcpy(&m, p, sizeof m);
	add(t, "{mr_ifindex=");
	call_interface(t, (uint32_t)m.mr_ifindex);
	add(t, ", mr_type=");
	call_one(t, call_names_packet_mr, m.mr_type, 16);
	text_addf(t, ", mr_alen=%u, mr_address=", m.mr_alen);
	sockets_hardware(t, m.mr_address, m.mr_alen < most ? m.mr_alen : most);
	add(t, "}");
}

static void add_ring(struct text *t, const uint8_t *p)
{
	text_addf(t,
		  "{tp_block_size=%" PRIu32 ", tp_block_nr=%" PRIu32 ", tp_frame_size=%" PRIu32
		  ", tp_frame_nr=%" PRIu32 "}",
		  bytes_u32(p), bytes_u32(p + 4), bytes_u32(p + 8), bytes_u32(p + 12));
}

static void add_icmp(struct text *t, const uint8_t *p)
{
	uint32_t set = bytes_u32(p);
	bool is_not = __builtin_popcount(set) > 32 * 2 / 3;
	const char *before = "";

	set = is_not ? ~set : set;
	add(t, is_not ? "~[" : "[");
	for (uint32_t i = 0; i < 32; i++)
		if (set >> i & 1) {
			const char *name = call_name_of(call_names_icmp_type, i);

			add(t, before);
			if (name)
				add(t, name);
			else
				add_base(t, i, 10, "");
			before = " ";
		}
	add(t, "]");
}

static const struct option {
	int level, name;
	uint16_t size;
	void (*add)(struct text *t, const uint8_t *bytes);
} options[] = {
	{ IP, 35 /* IP_ADD_MEMBERSHIP */, 8, add_mreq },
	{ IP, 36 /* IP_DROP_MEMBERSHIP */, 8, add_mreq },
	{ IP, 42 /* MCAST_JOIN_GROUP */, 136, add_group },
	{ IP, 45 /* MCAST_LEAVE_GROUP */, 136, add_group },
	{ IPV6, 42, 136, add_group },
	{ IPV6, 45, 136, add_group },
	{ IPV6, 20 /* IPV6_ADD_MEMBERSHIP */, 20, add_mreq6 },
	{ IPV6, 21 /* IPV6_DROP_MEMBERSHIP */, 20, add_mreq6 },
	{ IPV6, 27 /* IPV6_JOIN_ANYCAST */, 20, add_mreq6 },
	{ IPV6, 28 /* IPV6_LEAVE_ANYCAST */, 20, add_mreq6 },
	{ PACKET, PACKET_ADD_MEMBERSHIP, 16, add_packet_mreq },
	{ PACKET, PACKET_DROP_MEMBERSHIP, 16, add_packet_mreq },
	{ PACKET, PACKET_RX_RING, 16, add_ring },
	{ PACKET, PACKET_TX_RING, 16, add_ring },
	{ RAW, ICMP_FILTER, 4, add_icmp },
};

enum call_option_shown call_socket_option_add(struct text *t, const struct call_memory *m,
					      const struct call_moment *x)
{
	int32_t length = (int32_t)x->args[4];

	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		const struct option *o = &options[i];

		if (o->level != x->args[1] || o->name != x->args[2] || x->is_end)
			continue;
		if (length < o->size || m->size < o->size)
			return CALL_OPTION_ADDRESS;
		/* These are read whole, whatever their length. */
		if (o->level == PACKET && length > (int32_t)m->size)
			return CALL_OPTION_ADDRESS;
		return o->add(t, m->bytes), CALL_OPTION_SHOWN;
	}
	return CALL_OPTION_OTHER;
}

/* ---------------------------------------------------------------- programs of classic BPF */

/* An instruction is a code of 16 bits, two jumps of 8, and a number of 32. The code is a class, and
 * parts that depend on it (linux/bpf_common.h). */
enum {
	INSTRUCTION = 8,
	FILTER_AT = 8,
	CLASS = 0x07,
	SIZE = 0x18,
	MODE = 0xe0,
	SOURCE = 0x08,
	OPERATION = 0xf0,
	VALUE = 0x18,
	MISC = 0xf8
};

static void add_part(struct text *t, const struct call_name *names, uint16_t code, uint16_t mask)
{
	call_one(t, names, code & mask, 16);
}

static void add_code(struct text *t, uint16_t code)
{
	add_part(t, call_names_bpf_class, code, CLASS);
	add(t, "|");
	switch (code & CLASS) {
	case BPF_LD:
	case BPF_LDX:
		add_part(t, call_names_bpf_size, code, SIZE);
		add(t, "|");
		return add_part(t, call_names_bpf_mode, code, MODE);
	case BPF_ALU:
	case BPF_JMP:
		add_part(t, call_names_bpf_source, code, SOURCE);
		add(t, "|");
		return add_part(
			t, (code & CLASS) == BPF_ALU ? call_names_bpf_alu : call_names_bpf_jump,
			code, OPERATION);
	case BPF_RET:
		return add_part(t, call_names_bpf_value, code, VALUE);
	case BPF_MISC:
		return add_part(t, call_names_bpf_misc, code, MISC);
	}
	add_hex(t, code & ~CLASS);
}

/* The number of a load may be an offset from one of three places. */
static void add_operand(struct text *t, uint16_t code, uint32_t k)
{
	uint32_t base = k >= (uint32_t)SKF_AD_OFF    ? (uint32_t)SKF_AD_OFF
			: k >= (uint32_t)SKF_NET_OFF ? (uint32_t)SKF_NET_OFF
			: k >= (uint32_t)SKF_LL_OFF  ? (uint32_t)SKF_LL_OFF
						     : 0;
	const char *place;

	if ((code & CLASS) != BPF_LD || (code & MODE) != BPF_ABS || !base)
		return add_hex(t, k);
	call_one(t, call_names_skf, base, 32);
	add(t, "+");
	place = base == (uint32_t)SKF_AD_OFF ? call_name_of(call_names_skf_ad, k - base) : NULL;
	if (place)
		call_one(t, call_names_skf_ad, k - base, 32);
	else
		add_base(t, k - base, 10, "");
}

/* The result of a seccomp filter: an action, and a number that some actions use. */
static void add_action(struct text *t, uint32_t k)
{
	call_one(t, call_names_seccomp_ret, k & ~0xffffu, 32);
	if (k & 0xffff)
		text_addf(t, "|%#x", k & 0xffff);
}

static void add_instruction(struct text *t, const uint8_t *bytes, bool is_of_calls)
{
	struct sock_filter f;

	memcpy(&f, bytes, sizeof f);
	add(t, f.jt || f.jf ? "BPF_JUMP(" : "BPF_STMT(");
	add_code(t, f.code);
	add(t, ", ");
	if (is_of_calls && (f.code & CLASS) == BPF_RET)
		add_action(t, f.k);
	else
		add_operand(t, f.code, f.k);
	if (f.jt || f.jf) {
		add(t, ", ");
		add_hex(t, f.jt);
		add(t, ", ");
		add_hex(t, f.jf);
	}
	add(t, ")");
}

/* @count instructions, of which @size bytes were recorded. */
static void add_program(struct text *t, const uint8_t *bytes, uint32_t size, uint64_t count)
{
	uint64_t n = size / INSTRUCTION, i = 0;

	add(t, "[");
	for (; i < n && i < count; i++) {
		add(t, i ? ", " : "");
		add_instruction(t, bytes + i * INSTRUCTION, false);
	}
	add(t, i < count ? ", ...]" : "]");
}

bool call_filter_given(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_memory *program = call_memory_behind(m, x, FILTER_AT);
	uint16_t count;

	if (m->size < 16 || (uint32_t)x->args[4] < 16)
		return false;
	count = u16(m, 0);
	text_addf(t, "{len=%u, filter=", count);
	if (call_style()->is_whole && program && (program->size >= INSTRUCTION || !count))
		add_program(t, program->bytes, program->size, count);
	else
		add_address(t, u64(m, 8));
	add(t, "}");
	return true;
}

bool call_filter_got(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_length *room = call_length_of(x, 5);
	int32_t count = -1;

	for (int i = 0; i < x->n_memory; i++)
		if (x->memory[i].what->kind == ABI_CAPTURE_LENGTH && x->memory[i].size >= 4)
			count = (int32_t)u32(&x->memory[i], 0);
	if (!room || count < 0 || (int32_t)room->bytes < count || x->args[1] != SOL_SOCKET ||
	    !x->args[3] || !count || !call_style()->is_whole)
		return false;
	add_program(t, m->bytes, m->size, (uint64_t)count);
	return true;
}

/* The filter of seccomp(), which cannot be longer than 4096 instructions. */
bool call_filter_of_calls(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_memory *program = call_memory_behind(m, x, FILTER_AT);
	uint64_t from, i = 0, n = program ? program->size / INSTRUCTION : 0;
	uint16_t count;

	if (m->size < 16)
		return false;
	count = u16(m, 0);
	from = u64(m, FILTER_AT);
	text_addf(t, "{len=%u, filter=", count);
	if (!call_style()->is_whole || !from || (!n && count)) {
		add_address(t, from);
		return add(t, "}"), true;
	}
	add(t, "[");
	for (; i < n && i < count; i++) {
		add(t, i ? ", " : "");
		add_instruction(t, program->bytes + i * INSTRUCTION, true);
	}
	if (i < count && program->size < program->what->size) /* the next one could not be read */
		text_addf(t, ", ... /* %#" PRIx64 " */", from + i * INSTRUCTION);
	else if (i < count)
		add(t, ", ...");
	add(t, "]}");
	return true;
}
