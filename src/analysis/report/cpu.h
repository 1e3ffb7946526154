/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/cpu.h - whose the CPUs were.
 *
 * From sched_switch: a CPU is its `next` thread's until the next switch there.  Before the first
 * switch it was that one's `prev`, since the kernel's first event; the last one keeps it to the
 * end. From the entries and exits of interrupts, soft interrupts and vectors: time taken from
 * whoever ran, each by the innermost; it counts as the thread's too, as in the kernel's own
 * accounts.
 *
 * For each CPU: busy + idle + others + unknown = the time recorded.  Others are threads that the
 * recording does not follow (analysis/coverage.h); in such a recording idle may hide them as well.
 * Unknown is the time from a loss to the next switch, and before it from the last; and unseen time:
 * between two switches of a CPU of which the second takes away another thread than the first
 * brought. Where not everything is followed unseen time counts as others'.
 */
#ifndef ANALYSIS_REPORT_CPU_H
#define ANALYSIS_REPORT_CPU_H

#include "analysis/coverage.h"
#include "analysis/devices.h"

struct cpu_row { /* a thread, or the sum of a process's */
	uint32_t thread;
	uint64_t ns;	      /* on CPUs */
	uint64_t irq_ns;      /* of it, in interrupts */
	uint64_t n_switches;  /* to it */
	uint32_t first_share; /* while reading */
};

struct cpu_one {
	uint32_t cpu;
	uint64_t busy_ns, idle_ns, others_ns, unknown_ns;
	uint64_t unseen_ns;	     /* part of others or unknown */
	uint64_t irq_ns, softirq_ns; /* of all that */
	uint64_t n_irqs, n_softirqs, n_switches;
};

struct cpu {
	struct pass run;
	struct cpu_row *rows; /* most time first; without idle threads and those not followed */
	uint32_t n_rows;
	struct cpu_one *cpus; /* by number */
	uint32_t n_cpus;
	struct devices machine;
	uint64_t duration_ns; /* of the kernel's recording */
	uint64_t n_switches, n_irqs;
	uint64_t n_unseen; /* places where a switch is missing */
	bool is_partial;
};

/* cpu_init - read what of @t lies in @range (NULL: all); @t must outlive the result.  Returns 0 or
 * -errno. */
int cpu_init(struct cpu *c, struct trace *t, const struct pass_range *range, bool by_process,
	     struct diag *d);
void cpu_fini(struct cpu *c);

#endif
