/* SPDX-License-Identifier: MIT */
/*
 * analysis/coverage.h - the threads for which a recording holds every switch.
 *
 * `duet record COMMAND` follows some processes. The kernel then records a switch if either thread
 * is followed, and a wakeup if the waker or the woken thread is. Of other threads a recording holds
 * fragments, and a result that is computed from fragments (a wait, a time on a CPU) is wrong. A
 * recording of another tracer does not state which threads are followed, but fragments contradict
 * themselves:
 *
 *   - a thread leaves a CPU on which another was running, or comes to one while it runs elsewhere
 *   - a thread is woken (sched_waking) that already waits for a CPU
 *
 * If contradictions are more than accidents, only some threads count as complete: those with an
 * event that is recorded for followed threads alone (a system call, an exec, an exit). If no such
 * event was recorded, those that never contradict themselves count as complete.
 *
 * A recording of duet states that it follows processes.  Its state dump has files and mappings of
 * those alone; a thread is followed if its process is.
 */
#ifndef ANALYSIS_COVERAGE_H
#define ANALYSIS_COVERAGE_H

#include "analysis/pass.h"

struct coverage_thread {
	bool is_contradictory;
	bool has_own; /* has an event that only followed threads have */
	bool waits;
	bool meets_idle;
	uint32_t cpu; /* where it runs, plus 1 */
};

struct coverage_cpu {
	const struct trace_source *source;
	uint32_t cpu;
	uint32_t thread; /* the thread that runs there, plus 1; 0: unknown */
};

struct coverage_plan;

struct coverage {
	struct coverage_plan *plans; /* by class */
	struct coverage_thread *threads;
	struct coverage_cpu *cpus;
	uint32_t n_threads, n_cpus, n_cpu_rooms, last;
	uint64_t n_switches, n_contradictions;
	const struct trace_source *scoped; /* the kernel source whose scope was read last */
	bool is_stated;			   /* the recording states what it follows: */
	bool is_followed;		   /* some processes only */
	bool is_partial;    /* after coverage_finalize(): some threads are not followed */
	bool has_own_kinds; /* has_own is meaningful */
};

int coverage_init(struct coverage *f, const struct pass *r);
/* coverage_update - after trace_refresh(): add new classes.  0 or -ENOMEM. */
int coverage_update(struct coverage *f, const struct pass *r);
void coverage_fini(struct coverage *f);

/* coverage_on_event, coverage_lost - feed every event and every loss. Returns the index of the CPU
 * in `cpus`, or -ENOMEM. */
int64_t coverage_on_event(struct coverage *f, struct pass *r, const struct trace_event *e,
			  uint32_t thread);
int64_t coverage_lost(struct coverage *f, const struct trace_event *e);

/* coverage_has_own - whether @thread already had an event that only followed threads have. */
static inline bool coverage_has_own(const struct coverage *f, uint32_t thread)
{
	return f->has_own_kinds && thread < f->n_threads && f->threads[thread].has_own;
}

/* coverage_finalize - decide, after the last event.  @r: its threads know their processes.  0 or
 * -ENOMEM. */
int coverage_finalize(struct coverage *f, struct pass *r);

/* coverage_is_complete - after coverage_finalize(): whether the recording has all switches of
 * @thread. */
bool coverage_is_complete(const struct coverage *f, uint32_t thread);

#endif
