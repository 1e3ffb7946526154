/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/cpu.h - the use of CPUs by threads, processes and interrupts.
 *
 * From sched_switch: a CPU belongs to the `next` thread until its next switch. Before its first
 * switch it belonged to the `prev` of that switch, since the first event of the kernel; after its
 * last switch it belongs to that thread until the end. From entries and exits of interrupts, soft
 * interrupts and vectors: time taken from the running thread, each charged to the innermost; it
 * counts as time of the thread too, as in the kernel's own accounts.
 *
 * For each CPU: busy + idle + others + unknown = the recorded time. Others are threads that the
 * recording does not follow (analysis/coverage.h); in such a recording idle time may hide them too.
 * Unknown is the time from a loss to the next switch, and before it from the last switch. Unknown
 * is also unseen time: between two switches of a CPU if the second takes away another thread than
 * the first brought. If the recording does not follow every thread, unseen time counts as others.
 */
#ifndef ANALYSIS_REPORT_CPU_H
#define ANALYSIS_REPORT_CPU_H

#include "analysis/coverage.h"
#include "analysis/devices.h"

struct cpu_row { /* a thread, or the sum over a process */
	uint32_t thread;
	uint64_t ns;	      /* on CPUs */
	uint64_t irq_ns;      /* part of it in interrupts */
	uint64_t n_switches;  /* to it */
	uint32_t first_share; /* during the pass */
};

struct cpu_one {
	uint32_t cpu;
	uint64_t busy_ns, idle_ns, others_ns, unknown_ns;
	uint64_t unseen_ns;	     /* part of others or unknown */
	uint64_t irq_ns, softirq_ns; /* part of the above */
	uint64_t n_irqs, n_softirqs, n_switches;
};

struct cpu {
	struct pass run;
	struct cpu_row *rows; /* most time first; without idle threads and those not followed */
	uint32_t n_rows;
	struct cpu_one *cpus; /* by number */
	uint32_t n_cpus;
	struct devices machine;
	uint64_t duration_ns; /* from the first to the last kernel event */
	uint64_t n_switches, n_irqs;
	uint64_t n_unseen; /* places where a switch is missing */
	bool is_partial;
};

/* cpu_init - read the events of @t in @range (NULL: all); @t must outlive the result. Returns 0 or
 * -errno. */
int cpu_init(struct cpu *c, struct trace *t, const struct pass_range *range, bool by_process,
	     struct diag *d);
void cpu_fini(struct cpu *c);

#endif
