/* SPDX-License-Identifier: MIT */
/* script/replay/fill_string.c - the strings of a frame: cut from blocks, all forgotten at once. */
#include <stdlib.h>
#include <string.h>

#include "script/replay/bind.h"

struct fill_block {
	struct fill_block *next;
	size_t size, used;
	char bytes[] __attribute__((aligned(8)));
};

enum { BLOCK_BYTES = 32 << 10 };

static const struct {
	uint32_t size;
	char bytes[4];
} nothing;

static struct fill_block *block_for(struct fill *f, size_t bytes)
{
	struct fill_block *b = f->strings;
	size_t size = bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes;

	if (b && b->size - b->used >= bytes)
		return b;
	b = malloc(sizeof *b + size);
	if (!b)
		return NULL;
	*b = (struct fill_block){ .next = f->strings, .size = size };
	f->strings = b;
	return b;
}

const struct script_string *fill_string(struct fill *f, const char *bytes, size_t size)
{
	struct script_string *s;
	struct fill_block *b;
	size_t room;

	if (size >= f->string_bytes)
		size = f->string_bytes - 1;
	room = (sizeof *s + size + 1 + 7) & ~(size_t)7;
	b = size ? block_for(f, room) : NULL;
	if (!b)
		return (const struct script_string *)&nothing;
	s = (struct script_string *)(b->bytes + b->used);
	b->used += room;
	s->size = (uint32_t)size;
	memcpy(s->bytes, bytes, size);
	s->bytes[size] = 0;
	return s;
}

void fill_forget_strings(struct fill *f)
{
	while (f->strings && f->strings->next) {
		struct fill_block *b = f->strings;

		f->strings = b->next;
		free(b);
	}
	if (f->strings)
		f->strings->used = 0;
}

void fill_strings_fini(struct fill *f)
{
	fill_forget_strings(f);
	free(f->strings);
	f->strings = NULL;
}
