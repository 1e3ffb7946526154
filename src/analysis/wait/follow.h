/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/follow.h - the states of threads, event by event, for an analysis with a loop of its
 * own.
 *
 * States are those of wait.h.  Its sums and paths are not made here.
 */
#ifndef ANALYSIS_WAIT_FOLLOW_H
#define ANALYSIS_WAIT_FOLLOW_H

#include "analysis/wait/wait.h"

struct wait_follow;

struct wait_view {
	uint8_t state; /* enum wait_state; WAIT_GONE */
	bool in_call;  /* a system call; `call` may be unknown */
	uint32_t call; /* plus 1; 0: none, or one that began before the recording */
	uint32_t cpu;  /* plus 1, while it runs: as pass_cpu() numbers them */
};

/* wait_follow_open - prepare for @t.  Returns 0 or -errno, with the reason in @d. */
int wait_follow_open(struct wait_follow **f, struct trace *t, const struct pass_range *range,
		     struct diag *d);
void wait_follow_close(struct wait_follow *f); /* accepts NULL */

/* The pass to read with (pass_next), and what it found: calls, interrupts, devices. */
struct pass *wait_follow_pass(struct wait_follow *f);
const struct wait_analysis *wait_follow_known(const struct wait_follow *f);

/* wait_follow_event, wait_follow_lost - feed every event and loss.  Return 0 or -ENOMEM. */
int wait_follow_event(struct wait_follow *f, const struct trace_event *e, uint32_t thread);
int wait_follow_lost(struct wait_follow *f, const struct trace_event *e);

/* wait_follow_changed - the threads whose state the last event may have changed. */
const uint32_t *wait_follow_changed(const struct wait_follow *f, uint32_t *n);

/* wait_follow_view - the state of @thread now. */
struct wait_view wait_follow_view(const struct wait_follow *f, uint32_t thread);

/* wait_follow_reason - the wait of @thread that its wakeup ended, or that goes on: the call around
 * it, its end's cause.  NULL: it does not wait. */
const struct wait_interval *wait_follow_reason(const struct wait_follow *f, uint32_t thread);

#endif
