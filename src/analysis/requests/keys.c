/* SPDX-License-Identifier: MIT */
/*
 * analysis/requests/keys.c - the memory of keyctl(): names, data and structures by operation.
 *
 * Each of the four arguments may point to something.
 */
#include "analysis/requests/decoders.h"

#include <inttypes.h>
#include <linux/keyctl.h>
#include <string.h>

#include "analysis/syscalls/words.h"

/* Kernel headers of 2022 have these, but older ones do not. */
enum { PKEY_QUERY = 24, PKEY_ENCRYPT = 25, PKEY_VERIFY = 28, RESTRICT = 29, CAPABILITIES = 31 };

/* The size of an INPUT stands in the parameters. */
enum what { NOTHING, TEXT, DATA, INPUT, WRITTEN, WRITTEN_TEXT, PARAMETERS, DH, KDF, QUERY, CAPS };

static const struct {
	uint8_t operation;
	uint8_t arguments[4]; /* 2 to 5 */
	uint8_t size;	      /* of DATA, WRITTEN: the argument with it */
} operations[] = {
	{ KEYCTL_JOIN_SESSION_KEYRING, { TEXT }, 0 },
	{ KEYCTL_UPDATE, { NOTHING, DATA }, 4 },
	{ KEYCTL_DESCRIBE, { NOTHING, WRITTEN_TEXT }, 4 },
	{ KEYCTL_SEARCH, { NOTHING, TEXT, TEXT }, 0 },
	{ KEYCTL_READ, { NOTHING, WRITTEN }, 4 },
	{ KEYCTL_INSTANTIATE, { NOTHING, DATA }, 4 },
	{ KEYCTL_GET_SECURITY, { NOTHING, WRITTEN_TEXT }, 4 },
	{ KEYCTL_DH_COMPUTE, { DH, WRITTEN, NOTHING, KDF }, 4 },
	{ PKEY_QUERY, { NOTHING, NOTHING, TEXT, QUERY }, 0 },
	{ PKEY_ENCRYPT, { PARAMETERS, TEXT, INPUT }, 0 },
	{ PKEY_ENCRYPT + 1, { PARAMETERS, TEXT, INPUT }, 0 },
	{ PKEY_ENCRYPT + 2, { PARAMETERS, TEXT, INPUT }, 0 },
	{ PKEY_VERIFY, { PARAMETERS, TEXT, INPUT, INPUT }, 0 },
	{ RESTRICT, { NOTHING, TEXT, TEXT }, 0 },
	{ CAPABILITIES, { CAPS }, 3 },
};

static uint64_t most_of(const struct call_moment *x)
{
	return x->string_bytes ? x->string_bytes : UINT64_MAX;
}

/* Numbers that must be 0 today, if one is not. */
static void add_spare(struct text *t, const struct call_memory *m, size_t at, size_t n)
{
	size_t i = 0;

	while (i < n && !u32(m, at + 4 * i))
		i++;
	if (i == n)
		return;
	for (i = 0; i < n; i++) {
		add(t, i ? ", " : ", __spare=[");
		add_hex(t, u32(m, at + 4 * i));
	}
	add(t, "]");
}

static void add_key(struct text *t, const char *before, const struct call_memory *m, size_t at)
{
	add(t, before);
	call_one_signed(t, call_names_key_serial, (int32_t)u32(m, at));
}

/* A text or data behind a pointer of a structure, with @all bytes if it is data. */
static void add_behind(struct text *t, const struct call_memory *m, const struct call_moment *x,
		       unsigned at, uint64_t all, bool is_text)
{
	const struct call_memory *b = call_memory_behind(m, x, at);
	uint64_t most = most_of(x), n = b ? b->size : 0;

	if (b && is_text) {
		n = strnlen((const char *)b->bytes, b->size);
		if (n < b->size || n > most) {
			call_quoted(t, (const char *)b->bytes, n < most ? n : most);
			return add(t, n > most ? "..." : "");
		}
	} else if (b && all && n >= (all < most ? all : most)) {
		return call_quoted_part(t, b->bytes, n < all ? n : all, all, x);
	}
	add_address(t, u64(m, at));
}

static bool add_kdf(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SIZE = 56, OTHER = 8, LENGTH = 16 };

	if (m->size < SIZE)
		return false;
	add(t, "{hashname=");
	add_behind(t, m, x, 0, 0, true);
	add(t, ", otherinfo=");
	add_behind(t, m, x, OTHER, u32(m, LENGTH), false);
	text_addf(t, ", otherinfolen=%" PRIu32, u32(m, LENGTH));
	add_spare(t, m, 20, 8);
	add(t, "}");
	return true;
}

static bool add_dh(struct text *t, const struct call_memory *m)
{
	if (m->size < 12)
		return false;
	add_key(t, "{private=", m, 0);
	add_key(t, ", prime=", m, 4);
	add_key(t, ", base=", m, 8);
	add(t, "}");
	return true;
}

static bool add_parameters(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	if (m->size < 40)
		return false;
	add_key(t, "{key_id=", m, 0);
	text_addf(t, ", in_len=%" PRIu32 ", %s=%" PRIu32, u32(m, 4),
		  x->args[0] == PKEY_VERIFY ? "in2_len" : "out_len", u32(m, 8));
	add_spare(t, m, 12, 7);
	add(t, "}");
	return true;
}

static bool add_query(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	if (m->size < 56)
		return false;
	call_description_add(t,
			     "{supported_ops=%0F4:key_operation, key_size=%4u4, "
			     "max_data_size=%8u2, max_sig_size=%10u2, max_enc_size=%12u2, "
			     "max_dec_size=%14u2",
			     m->bytes, x);
	add_spare(t, m, 16, 10);
	add(t, "}");
	return true;
}

static bool add_capabilities(struct text *t, const struct call_memory *m, uint64_t n)
{
	static const struct call_name *const names[] = { call_names_key_caps0,
							 call_names_key_caps1 };

	if (m->size < n)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		add(t, i ? ", " : "[");
		if (i < sizeof names / sizeof *names)
			call_flags(t, names[i], m->bytes[i]);
		else
			add_hex(t, m->bytes[i]);
	}
	add(t, n ? "]" : "[]");
	return true;
}

static bool add_text_of(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t most = most_of(x), n = strnlen((const char *)m->bytes, m->size);

	if (n == m->size && n <= most && (!m->what->size || n < m->what->size))
		return false; /* it goes on, but no more could be read */
	call_quoted(t, (const char *)m->bytes, n < most ? n : most);
	add(t, n == m->size || n > most ? "..." : "");
	return true;
}

static bool add_data(struct text *t, const struct call_memory *m, const struct call_moment *x,
		     uint64_t all)
{
	uint64_t most = most_of(x);

	if (all && m->size < (all <= most ? all : most + (x->is_end ? 0 : 1)))
		return false;
	call_quoted_part(t, m->bytes, m->size < all ? m->size : all, all, x);
	return true;
}

static bool add_input(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_memory *p = x->memory;

	for (int i = 0; i < x->n_memory; i++, p++)
		if (p->what->argument == 2 && p->size >= 40)
			return add_data(t, m, x, u32(p, m->what->argument == 4 ? 4 : 8));
	return false;
}

bool request_key_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	size_t i = 0;
	uint64_t all;
	enum what what;

	while (i < sizeof operations / sizeof *operations &&
	       operations[i].operation != (uint32_t)x->args[0])
		i++;
	if (i == sizeof operations / sizeof *operations || m->what->argument < 2)
		return false;
	what = operations[i].arguments[m->what->argument - 2];
	all = operations[i].size ? (uint64_t)x->args[operations[i].size - 1] : 0;
	if (x->is_end != (what == WRITTEN || what == WRITTEN_TEXT || what == QUERY || what == CAPS))
		return false;
	if (x->is_end && (uint64_t)x->result < all)
		all = (uint64_t)x->result;
	switch (what) {
	case TEXT:
		return add_text_of(t, m, x);
	case WRITTEN_TEXT:
		all -= all && all <= m->size && !m->bytes[all - 1];
		return add_data(t, m, x, all);
	case DATA:
	case WRITTEN:
		return add_data(t, m, x, all);
	case INPUT:
		return add_input(t, m, x);
	case PARAMETERS:
		return add_parameters(t, m, x);
	case DH:
		return add_dh(t, m);
	case KDF:
		return add_kdf(t, m, x);
	case QUERY:
		return add_query(t, m, x);
	case CAPS:
		return add_capabilities(t, m, all);
	case NOTHING:
		break;
	}
	return false;
}
