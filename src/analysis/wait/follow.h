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
	uint8_t state;	  /* enum wait_state; WAIT_GONE */
	bool in_call;	  /* a system call; `call` may be unknown */
	uint32_t call;	  /* plus 1; 0: none, or one that began before the recording */
	uint32_t cpu;	  /* plus 1, while it runs: as pass_cpu() numbers them */
	int64_t begin_ns; /* of the state */
};

/* A state that is over.  It may differ from what wait_follow_view() returned meanwhile: an event that
 * contradicts a state, or shows what it was, changes it back to its begin. */
struct wait_closed {
	uint32_t thread;
	uint8_t state; /* never WAIT_GONE */
	int64_t begin_ns, end_ns;
};

/* wait_follow_open - prepare for @t.  Returns 0 or -errno, with the reason in @d. */
int wait_follow_open(struct wait_follow **f, struct trace *t, const struct pass_range *range,
		     struct diag *d);
void wait_follow_close(struct wait_follow *f); /* accepts NULL */

/* wait_follow_update - after trace_refresh(): learn new classes and sources.  Returns 0 or -errno, with
 * the reason in @d. */
int wait_follow_update(struct wait_follow *f, struct diag *d);

/* wait_follow_spare - calls of wait_follow_reason() need no arguments. */
void wait_follow_spare(struct wait_follow *f);

/* wait_follow_names - calls have objects with names (wait_follow_known()->objects).  @paths: the
 * recordings, borrowed.  Before the first event, and not with wait_follow_spare().  0 or -ENOMEM, with
 * the reason in @d. */
int wait_follow_names(struct wait_follow *f, const char *const *paths, int n_paths, struct diag *d);

/* The pass to read with (pass_next), and what it found: calls, interrupts, devices. */
struct pass *wait_follow_pass(struct wait_follow *f);
const struct wait_analysis *wait_follow_known(const struct wait_follow *f);

/* wait_follow_event, wait_follow_lost - feed every event and loss.  Return 0 or -ENOMEM. */
int wait_follow_event(struct wait_follow *f, const struct trace_event *e, uint32_t thread);
int wait_follow_lost(struct wait_follow *f, const struct trace_event *e);

/*
 * wait_follow_call - the same as wait_follow_event() for most system calls, several times as fast.
 *
 * If @e is entry or exit of a call by the thread that runs on its CPU, and nothing contradicts that,
 * @closed is the state that ended, and the thread is in state @state from @closed->end_ns on.  Else it
 * returns false and changes nothing.  Needs wait_follow_spare().
 */
bool wait_follow_call(struct wait_follow *f, const struct trace_event *e, uint32_t thread,
		      struct wait_closed *closed, uint8_t *state);

/* wait_follow_changed - the threads whose state the last event may have changed. */
const uint32_t *wait_follow_changed(const struct wait_follow *f, uint32_t *n);

/* wait_follow_closed - the states that the last event ended, in order.  Together with the open states
 * they are what wait_init() adds up. */
const struct wait_closed *wait_follow_closed(const struct wait_follow *f, uint32_t *n);

/* wait_follow_irq - what the last event was for the interrupts of its CPU. */
const struct irq_stack_event *wait_follow_irq(const struct wait_follow *f);

/* wait_follow_is_complete - whether the recording has all switches of @thread, as far as it was known
 * at the last wait_follow_weigh() (analysis/coverage.h), which returns 0 or -ENOMEM. */
int wait_follow_weigh(struct wait_follow *f);
bool wait_follow_is_complete(const struct wait_follow *f, uint32_t thread);

/* wait_follow_view - the state of @thread now. */
struct wait_view wait_follow_view(const struct wait_follow *f, uint32_t thread);

/* wait_follow_reason - the wait of @thread that its wakeup ended, or that goes on: the call around
 * it, its end's cause.  NULL: it does not wait. */
const struct wait_interval *wait_follow_reason(const struct wait_follow *f, uint32_t thread);

#endif
