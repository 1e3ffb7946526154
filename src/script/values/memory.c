/* SPDX-License-Identifier: MIT */
/*
 * values/memory.c - memory counted against the limit, strings that cells own, and temporary ones.
 *
 * Temporary strings are cut from blocks, one behind the other, and all end with the handler.
 */
#include <stddef.h>
#include <stdlib.h>

#include "script/values/internal.h"

struct owned {
	struct owned *next; /* among the dead */
	char string[];	    /* a struct script_string */
};

struct block {
	struct block *next;
	size_t size;
	char bytes[] __attribute__((aligned(8)));
};

enum { BLOCK_BYTES = 64 << 10, OVERHEAD = 16 /* of malloc, for each */ };

static const struct {
	uint32_t size;
	char bytes[4];
} nothing;
const struct script_string *const values_nothing = (const struct script_string *)&nothing;

int values_compare(const struct script_string *a, const struct script_string *b)
{
	uint32_t n = a->size < b->size ? a->size : b->size;
	int result = memcmp(a->bytes, b->bytes, n);

	return result ? result : a->size < b->size ? -1 : a->size > b->size;
}

void *values_take(struct script_values *v, size_t size)
{
	void *memory;

	if (size > v->most || v->used > v->most - size)
		return NULL;
	memory = aligned_alloc(64, (size + 63) & ~(size_t)63);
	if (memory)
		v->used += size;
	return memory;
}

void values_give(struct script_values *v, void *memory, size_t size)
{
	if (memory)
		v->used -= size;
	free(memory);
}

static size_t string_size(size_t n_bytes)
{
	return sizeof(struct script_string) + n_bytes + 1;
}

static size_t owned_size(const struct script_string *s)
{
	return sizeof(struct owned) + string_size(s->size) + OVERHEAD;
}

const struct script_string *values_keep(struct script_values *v, const struct script_string *s)
{
	size_t size = owned_size(s);
	struct owned *o;

	if (!s->size)
		return values_nothing;
	if (size > v->most || v->used > v->most - size)
		return NULL;
	o = malloc(size - OVERHEAD);
	if (!o)
		return NULL;
	v->used += size;
	memcpy(o->string, s, string_size(s->size));
	return (const struct script_string *)o->string;
}

void values_drop(struct script_values *v, const struct script_string *s)
{
	struct owned *o;

	if (s == values_nothing)
		return;
	o = (struct owned *)((uintptr_t)s - offsetof(struct owned, string));
	o->next = v->dead;
	v->dead = o;
	v->is_dirty = true;
}

void values_free_dead(struct script_values *v)
{
	while (v->dead) {
		struct owned *o = v->dead;

		v->dead = o->next;
		v->used -= owned_size((const struct script_string *)o->string);
		free(o);
	}
}

/* A block with room for @size bytes becomes the first one. */
static bool add_block(struct script_values *v, size_t size)
{
	size_t bytes = size < BLOCK_BYTES ? BLOCK_BYTES : size;
	struct block *b = values_take(v, sizeof *b + bytes);

	if (!b)
		return false;
	*b = (struct block){ .next = v->blocks, .size = bytes };
	v->blocks = b;
	v->bump = b->bytes;
	v->bump_end = b->bytes + bytes;
	return true;
}

static struct script_string *new_string(struct script_values *v, size_t size)
{
	size_t bytes = (string_size(size) + 7) & ~(size_t)7;
	struct script_string *s;

	v->is_dirty = true;
	if ((size_t)(v->bump_end - v->bump) < bytes && !add_block(v, bytes))
		return NULL;
	s = (struct script_string *)v->bump;
	v->bump += bytes;
	s->size = (uint32_t)size;
	s->bytes[size] = 0;
	return s;
}

struct script_string *values_new_string(struct script_values *v, size_t size)
{
	return new_string(v, size < v->string_bytes ? size : v->string_bytes - 1);
}

const struct script_string *values_long_string(struct script_values *v, const char *bytes,
					       size_t size)
{
	struct script_string *s = size && size <= INT32_MAX ? new_string(v, size) : NULL;

	if (!s)
		return values_nothing;
	memcpy(s->bytes, bytes, size);
	return s;
}

const struct script_string *values_string(struct script_values *v, const char *bytes, size_t size)
{
	struct script_string *s;

	if (!size)
		return values_nothing;
	s = values_new_string(v, size);
	if (!s)
		return values_nothing;
	memcpy(s->bytes, bytes, s->size);
	return s;
}

void values_free_texts(struct script_values *v)
{
	struct block *b = v->blocks;

	if (!b)
		return;
	while (b->next) {
		v->blocks = b->next;
		values_give(v, b, sizeof *b + b->size);
		b = v->blocks;
	}
	v->bump = b->bytes;
	v->bump_end = b->bytes + b->size;
}

void values_fini_texts(struct script_values *v)
{
	struct block *b = v->blocks;

	values_free_texts(v);
	b = v->blocks;
	if (b)
		values_give(v, b, sizeof *b + b->size);
	v->blocks = NULL;
}
