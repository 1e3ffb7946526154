/* SPDX-License-Identifier: MIT */
/* values/array.c - arrays: elements found by their keys, in order of insertion. */
#include <assert.h>
#include <stdlib.h>

#include "script/values/internal.h"

enum { FIRST_ROOMS = 16 };

uint32_t array_hash(const struct array *a, const union script_cell *keys)
{
	uint64_t h = a->seed;

	if (array_is_one_long(a))
		return hash_long(keys->number, h);
	for (uint32_t i = 0; i < a->n_keys; i++)
		h = a->strings >> i & 1 ? hash_text(keys[i].text, h)
					: mix((uint64_t)keys[i].number ^ h, 0x9e3779b97f4a7c15u);
	return (uint32_t)(h >> 32);
}

/* @wild: bit i: key i may be any. */
bool array_fits(const struct array *a, const struct element *e, const union script_cell *keys,
		uint32_t wild)
{
	for (uint32_t i = 0; i < a->n_keys; i++) {
		if (wild >> i & 1)
			continue;
		if (a->strings >> i & 1 ? !same_text(e->cells[i].text, keys[i].text)
					: e->cells[i].number != keys[i].number)
			return false;
	}
	return true;
}

static struct element *find_hashed(const struct array *a, const union script_cell *keys,
				   uint32_t hash)
{
	for (uint32_t i = place_of_hash(a, hash);; i++) {
		uint32_t at = a->table[i & a->mask];
		struct element *e;

		if (!at)
			return NULL;
		e = element_at(a, at - 1);
		if (e->hash == hash && array_fits(a, e, keys, 0))
			return e;
	}
}

struct element *array_find_general(const struct array *a, const union script_cell *keys)
{
	if (!a->n_keys)
		return a->n ? element_at(a, a->first) : NULL;
	return find_hashed(a, keys, array_hash(a, keys));
}

static uint32_t number_of(const struct array *a, const struct element *e)
{
	return (uint32_t)((size_t)((const char *)e - a->elements) / a->element_size);
}

static uint32_t *place_of(const struct array *a, const struct element *e)
{
	uint32_t number = number_of(a, e);

	for (uint32_t i = place_of_hash(a, e->hash);; i++)
		if (a->table[i & a->mask] == number + 1)
			return &a->table[i & a->mask];
}

static void put_into_table(struct array *a, uint32_t number)
{
	uint32_t i = place_of_hash(a, element_at(a, number)->hash);

	while (a->table[i])
		i = (i + 1) & a->mask;
	a->table[i] = number + 1;
}

static void remove_from_table(struct array *a, const struct element *e)
{
	uint32_t hole = (uint32_t)(place_of(a, e) - a->table), i = hole;

	for (;;) {
		uint32_t home;

		i = (i + 1) & a->mask;
		if (!a->table[i])
			break;
		home = place_of_hash(a, element_at(a, a->table[i] - 1)->hash);
		/* It may move back unless its home lies behind the hole. */
		if (((i - home) & a->mask) >= ((i - hole) & a->mask)) {
			a->table[hole] = a->table[i];
			hole = i;
		}
	}
	a->table[hole] = 0;
}

static size_t bytes_for(const struct array *a, uint32_t n_rooms)
{
	return (size_t)n_rooms * a->element_size;
}

static void have_no_memory(struct array *a)
{
	static uint32_t no_places[2]; /* never written */

	a->elements = NULL;
	a->table = no_places;
	a->mask = 1;
	a->shift = 63;
	a->n_rooms = 0;
}

static void free_storage(struct script_values *v, struct array *a)
{
	values_give(v, a->elements, bytes_for(a, a->n_rooms));
	if (a->n_rooms)
		values_give(v, a->table, ((size_t)a->mask + 1) * sizeof *a->table);
	have_no_memory(a);
}

/* Twice the rooms.  The table has four places for each: fewer collisions are fewer wrong guesses of
 * the processor. */
static enum values_error grow(struct script_values *v, struct array *a)
{
	uint32_t n_rooms = a->n_rooms ? a->n_rooms * 2 : FIRST_ROOMS;
	size_t table_bytes = 4 * (size_t)n_rooms * sizeof *a->table;
	char *elements = values_take(v, bytes_for(a, n_rooms));
	uint32_t *table = values_take(v, table_bytes);

	if (!elements || !table) {
		values_give(v, elements, bytes_for(a, n_rooms));
		values_give(v, table, table_bytes);
		return VALUES_NO_MEMORY;
	}
	if (a->n_used)
		memcpy(elements, a->elements, bytes_for(a, a->n_used));
	memset(table, 0, table_bytes);
	free_storage(v, a);
	a->elements = elements;
	a->table = table;
	a->mask = 4 * n_rooms - 1;
	a->shift = 32 + (uint32_t)__builtin_clz(a->mask);
	a->n_rooms = n_rooms;
	for (uint32_t i = a->first; i != NONE; i = element_at(a, i)->next)
		put_into_table(a, i);
	return VALUES_FINE;
}

static void unlink_element(struct array *a, const struct element *e)
{
	if (e->previous == NONE)
		a->first = e->next;
	else
		element_at(a, e->previous)->next = e->next;
	if (e->next == NONE)
		a->last = e->previous;
	else
		element_at(a, e->next)->previous = e->previous;
}

static void drop_content(struct script_values *v, const struct array *a, struct element *e)
{
	for (uint32_t i = 0; a->strings >> i; i++)
		if (a->strings >> i & 1)
			values_drop(v, e->cells[i].text);
	if (a->code->value == SCRIPT_STATS)
		stat_fini(v, a, stat_of(a, e));
}

static void remove_element(struct script_values *v, struct array *a, struct element *e)
{
	remove_from_table(a, e);
	unlink_element(a, e);
	drop_content(v, a, e);
	e->next = a->free;
	a->free = number_of(a, e);
	a->n--;
}

/* A number for a new element; its room exists. */
static uint32_t take_number(struct array *a)
{
	uint32_t number = a->free;

	if (number == NONE)
		return a->n_used++;
	a->free = element_at(a, number)->next;
	return number;
}

static void give_number(struct array *a, uint32_t number)
{
	element_at(a, number)->next = a->free;
	a->free = number;
}

/* Keys and an empty value: all of it or nothing. */
static enum values_error fill(struct script_values *v, const struct array *a, struct element *e,
			      const union script_cell *keys)
{
	uint32_t i;

	for (i = 0; i < a->n_keys; i++) {
		e->cells[i] = keys[i];
		if (!(a->strings >> i & 1))
			continue;
		e->cells[i].text = values_keep(v, keys[i].text);
		if (!e->cells[i].text)
			break;
	}
	if (i == a->n_keys) {
		if (a->code->value == SCRIPT_STRING)
			value_of(a, e)->text = values_nothing;
		else
			value_of(a, e)->number = 0;
		if (a->code->value != SCRIPT_STATS || !stat_init(v, a, stat_of(a, e)))
			return VALUES_FINE;
	}
	while (i--)
		if (a->strings >> i & 1)
			values_drop(v, e->cells[i].text);
	return VALUES_NO_MEMORY;
}

enum values_error array_insert(struct script_values *v, struct array *a,
			       const union script_cell *keys, struct element **element)
{
	enum values_error error = VALUES_FINE;
	struct element *e;
	uint32_t number;

	if (a->n_iterations)
		return VALUES_ITERATED;
	if (a->n >= a->capacity) {
		if (!a->code->wraps || !a->n)
			return VALUES_FULL;
		remove_element(v, a, element_at(a, a->first));
	}
	if (a->free == NONE && a->n_used == a->n_rooms)
		error = grow(v, a);
	if (error)
		return error;
	number = take_number(a);
	e = element_at(a, number);
	error = fill(v, a, e, keys);
	if (error) {
		give_number(a, number);
		return error;
	}
	e->hash = array_hash(a, keys);
	e->previous = a->last;
	e->next = NONE;
	if (a->last == NONE)
		a->first = number;
	else
		element_at(a, a->last)->next = number;
	a->last = number;
	a->n++;
	put_into_table(a, number);
	*element = e;
	return VALUES_FINE;
}

static enum values_error find_or_insert(struct script_values *v, struct array *a,
					const union script_cell *keys, struct element **e)
{
	*e = array_find(a, keys);
	if (*e)
		return a->n_iterations ? VALUES_ITERATED : VALUES_FINE;
	return array_insert(v, a, keys, e);
}

enum values_error values_get(struct script_values *v, uint32_t array, const union script_cell *keys,
			     union script_cell *value)
{
	const struct array *a = &v->arrays[array];
	struct element *e = array_find(a, keys);

	if (e)
		*value = *value_of(a, e);
	else if (a->code->value == SCRIPT_STRING)
		value->text = values_nothing;
	else
		value->number = 0;
	return VALUES_FINE;
}

enum values_error values_set(struct script_values *v, uint32_t array, const union script_cell *keys,
			     union script_cell value)
{
	struct array *a = &v->arrays[array];
	const struct script_string *kept;
	struct element *e;
	enum values_error error = find_or_insert(v, a, keys, &e);

	if (error)
		return error;
	if (a->code->value != SCRIPT_STRING) {
		*value_of(a, e) = value;
		return VALUES_FINE;
	}
	if (same_text(value_of(a, e)->text, value.text))
		return VALUES_FINE;
	kept = values_keep(v, value.text);
	if (!kept)
		return VALUES_NO_MEMORY;
	values_drop(v, value_of(a, e)->text);
	value_of(a, e)->text = kept;
	return VALUES_FINE;
}

enum values_error values_add(struct script_values *v, uint32_t array, const union script_cell *keys,
			     int64_t delta, int64_t *sum)
{
	struct array *a = &v->arrays[array];
	struct element *e;
	enum values_error error = find_or_insert(v, a, keys, &e);

	if (error)
		return error;
	*sum = (int64_t)((uint64_t)value_of(a, e)->number + (uint64_t)delta);
	value_of(a, e)->number = *sum;
	return VALUES_FINE;
}

bool values_has(struct script_values *v, uint32_t array, const union script_cell *keys,
		uint32_t wild)
{
	const struct array *a = &v->arrays[array];

	if (!wild)
		return array_find(a, keys);
	for (uint32_t i = a->first; i != NONE; i = element_at(a, i)->next)
		if (array_fits(a, element_at(a, i), keys, wild))
			return true;
	return false;
}

enum values_error values_delete(struct script_values *v, uint32_t array,
				const union script_cell *keys, uint32_t wild)
{
	struct array *a = &v->arrays[array];
	struct element *e;

	if (a->n_iterations)
		return VALUES_ITERATED;
	if (!wild) {
		e = array_find(a, keys);
		if (e)
			remove_element(v, a, e);
		return VALUES_FINE;
	}
	for (uint32_t i = a->first, next; i != NONE; i = next) {
		e = element_at(a, i);
		next = e->next;
		if (array_fits(a, e, keys, wild))
			remove_element(v, a, e);
	}
	return VALUES_FINE;
}

static void drop_contents(struct script_values *v, struct array *a)
{
	if (!a->strings && a->code->value != SCRIPT_STATS)
		return;
	for (uint32_t i = a->first; i != NONE; i = element_at(a, i)->next)
		drop_content(v, a, element_at(a, i));
}

enum values_error values_clear(struct script_values *v, uint32_t array)
{
	struct array *a = &v->arrays[array];

	if (a->n_iterations)
		return VALUES_ITERATED;
	drop_contents(v, a);
	if (a->n < a->n_rooms / 8)
		free_storage(v, a);
	else if (a->n_rooms)
		memset(a->table, 0, ((size_t)a->mask + 1) * sizeof *a->table);
	a->n = a->n_used = 0;
	a->first = a->last = a->free = NONE;
	return VALUES_FINE;
}

uint32_t values_count(const struct script_values *v, uint32_t array)
{
	return v->arrays[array].n;
}

void array_init(struct array *a, const struct script_array_code *code, uint32_t entries,
		uint64_t seed)
{
	uint32_t n_keys = code->n_keys <= SCRIPT_KEYS_MAX ? code->n_keys : SCRIPT_KEYS_MAX;
	uint32_t capacity = code->capacity ? code->capacity : entries;

	*a = (struct array){ .code = code,
			     .n_keys = n_keys,
			     .seed = seed | 1,
			     .free = NONE,
			     .first = NONE,
			     .last = NONE };
	have_no_memory(a);
	a->capacity = !n_keys ? 1 : capacity < MOST_ELEMENTS ? capacity : MOST_ELEMENTS;
	a->element_size =
		sizeof(struct element) + n_keys * sizeof(union script_cell) +
		(code->value == SCRIPT_STATS ? sizeof(struct stat) : sizeof(union script_cell));
	for (uint32_t i = 0; i < n_keys; i++)
		if (code->keys[i] == SCRIPT_STRING)
			a->strings |= 1u << i;
	if (code->value == SCRIPT_STRING)
		a->strings |= 1u << n_keys;
	a->n_buckets = values_n_buckets(code);
}

void array_fini(struct script_values *v, struct array *a)
{
	if (!a->code)
		return;
	drop_contents(v, a);
	free_storage(v, a);
}

int values_each(struct script_values *v, uint32_t array,
		int (*visit)(void *context, const union script_cell *keys, uint32_t element),
		void *context)
{
	struct array *a = &v->arrays[array];
	int result = 0;

	a->n_iterations++;
	for (uint32_t i = a->first; i != NONE && !result; i = element_at(a, i)->next)
		result = visit(context, element_at(a, i)->cells, i);
	a->n_iterations--;
	return result;
}
