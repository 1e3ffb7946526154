/* SPDX-License-Identifier: MIT */
/* cmd/view_out.c - see view_out.h. */
#include "cmd/view_out.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/io.h"

int out_init(struct out *o, int fd)
{
	*o = (struct out){ .fd = fd, .bytes = malloc(OUT_SIZE) };
	o->at = o->bytes;
	return o->bytes ? 0 : -ENOMEM;
}

void out_flush(struct out *o)
{
	size_t n = (size_t)(o->at - o->bytes);
	int err = o->is_over || !n ? 0 : io_write(o->fd, o->bytes, n);

	o->at = o->bytes;
	if (!err)
		return;
	o->is_over = true;
	if (err != -EPIPE)
		o->err = err;
}

void out_fini(struct out *o)
{
	if (o->bytes)
		out_flush(o);
	free(o->bytes);
	o->bytes = o->at = NULL;
}

static const char two_digits[201] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

void out_u64(struct out *o, uint64_t v)
{
	char digits[20], *p = digits + sizeof digits;

	for (; v >= 100; v /= 100) {
		p -= 2;
		memcpy(p, two_digits + v % 100 * 2, 2);
	}
	if (v >= 10) {
		p -= 2;
		memcpy(p, two_digits + v * 2, 2);
	} else {
		*--p = (char)('0' + v);
	}
	out_bytes(o, p, (size_t)(digits + sizeof digits - p));
}

void out_i64(struct out *o, int64_t v)
{
	if (v < 0)
		out_byte(o, '-');
	out_u64(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void out_base(struct out *o, uint64_t v, unsigned base)
{
	unsigned shift = base == 16 ? 4 : base == 8 ? 3 : 1;
	char digits[64], *p = digits + sizeof digits;

	do {
		*--p = "0123456789abcdef"[v & (base - 1)];
		v >>= shift;
	} while (v);
	out_byte(o, '0');
	if (base != 8)
		out_byte(o, base == 16 ? 'x' : 'b');
	out_bytes(o, p, (size_t)(digits + sizeof digits - p));
}

void out_digits9(struct out *o, uint32_t v)
{
	char *p = o->at + 9;

	for (int i = 0; i < 4; i++, v /= 100) {
		p -= 2;
		memcpy(p, two_digits + v % 100 * 2, 2);
	}
	*--p = (char)('0' + v);
	o->at += 9;
}

void out_real(struct out *o, double v, bool is_single)
{
	int digits = is_single ? 6 : 15, most = is_single ? 9 : 17;
	char text[40];

	if (fabs(v) < 1e15 && v == (double)(int64_t)v) {
		if (signbit(v))
			out_byte(o, '-');
		out_u64(o, (uint64_t)fabs(v));
		out_literal(o, ".0");
		return;
	}
	for (; digits <= most; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (is_single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	out_bytes(o, text, strlen(text));
	if (!strpbrk(text, ".e"))
		out_literal(o, ".0");
}

void out_text(struct out *o, const char *s, size_t n)
{
	while (n) {
		size_t part = n < OUT_SLACK / 2 ? n : OUT_SLACK / 2;

		out_room(o);
		out_bytes(o, s, part);
		s += part;
		n -= part;
	}
	out_room(o);
}

/* Bytes of the UTF-8 character at @s, 0 if there is none (RFC 3629: no surrogates, no overlong). */
static size_t utf8_length(const unsigned char *s, size_t n)
{
	unsigned c = s[0], size = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (!size || size > n)
		return 0;
	for (unsigned i = 1; i < size; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) || (c == 0xf0 && s[1] < 0x90) ||
	    (c == 0xf4 && s[1] > 0x8f))
		return 0;
	return size;
}

static void escape(struct out *o, unsigned char c, const char *hex)
{
	static const char from[] = "\"\\\n\t\r\b\f", to[] = "\"\\ntrbf";
	const char *f = c ? strchr(from, c) : NULL;

	if (f) {
		out_byte(o, '\\');
		out_byte(o, to[f - from]);
		return;
	}
	out_bytes(o, hex, strlen(hex));
	out_byte(o, "0123456789abcdef"[c >> 4]);
	out_byte(o, "0123456789abcdef"[c & 15]);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Control characters must not reach a terminal, those of U+0080 to U+009F neither. */
static bool is_control(const unsigned char *s, size_t size)
{
	return (size == 1 && (s[0] < 0x20 || s[0] == 0x7f)) || (size == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

static void quote(struct out *o, const char *text, size_t n, const char *hex, const char *invalid)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;

	out_byte(o, '"');
	while (s < end) {
		size_t size;

		if (is_plain(*s)) {
			out_byte(o, (char)*s++);
			out_room(o);
			continue;
		}
		out_room(o);
		size = utf8_length(s, (size_t)(end - s));
		if (!size && invalid)
			out_bytes(o, invalid, strlen(invalid));
		else if (!size || *s == '"' || *s == '\\' || (is_control(s, size) && size == 1))
			escape(o, *s, hex);
		else if (is_control(s, size))
			escape(o, s[1], hex);
		else
			out_bytes(o, (const char *)s, size);
		s += size ? size : 1;
	}
	out_byte(o, '"');
	out_room(o);
}

void out_quoted(struct out *o, const char *s, size_t n)
{
	quote(o, s, n, "\\x", NULL);
}

void out_json(struct out *o, const char *s, size_t n)
{
	quote(o, s, n, "\\u00", "\xef\xbf\xbd");
}
