/* SPDX-License-Identifier: MIT */
/*
 * values/quantile.c - the distribution of many values, negative ones too.
 *
 * Up to EXACT values are kept, and quantiles are exact (nearest rank).  More go to counts: 128
 * buckets for each doubling, which exist once a value of that doubling was seen.  A quantile is
 * the middle of its bucket then: at most 0.4 % from the true value.  After Gil Tene's HdrHistogram,
 * as analysis/samples.h; that one keeps a million values exact, too many for each key of an array.
 */
#include <errno.h>
#include <stdlib.h>

#include "script/values/internal.h"

enum { EXACT = 128, SUB_BITS = 7, SUB = 1 << SUB_BITS, N_GROUPS = 64 - SUB_BITS + 1 };

struct quantiles {
	uint64_t n;
	int64_t min, max;
	int64_t exact[EXACT];
	bool has_counts;
	uint64_t *counts[2][N_GROUPS]; /* of values below zero, of others; SUB each */
};

struct quantiles *quantiles_new(struct script_values *v)
{
	struct quantiles *q = values_take(v, sizeof *q);

	if (q)
		*q = (struct quantiles){ .min = INT64_MAX, .max = INT64_MIN };
	return q;
}

void quantiles_free(struct script_values *v, struct quantiles *q)
{
	if (!q)
		return;
	for (int i = 0; i < 2 * N_GROUPS; i++)
		values_give(v, q->counts[i / N_GROUPS][i % N_GROUPS], SUB * sizeof(uint64_t));
	values_give(v, q, sizeof *q);
}

/* Group 0 has a bucket for each value below SUB, group g those of one doubling. */
static uint64_t *bucket_of(struct script_values *v, struct quantiles *q, int64_t value)
{
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
	int power = magnitude < SUB ? SUB_BITS - 1 : 63 - __builtin_clzll(magnitude);
	int group = power - SUB_BITS + 1;
	uint64_t **counts = &q->counts[value >= 0][group];

	if (!*counts) {
		*counts = values_take(v, SUB * sizeof **counts);
		if (!*counts)
			return NULL;
		memset(*counts, 0, SUB * sizeof **counts);
	}
	return &(*counts)[(group ? magnitude >> (group - 1) : magnitude) & (SUB - 1)];
}

static int64_t middle_of(bool is_positive, int group, int bucket)
{
	uint64_t magnitude = (uint64_t)bucket;

	if (group) {
		magnitude = (uint64_t)(SUB + bucket) << (group - 1);
		magnitude += group > 1 ? 1ull << (group - 2) : 0;
	}
	if (is_positive)
		return magnitude > INT64_MAX ? INT64_MAX : (int64_t)magnitude;
	return magnitude > INT64_MAX ? INT64_MIN : -(int64_t)magnitude;
}

static int switch_to_counts(struct script_values *v, struct quantiles *q)
{
	for (int i = 0; i < EXACT; i++) /* all rooms first: a failure changes nothing */
		if (!bucket_of(v, q, q->exact[i]))
			return -ENOMEM;
	for (int i = 0; i < EXACT; i++)
		++*bucket_of(v, q, q->exact[i]);
	q->has_counts = true;
	return 0;
}

int quantiles_add(struct script_values *v, struct quantiles *q, int64_t value)
{
	if (q->n < EXACT) {
		q->exact[q->n] = value;
	} else {
		uint64_t *bucket = bucket_of(v, q, value);

		if (!bucket || (!q->has_counts && switch_to_counts(v, q)))
			return -ENOMEM;
		++*bucket;
	}
	q->n++;
	q->min = value < q->min ? value : q->min;
	q->max = value > q->max ? value : q->max;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Groups and buckets in ascending order of values: negative ones from the greatest magnitude. */
static int64_t by_counts(const struct quantiles *q, uint64_t rank)
{
	for (int i = 0; i < 2 * N_GROUPS; i++) {
		bool is_positive = i >= N_GROUPS;
		int group = is_positive ? i - N_GROUPS : N_GROUPS - 1 - i;
		const uint64_t *counts = q->counts[is_positive][group];

		for (int k = 0; counts && k < SUB; k++) {
			int bucket = is_positive ? k : SUB - 1 - k;
			int64_t middle;

			if (counts[bucket] < rank) {
				rank -= counts[bucket];
				continue;
			}
			middle = middle_of(is_positive, group, bucket);
			return middle < q->min ? q->min : middle > q->max ? q->max : middle;
		}
	}
	return q->max;
}

int64_t quantiles_get(struct quantiles *q, int64_t per_cent)
{
	uint64_t whole = 100;
	unsigned __int128 product;
	uint64_t rank;

	if (!q->n)
		return 0;
	if (per_cent <= 0)
		return q->min;
	while (whole < (uint64_t)per_cent && whole < 1000000)
		whole *= 10;
	if ((uint64_t)per_cent >= whole)
		return q->max;
	product = (unsigned __int128)q->n * (uint64_t)per_cent;
	rank = (uint64_t)((product + whole - 1) / whole);
	if (q->has_counts)
		return by_counts(q, rank);
	qsort(q->exact, q->n, sizeof *q->exact, ascending);
	return q->exact[rank - 1];
}
