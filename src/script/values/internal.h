/* SPDX-License-Identifier: MIT */
/*
 * values/internal.h - what the files of this room share.
 *
 * An array is a row of elements and a table that finds them.  Elements lie in one block; each
 * has a number that it keeps until it is deleted.  The table has the numbers, plus one, at the
 * places that hashes give (linear probing, at most a quarter full; a deletion shifts the next ones back,
 * so that no marks of deleted elements remain: Knuth, TAOCP 6.4, algorithm R).  A list links the
 * elements in order of insertion.  An array without memory has a table of two free places.
 */
#ifndef SCRIPT_VALUES_INTERNAL_H
#define SCRIPT_VALUES_INTERNAL_H

#include <string.h>

#include "script/values/values.h"

enum { NONE = UINT32_MAX, MOST_ITERATIONS = 256, MOST_ELEMENTS = 1 << 30 };

struct element {
	uint32_t hash;
	uint32_t previous, next; /* in order of insertion; `next` also links free ones */
	uint32_t unused;
	union script_cell cells[]; /* keys; then the value, a cell or a struct stat */
};

struct stat {
	uint64_t n;
	int64_t sum, min, max;
	struct stat_more *more; /* NULL: the array needs none */
};

struct array {
	const struct script_array_code *code;
	uint32_t n_keys, n, capacity;
	uint32_t element_size;
	char *elements;
	uint32_t *table, mask;		/* mask + 1 places; 0: free, else number + 1 */
	uint32_t shift;			/* of 64 bits of a hash, for its place */
	uint64_t seed;			/* odd */
	uint32_t n_rooms, n_used, free; /* allocated; ever used; first free one */
	uint32_t first, last;
	uint32_t n_iterations; /* open ones: it cannot change */
	uint32_t strings;      /* bit i: cell i is a string that the element owns */
	uint32_t n_buckets;
	uint32_t number; /* in the unit */
};

struct iteration {
	const struct script_iteration *how;
	struct array *array;
	uint32_t *at;  /* numbers of elements, in order */
	uint32_t n, i; /* `i`: of the next one */
	size_t bytes;
	const struct stat *stat; /* over its buckets */
};

struct owned; /* a string that a cell owns */

struct script_values {
	const struct script_unit *unit;
	uint32_t string_bytes;
	size_t used, most; /* bytes */
	struct array *arrays;
	union script_cell *globals;
	struct owned *dead;   /* freed when the handler ends */
	struct block *blocks; /* of temporary strings; the first one stays */
	char *bump, *bump_end;
	bool is_dirty; /* something is to be done when the handler ends */
	struct iteration *iterations;
	uint32_t n_iterations;
	void *library;
	void (*library_fini)(void *);
};

extern const struct script_string *const values_nothing; /* "" */

/* values/memory.c: memory counted against the limit.  NULL: none is left. */
void *values_take(struct script_values *v, size_t size);
void values_give(struct script_values *v, void *memory, size_t size);
/* A copy that a cell owns; values_drop() frees it when the handler ends. */
const struct script_string *values_keep(struct script_values *v, const struct script_string *s);
void values_drop(struct script_values *v, const struct script_string *s);
void values_free_dead(struct script_values *v);
void values_free_texts(struct script_values *v); /* temporary strings */
void values_fini_texts(struct script_values *v);

static inline struct element *element_at(const struct array *a, uint32_t number)
{
	return (struct element *)(a->elements + (size_t)number * a->element_size);
}

static inline union script_cell *value_of(const struct array *a, struct element *e)
{
	return &e->cells[a->n_keys];
}

static inline struct stat *stat_of(const struct array *a, struct element *e)
{
	return (struct stat *)&e->cells[a->n_keys];
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* A multiplication by a random odd number alone: it scatters numbers that follow one another, as
 * those of processes do, evenly over the table (Dietzfelbinger and others, "A Reliable Randomized
 * Algorithm for the Closest-Pair Problem", 1997). */
static inline uint32_t hash_long(int64_t key, uint64_t seed)
{
	return (uint32_t)((uint64_t)key * seed >> 32);
}

static inline uint32_t place_of_hash(const struct array *a, uint32_t hash)
{
	return (uint32_t)((uint64_t)hash << 32 >> a->shift);
}

static inline uint64_t word_at(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

static inline uint32_t half_word_at(const char *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

/* All of a string of at most 8 bytes, and not 0: with its size it says which one it is. */
static inline uint64_t short_text(const char *p, uint32_t size)
{
	if (size >= 4)
		return half_word_at(p) | (uint64_t)half_word_at(p + size - 4) << 32;
	return (uint8_t)p[0] | (uint32_t)(uint8_t)p[size / 2] << 8 |
	       (uint32_t)(uint8_t)p[size - 1] << 16;
}

/* Words from the beginning, and the last one, which may overlap. */
static inline uint64_t hash_text(const struct script_string *s, uint64_t h)
{
	const char *p = s->bytes, *last = s->bytes + s->size - 8;

	h ^= s->size;
	if (s->size <= 8)
		return s->size ? mix(h ^ short_text(p, s->size), 0xe7037ed1a0b428dbu) : h;
	for (; p < last; p += 8)
		h = mix(h ^ word_at(p), 0x9e3779b97f4a7c15u);
	return mix(h ^ word_at(last), 0xe7037ed1a0b428dbu);
}

static inline bool same_text(const struct script_string *a, const struct script_string *b)
{
	const char *p = a->bytes, *q = b->bytes;
	size_t last;

	if (a == b || a->size != b->size)
		return a == b;
	if (a->size <= 8)
		return !a->size || short_text(p, a->size) == short_text(q, a->size);
	last = a->size - 8;
	if (last > 24)
		return !memcmp(p, q, a->size);
	for (size_t i = 0; i < last; i += 8)
		if (word_at(p + i) != word_at(q + i))
			return false;
	return word_at(p + last) == word_at(q + last);
}

static inline uint32_t hash_of_text(const struct script_string *key, uint64_t seed)
{
	return (uint32_t)(hash_text(key, seed) >> 32);
}

/* values/array.c.  The element, or NULL. */
uint32_t array_hash(const struct array *a, const union script_cell *keys);
struct element *array_find_general(const struct array *a, const union script_cell *keys);
enum values_error array_insert(struct script_values *v, struct array *a,
			       const union script_cell *keys, struct element **element);
bool array_fits(const struct array *a, const struct element *e, const union script_cell *keys,
		uint32_t wild);
/* array_init - an empty array without memory. */
void array_init(struct array *a, const struct script_array_code *code, uint32_t entries,
		uint64_t seed);
void array_fini(struct script_values *v, struct array *a);
static inline bool array_is_one_long(const struct array *a)
{
	return a->n_keys == 1 && !(a->strings & 1);
}

/* The case that counts: one number as the key. */
static inline struct element *array_find(const struct array *a, const union script_cell *keys)
{
	uint32_t at;

	if (!array_is_one_long(a))
		return array_find_general(a, keys);
	for (uint32_t i = place_of_hash(a, hash_long(keys->number, a->seed));; i++) {
		struct element *e;

		at = a->table[i & a->mask];
		if (!at)
			return NULL;
		e = element_at(a, at - 1);
		if (e->cells[0].number == keys->number)
			return e;
	}
}

/* values/direct_text.c: a faster function than that of @helper; NULL: there is none. */
script_help *values_direct_text(uint32_t helper);

/* values/stats.c */
enum values_error stat_init(struct script_values *v, const struct array *a, struct stat *s);
void stat_fini(struct script_values *v, const struct array *a, struct stat *s);
enum values_error stat_value(const struct array *a, const struct stat *s,
			     enum script_statistic which, int64_t parameter, int64_t *value);
const uint64_t *stat_buckets(const struct stat *s);

/* values/quantile.c: the distribution of many values; -ENOMEM without memory. */
struct quantiles;
struct quantiles *quantiles_new(struct script_values *v);
void quantiles_free(struct script_values *v, struct quantiles *q);
int quantiles_add(struct script_values *v, struct quantiles *q, int64_t value);
/* The least value that at least @per_cent of all do not exceed; above 100, digits behind the first
 * two are decimals: 999 is 99.9. */
int64_t quantiles_get(struct quantiles *q, int64_t per_cent);

/* values/sort.c: the first @limit of @n elements in the order that @how asks for; -1: all. */
enum values_error values_sort(struct script_values *v, const struct array *a,
			      const struct script_iteration *how, uint32_t *at, uint32_t *n,
			      int64_t limit);

#endif
