/* SPDX-License-Identifier: MIT */
/*
 * values/sort.c - the order in which an iteration visits elements.
 *
 * Elements of equal rank stay in order of insertion.  With a limit a heap keeps only the elements
 * that will be visited.  Numbers are sorted by radix, strings by comparison.
 */
#include <stdlib.h>

#include "script/values/internal.h"

struct item {
	union {
		uint64_t number; /* ordered as unsigned, ascending */
		const struct script_string *text;
	};
	uint32_t element;
	uint32_t sequence; /* by insertion */
};

struct order {
	const struct array *a;
	const struct script_iteration *how;
	bool by_text, descending;
};

static struct order order_of(const struct array *a, const struct script_iteration *how)
{
	uint32_t cell = how->sort_key < 0 ? a->n_keys : (uint32_t)how->sort_key;

	return (struct order){
		.a = a, .how = how, .by_text = a->strings >> cell & 1, .descending = how->sort < 0
	};
}

static struct item item_of(const struct order *o, uint32_t element, uint32_t sequence)
{
	struct element *e = element_at(o->a, element);
	struct item item = { .element = element, .sequence = sequence };
	union script_cell *cell =
		o->how->sort_key < 0 ? value_of(o->a, e) : &e->cells[o->how->sort_key];
	int64_t number;

	if (o->by_text) {
		item.text = cell->text;
		return item;
	}
	number = cell->number;
	if (o->how->sort_key < 0 && o->a->code->value == SCRIPT_STATS)
		stat_value(o->a, stat_of(o->a, e), (enum script_statistic)o->how->statistic, 50,
			   &number);
	item.number = (uint64_t)number ^ 1ull << 63;
	if (o->descending)
		item.number = ~item.number;
	return item;
}

/* Less than 0: @a is visited before @b. */
static int compare(const struct order *o, const struct item *a, const struct item *b)
{
	int result = 0;

	if (o->by_text)
		result = values_compare(a->text, b->text) * (o->descending ? -1 : 1);
	else if (a->number != b->number)
		result = a->number < b->number ? -1 : 1;
	if (!result)
		result = a->sequence < b->sequence ? -1 : 1;
	return result;
}

static int compare_items(const void *a, const void *b, void *order)
{
	return compare(order, a, b);
}

/* A heap with the item that is visited last at its root. */
static void sift_down(const struct order *o, struct item *heap, uint32_t n, uint32_t i)
{
	for (;;) {
		uint32_t kid = 2 * i + 1;
		struct item item;

		if (kid >= n)
			return;
		if (kid + 1 < n && compare(o, &heap[kid], &heap[kid + 1]) < 0)
			kid++;
		if (compare(o, &heap[i], &heap[kid]) > 0)
			return;
		item = heap[i];
		heap[i] = heap[kid];
		heap[kid] = item;
		i = kid;
	}
}

/* Keeps the first @n_kept of @n items, by a heap. */
static void select_first(const struct order *o, struct item *items, const uint32_t *at, uint32_t n,
			 uint32_t n_kept)
{
	for (uint32_t i = 0; i < n_kept; i++)
		items[i] = item_of(o, at[i], i);
	for (uint32_t i = n_kept / 2; i--;)
		sift_down(o, items, n_kept, i);
	for (uint32_t i = n_kept; i < n; i++) {
		struct item item = item_of(o, at[i], i);

		if (compare(o, &item, &items[0]) < 0) {
			items[0] = item;
			sift_down(o, items, n_kept, 0);
		}
	}
}

/* Stable; skips bytes that are equal in all numbers. */
static void sort_by_radix(struct item *items, struct item *other, uint32_t n)
{
	struct item *from = items, *to = other;
	uint64_t differs = 0;

	for (uint32_t i = 1; i < n; i++)
		differs |= items[i].number ^ items[0].number;
	for (int shift = 0; shift < 64; shift += 8) {
		uint32_t starts[257] = { 0 };
		struct item *swap;

		if (!(differs >> shift & 0xff))
			continue;
		for (uint32_t i = 0; i < n; i++)
			starts[(from[i].number >> shift & 0xff) + 1]++;
		for (int i = 0; i < 256; i++)
			starts[i + 1] += starts[i];
		for (uint32_t i = 0; i < n; i++)
			to[starts[from[i].number >> shift & 0xff]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * sizeof *items);
}

enum values_error values_sort(struct script_values *v, const struct array *a,
			      const struct script_iteration *how, uint32_t *at, uint32_t *n,
			      int64_t limit)
{
	enum { FEW = 64 };
	struct order o = order_of(a, how);
	uint32_t n_kept = limit >= 0 && limit < *n ? (uint32_t)limit : *n;
	bool by_radix = !o.by_text && n_kept == *n && *n > FEW;
	size_t bytes = (size_t)n_kept * sizeof(struct item) * (by_radix ? 2 : 1);
	struct item *items;

	if (!how->sort || !n_kept) {
		*n = n_kept;
		return VALUES_FINE;
	}
	items = values_take(v, bytes);
	if (!items)
		return VALUES_NO_MEMORY;
	if (n_kept < *n)
		select_first(&o, items, at, *n, n_kept);
	else
		for (uint32_t i = 0; i < n_kept; i++)
			items[i] = item_of(&o, at[i], i);
	if (by_radix)
		sort_by_radix(items, items + n_kept, n_kept);
	else
		qsort_r(items, n_kept, sizeof *items, compare_items, &o);
	for (uint32_t i = 0; i < n_kept; i++)
		at[i] = items[i].element;
	*n = n_kept;
	values_give(v, items, bytes);
	return VALUES_FINE;
}
