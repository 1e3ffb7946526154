/* SPDX-License-Identifier: MIT */
/* syntax/source.c - the arena of a script, its texts, and lines and columns of places. */
#include "script/syntax/source.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct script_arena_block {
	struct script_arena_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

enum { BLOCK_BYTES = 64 << 10, ARENA_MOST = 64 << 20 };

static struct script_arena_block *add_block(struct script_arena *a, size_t size)
{
	size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
	struct script_arena_block *b;

	if (size > (a->most ? a->most : ARENA_MOST) - a->size)
		return NULL;
	b = malloc(sizeof *b + room);
	if (!b)
		return NULL;
	*b = (struct script_arena_block){ .next = a->blocks, .size = room };
	a->blocks = b;
	return b;
}

void *script_allocate(struct script_arena *a, size_t size)
{
	size_t most = a->most ? a->most : ARENA_MOST;
	struct script_arena_block *b = a->blocks;
	void *bytes;

	assert(a->size <= most);
	if (size > most - a->size) {
		a->failed = true;
		return NULL;
	}
	size = (size + 7) & ~(size_t)7;
	if (!b || size > b->size - b->used)
		b = add_block(a, size);
	if (!b || size > most - a->size) {
		a->failed = true;
		return NULL;
	}
	bytes = b->bytes + b->used;
	b->used += size;
	a->size += size;
	return memset(bytes, 0, size);
}

char *script_copy(struct script_arena *a, const char *bytes, size_t size)
{
	char *copy = size < SIZE_MAX ? script_allocate(a, size + 1) : NULL;

	if (copy && size)
		memcpy(copy, bytes, size);
	return copy;
}

void script_arena_fini(struct script_arena *a)
{
	while (a->blocks) {
		struct script_arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	*a = (struct script_arena){ 0 };
}

static bool make_room(struct script_sources *s)
{
	uint32_t rooms = s->n_rooms ? s->n_rooms * 2 : 8;
	struct script_source *at;

	if (s->n < s->n_rooms)
		return true;
	at = script_allocate(s->arena, rooms * sizeof *at);
	if (!at)
		return false;
	if (s->n)
		memcpy(at, s->at, s->n * sizeof *at);
	s->at = at;
	s->n_rooms = rooms;
	return true;
}

int64_t script_sources_add(struct script_sources *s, const char *name, const char *text,
			   size_t size)
{
	struct script_source new = { .size = size };

	if (size > INT32_MAX || !make_room(s))
		return -ENOMEM;
	new.name = script_copy(s->arena, name, strlen(name));
	new.text = script_copy(s->arena, text, size);
	if (!new.name || !new.text)
		return -ENOMEM;
	s->at[s->n] = new;
	return s->n++;
}

void script_place_line(const struct script_sources *s, struct script_place place, uint32_t *line,
		       uint32_t *column)
{
	const struct script_source *source = s->at + place.source;
	uint32_t begin = 0;

	*line = *column = 1;
	if (place.source >= s->n)
		return;
	for (uint32_t i = 0; i < place.at && i < source->size; i++)
		if (source->text[i] == '\n') {
			++*line;
			begin = i + 1;
		}
	*column = (place.at < source->size ? place.at : (uint32_t)source->size) - begin + 1;
}
