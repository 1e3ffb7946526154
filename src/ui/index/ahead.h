/* SPDX-License-Identifier: MIT */
/*
 * ui/index/ahead.h - a recording read by a thread of its own, ahead of the builder.
 *
 * Merging and decoding costs about as much as what the builder does with events, so two processors halve
 * the time.  Events are handed over some hundred at a time.
 *
 * Invariants:
 *   (1) items come as trace_next() returns them, in its order
 *   (2) an item is valid until the next ahead_next()
 *   (3) until ahead_close() nobody else uses the trace
 */
#ifndef UI_INDEX_AHEAD_H
#define UI_INDEX_AHEAD_H

#include "trace/public.h"

struct ahead;

/* ahead_open - begin to read @t.  NULL: no memory or no thread. */
struct ahead *ahead_open(struct trace *t);
void ahead_close(struct ahead *a); /* accepts NULL */

/* ahead_next - the next item, as trace_next().  *@n_damages: of the trace so far. */
int ahead_next(struct ahead *a, const struct trace_event **e, uint64_t *n_damages, struct diag *d);

#endif
