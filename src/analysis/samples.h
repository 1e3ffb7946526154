/* SPDX-License-Identifier: MIT */
/*
 * analysis/samples.h - many durations: count, sum, percentiles; and the longest few.
 *
 * Up to SAMPLES_EXACT values are kept, and percentiles are exact (nearest rank: the least value
 * that at least p per cent of all do not exceed). More values go to buckets, 128 for each doubling,
 * and a percentile is the middle of its bucket: at most 0.4 % from the true value. Count, sum,
 * least and greatest are always exact. After Gil Tene's HdrHistogram.
 */
#ifndef ANALYSIS_SAMPLES_H
#define ANALYSIS_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLES_EXACT = 1 << 20 };

struct samples {
	uint64_t n, sum, min, max;
	uint64_t *at; /* while exact */
	uint32_t capacity;
	bool is_sorted;
	uint64_t *buckets; /* afterwards */
};

/* A zeroed struct is empty. These return 0 or -ENOMEM. */
int samples_add(struct samples *s, uint64_t value);
/* samples_add_many - @n times the same value, at once: percentiles may be those of buckets then. */
int samples_add_many(struct samples *s, uint64_t value, uint64_t n);
int samples_merge(struct samples *to, const struct samples *from);
void samples_fini(struct samples *s);

/* samples_percentile - 0 < @percent <= 100; 0 if there are none. */
uint64_t samples_percentile(struct samples *s, double percent);

static inline bool samples_are_exact(const struct samples *s)
{
	return !s->buckets;
}

/* samples_by_power - the number of values in [2^i, 2^(i+1)), for each i; zeros are counted with
 * 1. */
void samples_by_power(const struct samples *s, uint64_t counts[64]);

/* samples_next - iterate over the values, ascending; *@cursor is 0 at first. Sets a value and its
 * count; returns false at the end. */
bool samples_next(struct samples *s, uint64_t *cursor, uint64_t *value, uint64_t *n);

struct slow {
	uint64_t duration_ns;
	int64_t time_ns; /* when it began */
	uint32_t thread;
	uint32_t subject; /* for the use of the analysis */
	int64_t detail;
};

/* The `max` longest durations; a heap with the shortest first, until slowest_sort(). */
struct slowest {
	struct slow *at;
	uint32_t n, max;
};

int slowest_init(struct slowest *s, uint32_t max);
void slowest_add(struct slowest *s, const struct slow *one);
void slowest_sort(struct slowest *s); /* the longest first */
void slowest_fini(struct slowest *s);

#endif
