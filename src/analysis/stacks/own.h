/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/own.h - the threads whose call stacks a graph of some processes shows.
 *
 * A recording that follows processes has switches from and to other threads too, with stacks of
 * those.  The set of followed threads is complete only at its end (analysis/coverage.h).
 */
#ifndef ANALYSIS_STACKS_OWN_H
#define ANALYSIS_STACKS_OWN_H

#include "trace/public.h"

struct stacks_own;

/* stacks_own_is_needed - whether an event of the kernel in @t may have the stack of a thread that is
 * not followed. */
bool stacks_own_is_needed(const struct trace *t);

/* stacks_own_open - read all of @t.  Returns 0, or -errno with the reason in @d. */
int stacks_own_open(struct stacks_own **own, struct trace *t, struct diag *d);
void stacks_own_close(struct stacks_own *own); /* accepts NULL */

/* stacks_own_has - whether @e, of the thread @w, is of a followed one.  Events of applications and
 * samples are of followed threads alone.  The trace may be another one of the same recordings. */
bool stacks_own_has(const struct stacks_own *own, const struct trace_event *e,
		    const struct thread_identity *w);

#endif
