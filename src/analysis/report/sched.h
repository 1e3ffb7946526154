/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/sched.h - waits of threads for a CPU.
 *
 * A runnable thread waits from its wakeup (sched_waking, else sched_wakeup) to its switch-in, or
 * from the switch that preempts it to its next switch-in. A wakeup of a thread that runs or already
 * waits begins nothing. A wait during which events may be lost is dropped and counted. Threads
 * without all their switches (analysis/coverage.h) are left out.
 */
#ifndef ANALYSIS_REPORT_SCHED_H
#define ANALYSIS_REPORT_SCHED_H

#include "analysis/coverage.h"
#include "analysis/samples.h"

enum sched_wait { SCHED_WOKEN, SCHED_PREEMPTED };

struct sched_row {
	uint32_t thread;     /* or the leader of its process */
	uint64_t n_switches; /* to it */
	uint64_t n_preempted;
	uint64_t n_migrations;
	struct samples woken;	  /* waits after a wakeup */
	struct samples preempted; /* waits after a preemption */
	struct slowest slowest;
};

struct sched {
	struct pass run;
	struct sched_row *rows; /* longest sum of waits first; without idle threads */
	uint32_t n_rows;
	struct sched_row all;
	struct slowest slowest; /* subject: enum sched_wait; detail: the CPU on which it ran */
	uint64_t n_switches, n_wakeups;
	uint64_t n_cut;	     /* waits dropped because of a loss */
	uint64_t n_left_out; /* threads without all their switches */
};

/* sched_init - read the events of @t in @range (NULL: all); @t must outlive the result. Returns 0
 * or -errno. */
int sched_init(struct sched *s, struct trace *t, const struct pass_range *range, bool by_process,
	       uint32_t n_slowest, struct diag *d);
void sched_fini(struct sched *s);

#endif
