/* SPDX-License-Identifier: MIT */
/*
 * collect/catch_up.h - give a tenant collector that starts later than the session all
 * changes made to the session so far.
 *
 * A command sends its request to the main collector first, and lists the tenant collectors then.  A
 * tenant collector that copies the main session's state once more after it can be found therefore
 * misses no change.  It may receive a request for a change it has copied already; that does no
 * harm.
 *
 * Rules come from the session's file, which is replaced atomically.  Filters and triggers come from
 * the memory that outlives the main collector (struct handover).  A trigger has the same number in
 * all collectors.  Triggers on kernel events exist only in the main collector, which records the
 * kernel.
 *
 * One thread.  Must run before the collector enters its sandbox (collect/tenant/sandbox.h).
 */
#ifndef COLLECT_CATCH_UP_H
#define COLLECT_CATCH_UP_H

#include "collect/collector.h"

/*
 * catch_up_run - copy the main session's filters, rules and triggers.
 *
 * Returns 0 or -errno.  A trigger that does not fit here is noted in the result.  Does nothing if
 * the main session is ending.
 */
int catch_up_run(struct collector *c, struct diag *d);

#endif
