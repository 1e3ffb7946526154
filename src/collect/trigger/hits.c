/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/hits.c - sort hits by time and deliver those that can no longer be preceded by
 * another one.
 */
#include "collect/trigger/hits.h"

#include <assert.h>
#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
	const struct trigger_hit *x = a, *y = b;

	if (x->facts.time_ns != y->facts.time_ns)
		return x->facts.time_ns < y->facts.time_ns ? -1 : 1;
	return y->is_second -
	       x->is_second; /* an event that is both second and first ends a pair before it
			      * begins one */
}

static bool is_complete(const struct triggers *t, const struct trigger_hit *hit)
{
	return hit->facts.time_ns < triggers_scanned_ns(t, hit->slot);
}

static void deliver(struct trigger_hits *h, struct triggers *t, bool all, uint64_t now_ns)
{
	uint32_t n_left = 0;

	qsort(h->at, h->n, sizeof *h->at, compare_times);
	for (uint32_t i = 0; i < h->n; i++)
		if (all || is_complete(t, &h->at[i]))
			triggers_event(t, &h->at[i], now_ns);
		else
			h->at[n_left++] = h->at[i];
	h->n = n_left;
}

void trigger_hits_add(struct trigger_hits *h, struct triggers *t, const struct trigger_hit *hit,
		      uint64_t now_ns)
{
	assert(h->n <= TRIGGER_HITS);
	if (h->n == TRIGGER_HITS)
		deliver(h, t, true, now_ns);
	h->at[h->n++] = *hit;
}

void trigger_hits_deliver(struct trigger_hits *h, struct triggers *t, uint64_t now_ns)
{
	deliver(h, t, false, now_ns);
}
