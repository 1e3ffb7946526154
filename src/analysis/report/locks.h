/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/locks.h - waits for futexes: where, how long, and who ended them.
 *
 * What the kernel sees of locks: an uncontended one makes no system call.  A wait is a futex call
 * that waits, from its entry to its exit, with nothing lost between; one that found the value
 * changed (EAGAIN) did not wait and is counted apart.  Calls = waits + changed + open.  Its waker
 * is the thread that asked to wake it (sched_waking) last; for a mutex that is who held it.
 * Addresses are those of a process; a futex in memory that processes share has one in each.
 */
#ifndef ANALYSIS_REPORT_LOCKS_H
#define ANALYSIS_REPORT_LOCKS_H

#include "analysis/syscalls/calls.h"
#include "analysis/samples.h"

struct lock_row {
	uint32_t process; /* the thread that stands for it */
	uint64_t address;
	bool is_pi;
	struct samples waits;
	uint64_t n_timed_out, n_interrupted; /* of the waits */
	uint64_t n_changed, n_open;
	uint64_t n_wakes, n_woken; /* calls that wake; threads that they say they woke */
};

struct lock_edge {
	uint32_t process;
	uint64_t address;
	uint32_t waiter, waker;
	uint64_t n, ns, max_ns;
};

struct locks {
	struct pass run;
	struct lock_row *rows; /* most waiting first */
	uint32_t n_rows;
	struct lock_edge *edges; /* most waiting first */
	uint32_t n_edges;
	struct samples waits;	/* all */
	struct slowest slowest; /* what: waker or 0; detail: address */
	uint64_t n_calls, n_without_waker;
	bool has_calls, has_wakeups;
};

int locks_init(struct locks *l, struct trace *t, const struct pass_range *range, uint32_t n_slowest,
	       struct diag *d);
void locks_fini(struct locks *l);

#endif
