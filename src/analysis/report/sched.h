/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/sched.h - who waited for a CPU, and how long.
 *
 * A thread that can run waits from its wakeup (sched_waking, else sched_wakeup) to its switch-in,
 * or from the switch that preempted it to the next that lets it go on.  A wakeup of a thread that
 * runs, or waits already, begins nothing.  A wait that something lost might lie in is dropped, and
 * counted. Threads whose switches are not all there (analysis/coverage.h) are left out.
 */
#ifndef ANALYSIS_REPORT_SCHED_H
#define ANALYSIS_REPORT_SCHED_H

#include "analysis/coverage.h"
#include "analysis/samples.h"

enum sched_wait { SCHED_WOKEN, SCHED_PREEMPTED };

struct sched_row {
	uint32_t thread;     /* or what stands for its process */
	uint64_t n_switches; /* in */
	uint64_t n_preempted;
	uint64_t n_migrations;
	struct samples woken;	  /* waits after a wakeup */
	struct samples preempted; /* waits after a preemption */
	struct slowest slowest;
};

struct sched {
	struct pass run;
	struct sched_row *rows; /* longest wait in all first; idle threads left out */
	uint32_t n_rows;
	struct sched_row all;
	struct slowest slowest; /* what: enum sched_wait; detail: the CPU it got */
	uint64_t n_switches, n_wakeups;
	uint64_t n_cut;	     /* waits dropped because something was lost meanwhile */
	uint64_t n_left_out; /* threads whose switches are not all there */
};

/* sched_init - read what of @t lies in @range (NULL: all); @t must outlive the result.  Returns 0
 * or -errno. */
int sched_init(struct sched *s, struct trace *t, const struct pass_range *range, bool by_process,
	       uint32_t n_slowest, struct diag *d);
void sched_fini(struct sched *s);

#endif
