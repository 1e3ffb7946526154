/* SPDX-License-Identifier: MIT */
/* ctf/decode/encoding.c - translates UTF-16 and UTF-32 to UTF-8 (Unicode 15, 3.9).  See encoding.h. */
#include "ctf/decode/encoding.h"

enum { REPLACEMENT = 0xFFFD };

static void add_character(struct text *t, uint32_t c)
{
	char bytes[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i; i--, c >>= 6)
		bytes[i] = (char)(0x80 | (c & 0x3f));
	bytes[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xff) | c);
	text_add(t, bytes, n);
}

static uint32_t unit_at(const uint8_t *p, uint8_t encoding)
{
	switch (encoding) {
	case CTF_UTF16_LE:
		return p[0] | (uint32_t)p[1] << 8;
	case CTF_UTF16_BE:
		return p[1] | (uint32_t)p[0] << 8;
	case CTF_UTF32_LE:
		return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	default:
		return p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
	}
}

static bool is_first_half(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_second_half(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

/* Takes one character from the @n bytes at @p, at least one unit.  Returns the bytes used. */
static size_t add_next(struct text *t, const uint8_t *p, size_t n, uint8_t encoding)
{
	size_t unit = encoding_unit(encoding);
	uint32_t c = unit_at(p, encoding), second;

	if (unit == 2 && is_first_half(c) && n >= 4) {
		second = unit_at(p + 2, encoding);
		if (is_second_half(second)) {
			add_character(t, 0x10000 + ((c - 0xd800) << 10) + (second - 0xdc00));
			return 4;
		}
	}
	add_character(t, c > 0x10ffff || is_first_half(c) || is_second_half(c) ? REPLACEMENT : c);
	return unit;
}

const char *encoding_text(const struct ctf_value *v, struct text *buffer, size_t *size)
{
	const uint8_t *p = (const uint8_t *)v->text, *end = p + v->size;
	size_t unit = encoding_unit(v->encoding);

	*size = v->size;
	if (v->encoding == CTF_UTF8)
		return v->text;
	buffer->size = 0;
	while ((size_t)(end - p) >= unit)
		p += add_next(buffer, p, (size_t)(end - p), v->encoding);
	if (p < end)
		add_character(buffer, REPLACEMENT);
	*size = buffer->size;
	return buffer->bytes ? buffer->bytes : "";
}
