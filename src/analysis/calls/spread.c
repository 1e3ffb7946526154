/* SPDX-License-Identifier: MIT */
/* analysis/calls/spread.c - buckets of durations: see spread.h. */
#include "analysis/calls/spread.h"

#include <assert.h>
#include <stdlib.h>

uint64_t *spread_make(struct spread *s, int i)
{
	assert(i >= 0 && i < 64 && !s->doublings[i]);
	s->doublings[i] = calloc(SPREAD_BUCKETS, sizeof *s->doublings[i]);
	return s->doublings[i];
}

void spread_fini(struct spread *s)
{
	for (int i = 0; i < 64; i++)
		free(s->doublings[i]);
	*s = (struct spread){ 0 };
}

/* The middle of a bucket; below 32 a bucket is one value. */
static uint64_t middle(int doubling, int bucket)
{
	uint64_t width;

	if (doubling < SPREAD_SHIFT)
		return (uint64_t)bucket;
	width = 1ull << (doubling - SPREAD_SHIFT);
	return (SPREAD_BUCKETS + (uint64_t)bucket) * width + width / 2;
}

uint64_t spread_percentile(const struct spread *s, double percent)
{
	uint64_t rank = (uint64_t)(percent / 100 * (double)s->n), seen = 0, value;

	assert(percent > 0 && percent <= 100);
	if ((double)rank * 100 < percent * (double)s->n)
		rank++;
	for (int i = 0; i < 64; i++)
		for (int k = 0; s->doublings[i] && k < SPREAD_BUCKETS; k++) {
			seen += s->doublings[i][k];
			if (!s->doublings[i][k] || seen < rank)
				continue;
			value = middle(i, k);
			return value < s->min ? s->min : value > s->max ? s->max : value;
		}
	return s->max;
}

int spread_merge(struct spread *to, const struct spread *from)
{
	if (!from->n)
		return 0;
	for (int i = 0; i < 64; i++) {
		if (!from->doublings[i])
			continue;
		if (!to->doublings[i] && !spread_make(to, i))
			return -1;
		for (int k = 0; k < SPREAD_BUCKETS; k++)
			to->doublings[i][k] += from->doublings[i][k];
	}
	if (!to->n || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
	return 0;
}
