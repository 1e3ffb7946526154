/* SPDX-License-Identifier: MIT */
/* filter/internal.h - the state of linking, which link.c and link_binary.c share. */
#ifndef FILTER_INTERNAL_H
#define FILTER_INTERNAL_H

#include <string.h>

#include "filter/link.h"
#include "filter/step.h"

enum kind { KIND_INT, KIND_REAL, KIND_TEXT };

struct item {	      /* a value that will be on the stack */
	uint8_t kind; /* enum kind */
	uint8_t name_size;
	uint16_t name; /* in data; of a field */
	int16_t step;  /* the step that makes it and nothing else; -1: none, or several */
};

struct jump {
	uint32_t target; /* offset in the code */
	uint16_t step;
	uint16_t depth; /* of the stack at its target */
};

struct linker {
	struct filter *f;
	size_t used, capacity; /* bytes; the copy of the code lies after them */
	const uint8_t *code, *data;
	uint32_t code_size, data_size, at;
	const struct filter_names *names;
	struct filter_problem *problem;
	uint32_t depth, n_jumps;
	struct item stack[ABI_FILTER_DEPTH_MAX];
	struct jump jumps[ABI_FILTER_DEPTH_MAX];
};

static inline bool fail(struct linker *l, enum filter_error why, const char *name, size_t size)
{
	struct filter_problem *p = l->problem;

	if (!p)
		return false;
	*p = (struct filter_problem){ .why = why };
	if (size > ABI_FILTER_NAME_MAX)
		size = ABI_FILTER_NAME_MAX;
	if (size)
		memcpy(p->name, name, size);
	return false;
}

static inline bool broken(struct linker *l)
{
	return fail(l, FILTER_BROKEN, NULL, 0);
}

static inline bool fail_item(struct linker *l, enum filter_error why, const struct item *i)
{
	return fail(l, why, (const char *)l->data + i->name, i->name_size);
}

/* Takes room in the filter, aligned; 0 if there is none. */
static inline uint32_t take_room(struct linker *l, size_t bytes, size_t align)
{
	size_t at = (l->used + align - 1) & ~(align - 1);

	if (at > l->capacity || bytes > l->capacity - at)
		return 0;
	l->used = at + bytes;
	return (uint32_t)at;
}

static inline bool add_step(struct linker *l, struct filter_step step)
{
	l->f->steps[l->f->n_steps++] = step; /* link.c took room for one per operation */
	return true;
}

/* Whether @n values may be taken from the stack: inside a jump those below it stay. */
static inline bool has(const struct linker *l, uint32_t n)
{
	uint32_t kept = l->n_jumps ? l->jumps[l->n_jumps - 1].depth - 1u : 0;

	return l->depth >= kept + n;
}

static inline struct item *top(struct linker *l)
{
	return &l->stack[l->depth - 1];
}

static inline bool find_name(struct linker *l, bool is_context, uint32_t at, uint32_t size,
			     struct filter_location *p)
{
	const char *name = (const char *)l->data + at;
	enum filter_error why;

	*p = (struct filter_location){ 0 };
	why = l->names->find(l->names, is_context, name, size, p);
	return why == FILTER_FINE || fail(l, why, name, size);
}

/* filter_link_binary - link an operation that takes two values. */
bool filter_link_binary(struct linker *l, enum abi_filter_op op);

#endif
