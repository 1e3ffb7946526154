/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/sockets/ax25.c - addresses of amateur radio (linux/ax25.h) as text: see internal.h.
 *
 * A call sign has six characters, each shifted by one bit, and a byte with a number from 0 to 15.
 */
#include "analysis/syscalls/sockets/internal.h"

enum { CALL = 7, CALL_AT = 2, COUNT_AT = 12, HEAD = 16, DIGIS = 8, NAME = CALL - 1 };

/* The characters without spaces behind them; returns their number. */
static size_t read_name(const uint8_t *p, char name[NAME])
{
	size_t n = NAME;

	for (size_t i = 0; i < NAME; i++)
		name[i] = (char)(p[i] >> 1);
	while (n && name[n - 1] == ' ')
		n--;
	return n;
}

/* Whether it is a call sign as the rules demand: letters, digits, a number. */
static bool is_valid(const uint8_t *p, const char *name, size_t n)
{
	for (size_t i = 0; i < NAME; i++)
		if (p[i] & 1)
			return false;
	for (size_t i = 0; i < n; i++)
		if (!((name[i] >= 'A' && name[i] <= 'Z') || (name[i] >= '0' && name[i] <= '9')))
			return false;
	return n && !(p[NAME] & ~0x1e);
}

/* Whether the characters may stand in a comment. */
static bool is_readable(const char *name, size_t n)
{
	for (size_t i = 0; i < NAME; i++)
		if (name[i] < ' ' || name[i] > '~')
			return false;
	return !memmem(name, n, "*/", 2);
}

static void add_call(struct text *t, const uint8_t *p)
{
	static const uint8_t none[CALL] = { 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0 };
	char name[NAME];
	size_t n = read_name(p, name);
	unsigned number = p[NAME] >> 1 & 15;
	int style = call_style()->constants;

	if (!memcmp(p, none, CALL))
		return add(t, "*");
	if (is_valid(p, name, n) && style == CALL_ABBREV)
		return text_addf(t, "%.*s-%u", (int)n, name, number);
	add(t, "{ax25_call=");
	call_hex_quoted(t, p, CALL);
	add(t, "}");
	if (style != CALL_RAW && is_readable(name, n))
		text_addf(t, " /* %.*s-%u */", (int)n, name, number);
}

static void add_digis(struct text *t, const uint8_t *p, size_t size, uint32_t wanted)
{
	size_t n = size / CALL < DIGIS ? size / CALL : DIGIS, i = 0;

	add(t, ", fsa_digipeater=[");
	for (; i < n && i < wanted; i++) {
		add(t, i ? ", " : "");
		add_call(t, p + i * CALL);
	}
	if (i < wanted && i < DIGIS)
		add(t, i ? ", ..." : "...");
	add(t, "]");
	if (size > n * CALL)
		add(t, ", ...");
}

void sockets_ax25(struct text *t, const uint8_t *bytes, size_t size)
{
	uint32_t n = bytes_u32(bytes + COUNT_AT);
	bool is_full = n || size > HEAD;

	add(t, is_full ? ", fsa_ax25={sax25_call=" : ", sax25_call=");
	add_call(t, bytes + CALL_AT);
	add(t, ", sax25_ndigis=");
	add_signed(t, (int32_t)n);
	if (!is_full)
		return;
	add(t, "}");
	add_digis(t, bytes + HEAD, size - HEAD, n);
}
