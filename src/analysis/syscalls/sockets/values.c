/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/sockets/values.c - values of options of sockets, most of them numbers: see structs.h.
 *
 * Of an option that is no number, the bytes are shown; but if there are four, as a number.
 */
#include <inttypes.h>
#include <sys/socket.h>

#include "analysis/syscalls/sockets/internal.h"

enum { TXREHASH = 74, INT = 4 };

/* Integers of 4 bytes; the kernel may write a part of them. */
static bool add_fields(struct text *t, const struct call_memory *m, const char *const *names)
{
	uint32_t at = 0;

	add(t, "{");
	for (int i = 0; names[i] && at < m->size; i++, at += INT) {
		uint32_t size = m->size - at < INT ? m->size - at : INT;
		int32_t n = 0;

		memcpy(&n, m->bytes + at, size);
		text_addf(t, "%s%s=", i ? ", " : "", names[i]);
		if (size == INT)
			add_signed(t, n);
		else
			call_hex_quoted(t, m->bytes + at, size);
	}
	add(t, "}");
	return true;
}

static void add_errno(struct text *t, int32_t n)
{
	const char *name = n ? call_errno(n) : NULL;

	if (name && call_style()->constants == CALL_ABBREV)
		text_addf(t, "[%s]", name);
	else if (name && call_style()->constants == CALL_VERBOSE)
		text_addf(t, "[%" PRId32 " /* %s */]", n, name);
	else
		text_addf(t, "[%" PRId32 "]", n);
}

static void add_number(struct text *t, int64_t option, int32_t n)
{
	static const struct call_name rehash[] = { { "SOCK_TXREHASH_DISABLED", 0, NULL },
						   { "SOCK_TXREHASH_ENABLED", 1, NULL },
						   { "SOCK_TXREHASH_DEFAULT", 255, NULL },
						   { NULL, 0, "SOCK_TXREHASH_???" } };

	add(t, "[");
	if (option == TXREHASH)
		call_one_signed(t, rehash, n);
	else
		add_signed(t, n);
	add(t, "]");
}

/* Options of SOL_SOCKET that are not an int: asm-generic/socket.h, some by number because old
 * headers lack them. */
static bool is_other(int64_t option)
{
	static const uint8_t others[] = {
		SO_TYPE,
		SO_RCVTIMEO,
		SO_SNDTIMEO,
		SO_SECURITY_AUTHENTICATION,
		SO_SECURITY_ENCRYPTION_TRANSPORT,
		SO_SECURITY_ENCRYPTION_NETWORK,
		SO_BINDTODEVICE,
		SO_PEERNAME,
		SO_PEERSEC,
		SO_PROTOCOL,
		SO_DOMAIN,
		SO_MAX_PACING_RATE,
		SO_BPF_EXTENSIONS,
		SO_ATTACH_BPF,
		52 /* SO_ATTACH_REUSEPORT_EBPF */,
		55 /* SO_MEMINFO */,
		57 /* SO_COOKIE */,
		59 /* SO_PEERGROUPS */,
		61 /* SO_TXTIME */,
		62 /* SO_BINDTOIFINDEX */,
		66 /* SO_RCVTIMEO_NEW */,
		67 /* SO_SNDTIMEO_NEW */,
		71 /* SO_NETNS_COOKIE */,
		72 /* SO_BUF_LOCK */,
	};
	const int64_t newest = 75; /* SO_RCVMARK; later ones are unknown */

	return option > newest || option < 0 ||
	       memchr(others, (int)option, sizeof others / sizeof *others);
}

/* The length that the call was given, or at the exit returned; negative: unknown. */
static int32_t length_of(const struct call_moment *x)
{
	if (!x->is_end)
		return (int32_t)x->args[4];
	for (int i = 0; i < x->n_memory; i++)
		if (x->memory[i].what->kind == ABI_CAPTURE_LENGTH && x->memory[i].size >= INT)
			return (int32_t)u32(&x->memory[i], 0);
	return -1;
}

static bool add_other(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { TIMEVAL = 16 };
	bool is_time = x->args[2] == SO_RCVTIMEO || x->args[2] == SO_SNDTIMEO;
	int32_t length = length_of(x);

	if (!m->size || length <= 0 || (m->size < (uint32_t)length && m->size < m->what->size))
		return false;
	if (is_time && m->size >= TIMEVAL)
		text_addf(t, "{tv_sec=%" PRId64 ", tv_usec=%" PRIu64 "}", (int64_t)u64(m, 0),
			  u64(m, 8));
	else if (m->size == INT)
		add_number(t, x->args[2], (int32_t)u32(m, 0));
	else
		call_quoted_part(t, m->bytes, m->size, (uint64_t)length, x);
	return true;
}

static bool add_common(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	static const char *const linger[] = { "l_onoff", "l_linger", NULL }, *const owner[] = {
		"pid", "uid", "gid", NULL
	};

	if (x->args[2] == SO_LINGER)
		return (x->is_end || m->size >= 8) && add_fields(t, m, linger);
	if (x->args[2] == SO_PEERCRED && x->is_end)
		return add_fields(t, m, owner);
	if (m->size < INT)
		call_hex_quoted(t, m->bytes, m->size);
	else if (x->args[2] == SO_ERROR)
		add_errno(t, (int32_t)u32(m, 0));
	else if (m->size < 8)
		add_number(t, x->args[2], (int32_t)u32(m, 0));
	else
		call_quoted_part(t, m->bytes, m->size, m->size, x);
	return true;
}

bool call_option_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	bool is_socket = x->args[1] == SOL_SOCKET;

	if (is_socket && x->is_end && x->args[2] == SO_ATTACH_FILTER)
		return false; /* its length is in instructions: see call_filter_got() */
	if (is_socket && !x->is_end &&
	    (x->args[2] == SO_ATTACH_FILTER || x->args[2] == SO_ATTACH_REUSEPORT_CBPF))
		return call_filter_given(t, m, x);
	switch (call_socket_option_add(t, m, x)) {
	case CALL_OPTION_SHOWN:
		return true;
	case CALL_OPTION_ADDRESS:
		return false;
	case CALL_OPTION_OTHER:
		break;
	}
	if (is_socket && is_other(x->args[2]))
		return add_other(t, m, x);
	if (!m->size || (!x->is_end && m->size < INT))
		return false;
	if (is_socket)
		return add_common(t, m, x);
	if (m->size < INT)
		call_hex_quoted(t, m->bytes, m->size);
	else if (m->size == INT)
		text_addf(t, "[%" PRId32 "]", (int32_t)u32(m, 0));
	else
		call_quoted_part(t, m->bytes, m->size, m->size, x);
	return true;
}
