/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/spread.h - the durations of many calls of one function, in little memory.
 *
 * Number, sum, least and greatest are exact.  A percentile is the middle of its bucket, of 32 for
 * each doubling: at most 1.6 % from the true value.  Only doublings that occur have buckets, so ten
 * thousand functions fit in some megabytes; struct samples (analysis/samples.h) is more precise and
 * takes 8 MB for a function.
 */
#ifndef ANALYSIS_CALLS_SPREAD_H
#define ANALYSIS_CALLS_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

enum { SPREAD_BUCKETS = 32, SPREAD_SHIFT = 5 };

struct spread {
	uint64_t n, sum, min, max;
	uint64_t *doublings[64]; /* SPREAD_BUCKETS counts each; NULL: none */
};

/* spread_make - the buckets of doubling @i.  NULL: no memory. */
uint64_t *spread_make(struct spread *s, int i);
void spread_fini(struct spread *s);
/* spread_percentile - 0 < @percent <= 100; 0 if there are none. */
uint64_t spread_percentile(const struct spread *s, double percent);
/* spread_merge - 0 or -1: no memory. */
int spread_merge(struct spread *to, const struct spread *from);

static inline int spread_power(uint64_t value)
{
	return value ? 63 - __builtin_clzll(value) : 0;
}

/* Where the buckets of @value's doubling are noted; the bucket of @value, NULL: none yet. */
static inline uint64_t *const *spread_doubling(const struct spread *s, uint64_t value)
{
	return &s->doublings[spread_power(value)];
}

static inline uint64_t *spread_bucket(const struct spread *s, uint64_t value)
{
	int power = spread_power(value);
	uint64_t *counts = s->doublings[power];

	return counts ? counts + (power >= SPREAD_SHIFT ? value >> (power - SPREAD_SHIFT) : value) %
					 SPREAD_BUCKETS
		      : (uint64_t *)0;
}

/* spread_add - a zeroed struct is empty.  Returns false without memory. */
static inline bool spread_add(struct spread *s, uint64_t value)
{
	uint64_t *bucket = spread_bucket(s, value);

	if (__builtin_expect(!bucket, 0)) {
		if (!spread_make(s, spread_power(value)))
			return false;
		bucket = spread_bucket(s, value);
	}
	++*bucket;
	if (value < s->min || !s->n)
		s->min = value;
	if (value > s->max)
		s->max = value;
	s->n++;
	s->sum += value;
	return true;
}

#endif
