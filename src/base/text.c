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
