/* SPDX-License-Identifier: MIT */
/*
 * trace/text/output.c - formats numbers and texts into the buffer, and writes it.
 *
 * Numbers are formatted eight digits at a time: with printf(), printing took most of the time of
 * `duet view`.
 */
#include "trace/text/output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/text.h"

int out_init(struct out *o, int fd)
{
	*o = (struct out){ .fd = fd, .bytes = malloc(OUT_SIZE) };
	o->at = o->bytes;
	return o->bytes ? 0 : -ENOMEM;
}

static int write_shown(const struct out *o, size_t n)
{
	struct text t = { 0 };
	int err;

	text_add_shown(&t, o->bytes, n, TEXT_KEEP_LINES);
	err = t.failed ? -ENOMEM : io_write(o->fd, t.bytes, t.size);
	text_fini(&t);
	return err;
}

void out_flush(struct out *o)
{
	size_t n = (size_t)(o->at - o->bytes);
	int err = 0;

	assert(o->at >= o->bytes && n <= OUT_SIZE);
	if (o->text)
		text_add(o->text, o->bytes, n);
	else if (!o->is_over && n)
		err = o->is_shown ? write_shown(o, n) : io_write(o->fd, o->bytes, n);
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

void out_u64(struct out *o, uint64_t v)
{
	o->at = out_put_u64(o->at, v);
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
	assert(v < 1000000000);
	*o->at = (char)('0' + v / 100000000);
	out_put_word(o->at + 1, out_eight_digits(v % 100000000) + OUT_EIGHT_ZEROS);
	o->at += 9;
}

void out_data(struct out *o, const char *s, size_t n)
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

static void add_byte(struct out *o, const char *hex, unsigned char c)
{
	out_bytes(o, hex, strlen(hex));
	out_byte(o, "0123456789abcdef"[c >> 4]);
	out_byte(o, "0123456789abcdef"[c & 15]);
}

/* The short form of @c in C and in JSON; 0: none. */
static char short_form(unsigned char c)
{
	static const char from[] = "\"\\\n\t\r\b\f", to[] = "\"\\ntrbf";
	const char *f = c ? strchr(from, c) : NULL;

	return f ? to[f - from] : 0;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Whether all eight bytes are plain.  Not plain are high bits, values below 0x20, '"', '\\' and
 * 0x7f.  Finds a zero byte in each difference (Mycroft 1987); a false alarm needs an earlier byte
 * that is not plain. */
static inline bool are_plain(uint64_t v)
{
	const uint64_t ones = 0x0101010101010101, high = ones << 7;
	uint64_t quote = v ^ ones * '"', slash = v ^ ones * '\\', del = v ^ ones * 0x7f;

	return !((v | ((v - ones * 0x20) & ~v) | ((quote - ones) & ~quote) |
		  ((slash - ones) & ~slash) | ((del - ones) & ~del)) &
		 high);
}

/* Copies plain bytes; returns the first that is not plain, or @end. */
static inline const unsigned char *copy_plain(struct out *o, const unsigned char *s,
					      const unsigned char *end)
{
	uint64_t v;

	for (; end - s >= 8; s += 8) {
		out_room(o);
		memcpy(&v, s, sizeof v);
		if (!are_plain(v))
			break;
		memcpy(o->at, &v, sizeof v);
		o->at += 8;
	}
	out_room(o);
	for (int i = 0; i < 16 && s < end && is_plain(*s); i++)
		*o->at++ = (char)*s++;
	return s;
}

/* A character of @size bytes that is not plain; 0: a byte that is no UTF-8.  As in C. */
static size_t add_for_people(struct out *o, const unsigned char *s, size_t size)
{
	char form = short_form(*s);

	if (form) {
		out_byte(o, '\\');
		out_byte(o, form);
	} else if (size && text_shown_length(s, size)) {
		out_bytes(o, (const char *)s, size);
		return size;
	} else {
		add_byte(o, "\\x", *s); /* the bytes behind it are no UTF-8 alone */
	}
	return 1;
}

static void add_unit(struct out *o, uint32_t v)
{
	add_byte(o, "\\u", (unsigned char)(v >> 8));
	add_byte(o, "", (unsigned char)v);
}

static size_t add_for_json(struct out *o, const unsigned char *s, size_t size)
{
	char form = short_form(*s);
	uint32_t v;

	if (form) {
		out_byte(o, '\\');
		out_byte(o, form);
	} else if (!size) {
		out_literal(o, "\xef\xbf\xbd");
	} else if (text_shown_length(s, size)) {
		out_bytes(o, (const char *)s, size);
	} else {
		v = text_code_point(s, size);
		if (v >= 0x10000)
			add_unit(o, 0xd800 + ((v - 0x10000) >> 10));
		add_unit(o, v >= 0x10000 ? 0xdc00 | (v & 0x3ff) : v);
	}
	return size ? size : 1;
}

static inline void quote(struct out *o, const char *text, size_t n,
			 size_t (*add)(struct out *o, const unsigned char *s, size_t size))
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;

	out_byte(o, '"');
	while ((s = copy_plain(o, s, end)) < end) {
		if (is_plain(*s))
			continue;
		out_room(o);
		s += add(o, s, text_utf8_length(s, (size_t)(end - s)));
	}
	out_byte(o, '"');
	out_room(o);
}

void out_quoted(struct out *o, const char *s, size_t n)
{
	quote(o, s, n, add_for_people);
}

void out_json(struct out *o, const char *s, size_t n)
{
	quote(o, s, n, add_for_json);
}

void out_text(struct out *o, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;

	while ((s = copy_plain(o, s, end)) < end) {
		size_t size = text_shown_length(s, (size_t)(end - s));

		out_room(o);
		if (size)
			out_bytes(o, (const char *)s, size);
		else
			add_byte(o, "\\x", *s);
		s += size ? size : 1;
	}
	out_room(o);
}
