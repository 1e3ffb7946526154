/* SPDX-License-Identifier: MIT */
/*
 * values/direct.c - helpers for arrays whose only key is a number, and for single statistics; those
 * with a string as their key: direct_text.c.
 *
 * The machine calls them where it knows the array when it prepares the code: they get the array
 * itself, find an element that exists without any further call, and leave all else to the helper for
 * every array.
 */
#include "script/values/internal.h"

enum { LONG_SIZE = 32, STAT_SIZE = 64 };
_Static_assert(sizeof(struct element) + 2 * sizeof(union script_cell) == LONG_SIZE,
	       "what find() takes for the size of an element");
_Static_assert(sizeof(struct element) + sizeof(union script_cell) + sizeof(struct stat) ==
		       STAT_SIZE,
	       "what find() takes for the size of an element");

static inline const union script_cell *cells_of(uint64_t r)
{
	return (const union script_cell *)(uintptr_t)r;
}

static inline struct array *array_of(uint64_t r)
{
	return (struct array *)(uintptr_t)r;
}

static inline struct element *number_at(const struct array *a, uint32_t at, uint32_t size)
{
	return (struct element *)(a->elements + (size_t)at * size - size);
}

/* From the second place on. */
static __attribute__((noinline)) struct element *find_further(const struct array *a, int64_t key)
{
	for (uint32_t i = place_of_hash(a, hash_long(key, a->seed)) + 1;; i++) {
		uint32_t at = a->table[i & a->mask];

		if (!at)
			return NULL;
		if (number_at(a, at, a->element_size)->cells[0].number == key)
			return number_at(a, at, a->element_size);
	}
}

static inline struct element *find(const struct array *a, int64_t key, uint32_t size)
{
	uint32_t at = a->table[(uint64_t)key * a->seed >> a->shift];

	if (__builtin_expect(!at, 0))
		return NULL;
	if (__builtin_expect(number_at(a, at, size)->cells[0].number == key, 1))
		return number_at(a, at, size);
	return find_further(a, key);
}

static uint64_t direct_add(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	struct array *a = array_of(r1);
	struct element *e = find(a, cells_of(r2)->number, LONG_SIZE);

	if (__builtin_expect(!e || a->n_iterations, 0))
		return script_helpers[SCRIPT_HELPER_ARRAY_ADD](vm, a->number, r2, r3, r4, r5);
	e->cells[1].number = (int64_t)((uint64_t)e->cells[1].number + r3);
	return (uint64_t)e->cells[1].number;
}

static uint64_t direct_set(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	struct array *a = array_of(r1);
	struct element *e = find(a, cells_of(r2)->number, LONG_SIZE);

	if (__builtin_expect(!e || a->n_iterations, 0))
		return script_helpers[SCRIPT_HELPER_ARRAY_SET](vm, a->number, r2, r3, r4, r5);
	e->cells[1].number = (int64_t)r3;
	return 0;
}

static uint64_t direct_get(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	const struct element *e = find(array_of(r1), cells_of(r2)->number, LONG_SIZE);

	(void)vm, (void)r3, (void)r4, (void)r5;
	return e ? (uint64_t)e->cells[1].number : 0;
}

static uint64_t direct_has(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
			   uint64_t r5)
{
	(void)vm, (void)r3, (void)r4, (void)r5;
	return find(array_of(r1), cells_of(r2)->number, LONG_SIZE) != NULL;
}

static inline void collect(struct stat *s, int64_t value)
{
	s->n++;
	s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)value);
	s->min = value < s->min ? value : s->min;
	s->max = value > s->max ? value : s->max;
}

static uint64_t direct_collect(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3,
			       uint64_t r4, uint64_t r5)
{
	struct array *a = array_of(r1);
	struct element *e = find(a, cells_of(r2)->number, STAT_SIZE);

	if (__builtin_expect(!e || a->n_iterations, 0))
		return script_helpers[SCRIPT_HELPER_STAT_ADD](vm, a->number, r2, r3, r4, r5);
	collect((struct stat *)&e->cells[1], (int64_t)r3);
	return 0;
}

static uint64_t direct_collect_one(struct script_vm *vm, uint64_t r1, uint64_t r2, uint64_t r3,
				   uint64_t r4, uint64_t r5)
{
	struct array *a = array_of(r1);

	if (__builtin_expect(!a->n || a->n_iterations, 0))
		return script_helpers[SCRIPT_HELPER_STAT_ADD](vm, a->number, r2, r3, r4, r5);
	collect((struct stat *)element_at(a, a->first)->cells, (int64_t)r3);
	return 0;
}

static script_help *direct_number(uint32_t helper)
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

static bool is_simple_statistic(const struct script_array_code *c)
{
	return c->value == SCRIPT_STATS && !c->histogram && !c->has_variance && !c->has_quantiles;
}

script_help *values_direct(struct script_values *v, uint32_t helper, uint32_t array, uint64_t *r1)
{
	struct array *a;

	if (array >= v->unit->n_arrays) /* code that is never reached may say so */
		return NULL;
	a = &v->arrays[array];
	*r1 = (uint64_t)(uintptr_t)a;
	if (helper == SCRIPT_HELPER_STAT_ADD && is_simple_statistic(a->code)) {
		if (!a->n_keys)
			return direct_collect_one;
		return array_is_one_long(a) ? direct_collect : NULL;
	}
	if (a->n_keys != 1 || a->code->value != SCRIPT_LONG)
		return NULL;
	return array_is_one_long(a) ? direct_number(helper) : values_direct_text(helper);
}
