/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/scan.h - read the events that triggers wait for while they are recorded.
 *
 * A program writes such an event to its channel and then once more to a separate pool
 * (abi/session.h). So the event that fires a trigger is already where a snapshot will find it, and
 * the collector does not search all recorded data.  The pool is a small ring in overwrite mode that
 * is never drained: the scan reads it a few hundred times a second and counts chunks that were
 * overwritten before.
 *
 * A scan is not atomic: it may see a second event on one CPU and have missed its first event on
 * another.  So events are sorted by time, and events as recent as the scan wait for the next scan.
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

/*
 * trigger_scan_open - scan @pool, whose events carry the context procname.
 *
 * Events already in it are skipped.  @pool and @hits are borrowed.
 */
int trigger_scan_open(struct trigger_scan **s, struct pool *pool, struct trigger_hits *hits,
		      struct diag *d);
void trigger_scan_close(struct trigger_scan *s);

/* trigger_scan - add all new events that @t waits for to the hits. */
void trigger_scan(struct trigger_scan *s, struct triggers *t);

/* Chunks that were overwritten before they were read. */
uint64_t trigger_scan_missed(const struct trigger_scan *s);

#endif
