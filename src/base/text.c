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
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0 || !make_room(t, (size_t)n))
		return;
	va_start(ap, format);
	vsnprintf(t->bytes + t->size, (size_t)n + 1, format, ap);
	va_end(ap);
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

/* U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069 and U+061C turn the direction of what follows. */
static bool is_turning(const unsigned char *s, size_t n)
{
	if (n == 2)
		return s[0] == 0xd8 && s[1] == 0x9c;
	if (n != 3 || s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae))) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

/* The bytes of the character at @s if a terminal may show it; 0 if not. */
static size_t shown_length(const unsigned char *s, size_t n)
{
	size_t length = text_utf8_length(s, n);

	if (s[0] < 0x20 || s[0] == 0x7f || (length == 2 && s[0] == 0xc2 && s[1] < 0xa0) ||
	    is_turning(s, length))
		return 0;
	return length;
}

void text_add_printable(struct text *t, const char *bytes, size_t size)
{
	const unsigned char *s = (const unsigned char *)bytes;

	for (size_t i = 0, n; i < size; i += n ? n : 1) {
		n = shown_length(s + i, size - i);
		if (n)
			text_add(t, bytes + i, n);
		else
			text_addf(t, "\\x%02x", s[i]);
	}
}

const char *text_printable(char *to, size_t size, const char *from)
{
	struct text t = text_fixed(to, size);

	text_add_printable(&t, from, strlen(from));
	return to;
}
