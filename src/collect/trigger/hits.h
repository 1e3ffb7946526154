/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/hits.h - events that triggers wait for, on their way from where they were seen to
 * collect/trigger/engine.h: put into the order of their times.
 *
 * Applications are looked at every 2 ms, the kernel every 20 ms; so what is of one half alone need
 * not wait for the other.  A trigger that pairs an event of one half with one of the other is told
 * when both were looked at.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_HITS_H
#define COLLECT_TRIGGER_HITS_H

#include "collect/trigger/engine.h"

enum { TRIGGER_HITS = 4096 };

struct trigger_hits {
	uint32_t n;
	struct trigger_hit at[TRIGGER_HITS];
};

/* trigger_hits_add - room is made by telling the oldest ones: when so many come at once, their
 * order is that in which they were found. */
void trigger_hits_add(struct trigger_hits *h, struct triggers *t, const struct trigger_hit *hit,
		      uint64_t now_ns);

/* trigger_hits_deliver - of those that @t->seen says are complete. */
void trigger_hits_deliver(struct trigger_hits *h, struct triggers *t, uint64_t now_ns);

#endif
