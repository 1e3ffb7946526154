/* SPDX-License-Identifier: MIT */
/*
 * analysis/coverage.h - of which threads a recording holds every switch.
 *
 * `duet record COMMAND` follows some processes.  The kernel then tells of a switch if either side
 * is followed, and of a wakeup if the waker or the woken is: of other threads a recording holds
 * fragments, and what is made of fragments (a wait, a time on a CPU) is wrong.  Nothing in a
 * recording says who is followed, but fragments contradict themselves:
 *
 *   - a thread leaves a CPU on which another was running, or comes to one while it runs elsewhere
 *   - a thread is woken (sched_waking) that already waits for a CPU
 *
 * If that happens more than by accident, only those are believed to whom something happened that is
 * told of followed threads alone: a system call, an exec, an exit; or, if nothing of the kind was
 * recorded, those that never contradict themselves.
 */
#ifndef ANALYSIS_COVERAGE_H
#define ANALYSIS_COVERAGE_H

#include "analysis/pass.h"

struct coverage_thread {
	bool is_contradictory; /* contradicted itself */
	bool has_own;	       /* what only followed threads have */
	bool waits;
	bool meets_idle;
	uint32_t cpu; /* where it runs, plus 1 */
};

struct coverage_cpu {
	const struct trace_source *source;
	uint32_t cpu;
	uint32_t thread; /* that runs there, plus 1; 0: unknown */
};

struct coverage_plan;

struct coverage {
	struct coverage_plan *plans; /* by class */
	struct coverage_thread *threads;
	struct coverage_cpu *cpus;
	uint32_t n_threads, n_cpus, n_cpu_rooms;
	uint64_t n_switches, n_contradictions; /* contradictions */
	const struct trace_source *scoped; /* the kernel's half whose scope was asked for last */
	bool reported;			   /* the recording says itself what it follows: */
	bool is_followed;		   /* some processes only */
	bool is_partial;    /* after coverage_finalize(): some threads are not followed */
	bool has_own_kinds; /* so has_own means something */
};

int coverage_init(struct coverage *f, const struct pass *r);
void coverage_fini(struct coverage *f);

/* coverage_on_event, coverage_lost - feed everything.  Returns the index of the CPU in `cpus`, or
 * -ENOMEM. */
int64_t coverage_on_event(struct coverage *f, struct pass *r, const struct trace_event *e,
			  uint32_t thread);
int64_t coverage_lost(struct coverage *f, const struct trace_event *e);

/* coverage_finalize - judge, at the end. */
void coverage_finalize(struct coverage *f);

/* coverage_is_complete - then: whether all of @thread's switches are there. */
bool coverage_is_complete(const struct coverage *f, uint32_t thread);

#endif
