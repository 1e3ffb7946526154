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

/* spread_add - a zeroed struct is empty.  Returns false without memory. */
static inline bool spread_add(struct spread *s, uint64_t value)
{
	int doubling = value ? 63 - __builtin_clzll(value) : 0;
	unsigned bucket =
		(unsigned)(doubling >= SPREAD_SHIFT ? value >> (doubling - SPREAD_SHIFT) : value) %
		SPREAD_BUCKETS;
	uint64_t *counts = s->doublings[doubling];

	if (__builtin_expect(!counts, 0)) {
		counts = spread_make(s, doubling);
		if (!counts)
			return false;
	}
	counts[bucket]++;
	if (value < s->min || !s->n)
		s->min = value;
	if (value > s->max)
		s->max = value;
	s->n++;
	s->sum += value;
	return true;
}

#endif
