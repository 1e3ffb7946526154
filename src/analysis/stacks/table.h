/* SPDX-License-Identifier: MIT */
/* analysis/stacks/table.h - the hash table of stack_tree.c: two numbers to one. */
#ifndef ANALYSIS_STACKS_TABLE_H
#define ANALYSIS_STACKS_TABLE_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

/* Maps two numbers to one value by open addressing; at most half full. */
struct table {
	struct slot {
		uint64_t a, b;
		uint32_t value; /* plus 1; 0: empty */
	} * at;
	uint32_t n, n_slots;
};

static inline struct slot *slot_of(struct slot *at, uint32_t n, uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9E3779B97F4A7C15u ^ b) * 0xff51afd7ed558ccdu;
	uint32_t i = (uint32_t)(hash >> 32) & (n - 1);

	while (at[i].value && (at[i].a != a || at[i].b != b))
		i = (i + 1) & (n - 1);
	return &at[i];
}

/* The slot of a key, which the caller fills if its value is 0; NULL if there is no memory. */
static inline struct slot *table_find(struct table *t, uint64_t a, uint64_t b)
{
	uint32_t n = t->n_slots ? t->n_slots * 2 : 1024;
	struct slot *bigger, *p;

	if (t->n * 2 >= t->n_slots) {
		bigger = calloc(n, sizeof *bigger);
		if (!bigger)
			return NULL;
		for (uint32_t i = 0; i < t->n_slots; i++)
			if (t->at[i].value)
				*slot_of(bigger, n, t->at[i].a, t->at[i].b) = t->at[i];
		free(t->at);
		t->at = bigger;
		t->n_slots = n;
	}
	p = slot_of(t->at, t->n_slots, a, b);
	if (!p->value)
		*p = (struct slot){ a, b, 0 };
	return p;
}

static inline void fill(struct table *t, struct slot *p, uint32_t value)
{
	assert(!p->value && t->n < t->n_slots);
	p->value = value + 1;
	t->n++;
}

#endif
