/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/scan.h - the events that triggers wait for, read as they are recorded.
 *
 * Programs write such an event where it belongs, and then once more into a pool of its own
 * (abi/session.h): so what fires a trigger is already where a snapshot will find it, and nobody
 * looks through all that is recorded.  That pool is a small flight recorder that nobody drains: the
 * scan only reads, a few hundred times a second; what was overwritten before it came is counted.
 *
 * A scan is not atomic: it may see B on one CPU and have missed its A on another.  So events are
 * sorted, and those as young as the scan wait for the next one.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_SCAN_H
#define COLLECT_TRIGGER_SCAN_H

#include <stdint.h>

#include "base/diag.h"
#include "collect/trigger/hits.h"
#include "ring/pool.h"

struct trigger_scan;

/* trigger_scan_open - of the pool, whose events have the context procname.  What is there already
 * is passed over.  Both are lent. */
int trigger_scan_open(struct trigger_scan **s, struct pool *pool, struct trigger_hits *hits,
		      struct diag *d);
void trigger_scan_close(struct trigger_scan *s);

/* trigger_scan - put all that is new and waited for by @t into the hits. */
void trigger_scan(struct trigger_scan *s, struct triggers *t);

/* Chunks that were overwritten before they were read. */
uint64_t trigger_scan_missed(const struct trigger_scan *s);

#endif
