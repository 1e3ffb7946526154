/* SPDX-License-Identifier: MIT */
/* base/text.c - grow a string by doubling; the first failed allocation marks it. */
#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct text *t, size_t more)
{
	size_t capacity = t->capacity ? t->capacity : 256;
	char *bytes;

	assert(t->size <= t->capacity && (!t->size || t->bytes));
	if (t->failed)
		return false;
	if (more < t->capacity - t->size)
		return true;
	if (t->is_fixed) {
		t->failed = true;
		return false;
	}
	while (capacity - t->size <= more)
		capacity *= 2;
	bytes = realloc(t->bytes, capacity);
	if (!bytes) {
		t->failed = true;
		return false;
	}
	t->bytes = bytes;
	t->capacity = capacity;
	return true;
}

void text_add(struct text *t, const char *bytes, size_t size)
{
	if (!make_room(t, size))
		return;
	memcpy(t->bytes + t->size, bytes, size);
	t->size += size;
	assert(t->size < t->capacity);
	t->bytes[t->size] = 0;
}

void text_addf(struct text *t, const char *format, ...)
{
	size_t room;
	va_list ap;
	int n;

	if (!make_room(t, 0))
		return;
	room = t->capacity - t->size;
	va_start(ap, format);
	n = vsnprintf(t->bytes + t->size, room, format, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n >= room) {
		t->bytes[t->size] = 0; /* if there is no room, what was there stays */
		if (!make_room(t, (size_t)n))
			return;
		va_start(ap, format);
		vsnprintf(t->bytes + t->size, (size_t)n + 1, format, ap);
		va_end(ap);
	}
	if (n < 0)
		return;
	t->size += (size_t)n;
	assert(t->size < t->capacity && !t->bytes[t->size]);
}

void text_fini(struct text *t)
{
	if (!t->is_fixed)
		free(t->bytes);
	*t = (struct text){ 0 };
}

size_t text_utf8_length(const void *text, size_t n)
{
	const unsigned char *s = text;
	unsigned c = s[0], size = c < 0x80   ? 1
				  : c < 0xc2 ? 0
				  : c < 0xe0 ? 2
				  : c < 0xf0 ? 3
				  : c < 0xf5 ? 4
					     : 0;

	if (!size || size > n)
		return 0;
	for (unsigned i = 1; i < size; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) ||
	    (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
		return 0;
	return size;
}

uint32_t text_code_point(const void *text, size_t n)
{
	const unsigned char *s = text;
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = s[0] & masks[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/* Controls, turns, separators and characters without width, in order. */
static bool is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x80, 0x9f },	      { 0xad, 0xad },	    { 0x34f, 0x34f },
		{ 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
		{ 0x180e, 0x180e },   { 0x200b, 0x200f },   { 0x2028, 0x202e },
		{ 0x2060, 0x206f },   { 0x3164, 0x3164 },   { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },   { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof ranges / sizeof *ranges && c >= ranges[i].first; i++)
		if (c <= ranges[i].last)
			return true;
	return false;
}

size_t text_shown_length(const void *text, size_t n)
{
	const unsigned char *s = text;
	size_t length;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	length = text_utf8_length(s, n);
	return length && !is_hidden(text_code_point(s, length)) ? length : 0;
}

static bool is_kept(const unsigned char *s, size_t n, enum text_keep keep)
{
	if (keep == TEXT_KEEP_LINES)
		return s[0] == '\n' || s[0] == '\t';
	return keep == TEXT_KEEP_INDENTED && n > 2 && s[0] == '\n' && s[1] == ' ' && s[2] == ' ';
}

void text_add_shown(struct text *t, const char *bytes, size_t size, enum text_keep keep)
{
	const unsigned char *s = (const unsigned char *)bytes;

	for (size_t i = 0, n; i < size; i += n ? n : 1) {
		n = text_shown_length(s + i, size - i);
		if (!n && is_kept(s + i, size - i, keep))
			n = 1;
		if (n)
			text_add(t, bytes + i, n);
		else
			text_addf(t, "\\x%02x", s[i]);
	}
}

void text_add_printable(struct text *t, const char *bytes, size_t size)
{
	text_add_shown(t, bytes, size, TEXT_KEEP_NONE);
}

const char *text_printable(char *to, size_t size, const char *from)
{
	struct text t = text_fixed(to, size);

	text_add_printable(&t, from, strlen(from));
	return to;
}
