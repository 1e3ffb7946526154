/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/locks.h - waits for futexes: name, duration, and the thread that ended them.
 *
 * The kernel sees contended locks only: an uncontended lock makes no system call. A wait is a futex
 * call that waits, from its entry to its exit, with no loss between them. A call that found the
 * value changed (EAGAIN) did not wait and is counted apart. Calls = waits + changed + open. The
 * waker is the last thread that woke it (sched_waking); for a mutex that is its former owner.
 * A futex belongs to a process; one in shared memory is another one in each process.  Two locks that
 * were at one address, one after the other, are two futexes if they have different names.
 */
#ifndef ANALYSIS_REPORT_LOCKS_H
#define ANALYSIS_REPORT_LOCKS_H

#include "analysis/names/objects.h"
#include "analysis/samples.h"

struct lock_row {
	uint32_t process; /* the leader */
	uint32_t futex;	  /* of `objects` */
	bool is_pi;
	struct samples waits;
	uint64_t n_timed_out, n_interrupted; /* part of the waits */
	uint64_t n_changed, n_open;
	uint64_t n_wakes, n_woken; /* calls that wake; threads woken by them, from their results */
};

struct lock_edge {
	uint32_t process;
	uint32_t futex;
	uint32_t waiter, waker;
	uint64_t n, ns, max_ns;
};

struct locks {
	struct pass run;
	struct objects objects; /* names of the futexes */
	struct lock_row *rows;	/* most waiting first */
	uint32_t n_rows;
	struct lock_edge *edges; /* most waiting first */
	uint32_t n_edges;
	struct samples waits;	/* all */
	struct slowest slowest; /* subject: waker or 0; detail: futex */
	uint64_t n_calls, n_without_waker;
	bool has_calls, has_wakeups;
};

struct locks_options {
	uint32_t n_slowest;
	const char *const *paths; /* directories of the recordings, for names; may be none */
	int n_paths;
};

int locks_init(struct locks *l, struct trace *t, const struct pass_range *range,
	       const struct locks_options *o, struct diag *d);
void locks_fini(struct locks *l);

#endif
