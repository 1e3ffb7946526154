/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/sizes.h - how long an event of a class is, as a short list of steps.
 *
 * Whoever moves packets counts the events in them with this; it reads lengths and no values.  All
 * fields that programs record lie on whole bytes: base/schema.h, abi/context.h.
 */
#ifndef CTF_WRITE_SIZES_H
#define CTF_WRITE_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @skip bytes, then a text up to its NUL (@element 0) or a sequence: u32 count, elements of
 * @element bytes. */
struct sizes_step {
	uint32_t skip;
	uint8_t element;
};

enum { SIZES_STEPS = 132 }; /* one for each field and context of variable size */

struct sizes {
	uint32_t n_steps;
	uint32_t fixed; /* bytes behind the last step */
	struct sizes_step steps[SIZES_STEPS];
};

static inline void sizes_add_fixed(struct sizes *s, uint64_t bytes)
{
	uint64_t sum = s->fixed + bytes;

	s->fixed = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX; /* beyond any packet */
}

/* @element: as in struct sizes_step. */
static inline void sizes_add_step(struct sizes *s, unsigned element)
{
	if (s->n_steps == SIZES_STEPS)
		return;
	s->steps[s->n_steps++] = (struct sizes_step){ s->fixed, (uint8_t)element };
	s->fixed = 0;
}

/* context_to_sizes - add the contexts of @mask. */
void context_to_sizes(struct sizes *s, uint64_t mask);
/* schema_to_sizes - add the fields of an event class; none if schema_to_tsdl() writes none. */
void schema_to_sizes(struct sizes *s, const char *schema, size_t size);

#endif
