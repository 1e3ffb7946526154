/* SPDX-License-Identifier: MIT */
/*
 * analysis/samples.c - values in a sorted array, then in logarithmic buckets; and a heap of the
 * longest durations.
 */
#include "analysis/samples.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SUB_BITS = 7, SUB = 1 << SUB_BITS, N_BUCKETS = (64 - SUB_BITS + 1) * SUB };
enum { FEW = 8192 }; /* values that take as much memory as buckets */

/* Below SUB each value has its own bucket. Above, the SUB_BITS bits after the leading one select
 * it. */
static uint32_t bucket_of(uint64_t v)
{
	int power;

	if (v < SUB)
		return (uint32_t)v;
	power = 63 - __builtin_clzll(v);
	return (uint32_t)(power - SUB_BITS + 1) * SUB +
	       (uint32_t)((v >> (power - SUB_BITS)) & (SUB - 1));
}

static uint64_t middle_of(uint32_t bucket)
{
	int shift = (int)(bucket / SUB) - 1;

	if (shift < 0)
		return bucket;
	return ((uint64_t)(SUB + bucket % SUB) << shift) + (shift ? 1ull << (shift - 1) : 0);
}

static int switch_to_buckets(struct samples *s)
{
	s->buckets = calloc(N_BUCKETS, sizeof *s->buckets);
	if (!s->buckets)
		return -ENOMEM;
	for (uint64_t i = 0; i < s->n; i++)
		s->buckets[bucket_of(s->at[i])]++;
	free(s->at);
	s->at = NULL;
	s->capacity = 0;
	return 0;
}

static int make_room(struct samples *s)
{
	uint32_t capacity = s->capacity ? s->capacity * 2 : 16;
	uint64_t *at;

	if (s->buckets || s->n < s->capacity)
		return 0;
	if (s->n == SAMPLES_EXACT)
		return switch_to_buckets(s);
	at = realloc(s->at, capacity * sizeof *at);
	if (!at)
		return -ENOMEM;
	s->at = at;
	s->capacity = capacity;
	return 0;
}

static void count(struct samples *s, uint64_t n, uint64_t sum, uint64_t min, uint64_t max)
{
	if (!n)
		return;
	s->min = !s->n || min < s->min ? min : s->min;
	s->max = max > s->max ? max : s->max;
	s->sum = s->sum > UINT64_MAX - sum ? UINT64_MAX : s->sum + sum;
	s->n += n;
}

int samples_add(struct samples *s, uint64_t value)
{
	int err = make_room(s);

	if (err)
		return err;
	assert(s->buckets ? !s->at : s->n < s->capacity && s->n < SAMPLES_EXACT);
	if (s->buckets)
		s->buckets[bucket_of(value)]++;
	else
		s->at[s->n] = value;
	s->is_sorted = false;
	count(s, 1, value, value, value);
	assert(s->min <= value && value <= s->max);
	return 0;
}

int samples_add_many(struct samples *s, uint64_t value, uint64_t n)
{
	int err = 0;

	if (!s->buckets && s->n + n <= FEW) {
		while (n-- && !err)
			err = samples_add(s, value);
		return err;
	}
	if (!s->buckets && switch_to_buckets(s))
		return -ENOMEM;
	s->buckets[bucket_of(value)] += n;
	count(s, n, value && n > UINT64_MAX / value ? UINT64_MAX : value * n, value, value);
	return 0;
}

int samples_merge(struct samples *to, const struct samples *from)
{
	int err = 0;

	if (!from->buckets) {
		for (uint64_t i = 0; i < from->n && !err; i++)
			err = samples_add(to, from->at[i]);
		return err;
	}
	if (!to->buckets && switch_to_buckets(to))
		return -ENOMEM;
	for (uint32_t i = 0; i < N_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
	count(to, from->n, from->sum, from->min, from->max);
	return 0;
}

void samples_fini(struct samples *s)
{
	free(s->at);
	free(s->buckets);
	*s = (struct samples){ 0 };
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The middle of the first and of the last bucket may lie outside the range of the values. */
static uint64_t within(const struct samples *s, uint64_t v)
{
	return v < s->min ? s->min : v > s->max ? s->max : v;
}

uint64_t samples_percentile(struct samples *s, double percent)
{
	double exact = (double)s->n * percent / 100;
	uint64_t rank = (uint64_t)exact, seen = 0;

	assert(percent > 0 && percent <= 100);
	if (!s->n)
		return 0;
	rank += (double)rank < exact;
	rank = !rank ? 1 : rank > s->n ? s->n : rank;
	if (rank == s->n)
		return s->max;
	if (!s->buckets) {
		if (!s->is_sorted)
			qsort(s->at, s->n, sizeof *s->at, ascending);
		s->is_sorted = true;
		return s->at[rank - 1];
	}
	for (uint32_t i = 0; i < N_BUCKETS; i++) {
		seen += s->buckets[i];
		if (seen >= rank)
			return within(s, middle_of(i));
	}
	return s->max;
}

bool samples_next(struct samples *s, uint64_t *cursor, uint64_t *value, uint64_t *n)
{
	uint64_t i = *cursor;

	if (s->buckets) {
		while (i < N_BUCKETS && !s->buckets[i])
			i++;
		*value = i < N_BUCKETS ? within(s, middle_of((uint32_t)i)) : 0;
		*n = i < N_BUCKETS ? s->buckets[i] : 0;
		*cursor = i + 1;
		return i < N_BUCKETS;
	}
	if (!s->is_sorted && s->n)
		qsort(s->at, s->n, sizeof *s->at, ascending);
	s->is_sorted = true;
	if (i >= s->n)
		return false;
	*value = s->at[i];
	while (i < s->n && s->at[i] == *value)
		i++;
	*n = i - *cursor;
	*cursor = i;
	return true;
}

static int power_of(uint64_t v)
{
	return v ? 63 - __builtin_clzll(v) : 0;
}

void samples_by_power(const struct samples *s, uint64_t counts[64])
{
	memset(counts, 0, 64 * sizeof *counts);
	for (uint64_t i = 0; !s->buckets && i < s->n; i++)
		counts[power_of(s->at[i])]++;
	for (uint32_t i = 0; s->buckets && i < N_BUCKETS; i++)
		counts[power_of(middle_of(i))] += s->buckets[i];
}

/* ---------------------------------------------------------------- the longest */

int slowest_init(struct slowest *s, uint32_t max)
{
	*s = (struct slowest){ .max = max, .at = calloc(max + (size_t)1, sizeof *s->at) };
	return s->at ? 0 : -ENOMEM;
}

static bool is_shorter(const struct slow *a, const struct slow *b)
{
	if (a->duration_ns != b->duration_ns)
		return a->duration_ns < b->duration_ns;
	return a->time_ns > b->time_ns; /* of equal durations the first is kept */
}

static void swap(struct slow *a, struct slow *b)
{
	struct slow c = *a;

	*a = *b;
	*b = c;
}

static void sink(struct slowest *s, uint32_t i)
{
	for (;;) {
		uint32_t least = i;

		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < s->n; child++)
			if (is_shorter(&s->at[child], &s->at[least]))
				least = child;
		if (least == i)
			return;
		swap(&s->at[i], &s->at[least]);
		i = least;
	}
}

void slowest_add(struct slowest *s, const struct slow *one)
{
	uint32_t i = s->n;

	assert(s->n <= s->max);
	if (!s->max || (s->n == s->max && !is_shorter(&s->at[0], one)))
		return;
	if (s->n == s->max) {
		s->at[0] = *one;
		sink(s, 0);
		return;
	}
	s->at[s->n++] = *one;
	for (; i && is_shorter(&s->at[i], &s->at[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&s->at[i], &s->at[(i - 1) / 2]);
}

static int longest_first(const void *a, const void *b)
{
	return is_shorter(a, b) ? 1 : is_shorter(b, a) ? -1 : 0;
}

void slowest_sort(struct slowest *s)
{
	if (s->n)
		qsort(s->at, s->n, sizeof *s->at, longest_first);
}

void slowest_fini(struct slowest *s)
{
	free(s->at);
	*s = (struct slowest){ 0 };
}
