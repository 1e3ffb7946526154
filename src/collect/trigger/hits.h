/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/hits.h - events that triggers wait for, sorted by time on their way from the
 * scans to collect/trigger/engine.h.
 *
 * Application events are scanned every 2 ms, kernel events every 20 ms.  A hit of a trigger that
 * uses only one of the two does not wait for the other.  A trigger that pairs an application event
 * with a kernel event gets both after both scans have passed that time.
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

/*
 * trigger_hits_add - add one hit.
 *
 * If the buffer is full, it delivers all hits first; their order is then only as good as the
 * scan's.
 */
void trigger_hits_add(struct trigger_hits *h, struct triggers *t, const struct trigger_hit *hit,
		      uint64_t now_ns);

/* trigger_hits_deliver - deliver the hits that triggers_scanned_ns says are complete. */
void trigger_hits_deliver(struct trigger_hits *h, struct triggers *t, uint64_t now_ns);

#endif
