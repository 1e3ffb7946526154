/* SPDX-License-Identifier: MIT */
/* values/direct_text.c - helpers for arrays of numbers whose only key is a string: see direct.c. */
#include "script/values/internal.h"

enum { ELEMENT_SIZE = 32 };
_Static_assert(sizeof(struct element) + 2 * sizeof(union script_cell) == ELEMENT_SIZE,
	       "what find() takes for the size of an element");

static inline struct array *array_of(uint64_t r)
{
	return (struct array *)(uintptr_t)r;
}

/* @r2: the address of the key. */
static inline struct element *find(const struct array *a, uint64_t r2)
{
	const struct script_string *key = ((const union script_cell *)(uintptr_t)r2)->text;
	uint32_t hash = hash_of_text(key, a->seed), at;
	struct element *e;

	for (uint32_t i = place_of_hash(a, hash);; i++) {
		at = a->table[i & a->mask];
		if (!at)
			return NULL;
		e = (struct element *)(a->elements + (size_t)(at - 1) * ELEMENT_SIZE);
		if (e->hash == hash && same_text(e->cells[0].text, key))
			return e;
	}
}

static uint64_t direct_add(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	struct array *a = array_of(r1);
	struct element *e = find(a, r2);

	if (__builtin_expect(!e || a->n_iterations, 0))
		return script_helpers[SCRIPT_HELPER_ARRAY_ADD](vm, a->number, r2, r3, r4, r5);
	e->cells[1].number = (int64_t)((uint64_t)e->cells[1].number + r3);
	return (uint64_t)e->cells[1].number;
}

static uint64_t direct_set(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	struct array *a = array_of(r1);
	struct element *e = find(a, r2);

	if (__builtin_expect(!e || a->n_iterations, 0))
		return script_helpers[SCRIPT_HELPER_ARRAY_SET](vm, a->number, r2, r3, r4, r5);
	e->cells[1].number = (int64_t)r3;
	return 0;
}

static uint64_t direct_get(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	const struct element *e = find(array_of(r1), r2);

	(void)vm, (void)r3, (void)r4, (void)r5;
	return e ? (uint64_t)e->cells[1].number : 0;
}

static uint64_t direct_has(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	(void)vm, (void)r3, (void)r4, (void)r5;
	return find(array_of(r1), r2) != NULL;
}

script_help *values_direct_text(uint32_t helper)
{
	switch (helper) {
	case SCRIPT_HELPER_ARRAY_ADD:
		return direct_add;
	case SCRIPT_HELPER_ARRAY_SET:
		return direct_set;
	case SCRIPT_HELPER_ARRAY_GET:
		return direct_get;
	case SCRIPT_HELPER_ARRAY_HAS:
		return direct_has;
	default:
		return NULL;
	}
}
