/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/irq.h - the cost of interrupts, and the threads that they interrupt.
 *
 * Every interrupt with an entry and an exit counts once in the row of its source (or of its source
 * on one CPU). Its own time leaves out nested interrupts, so own times add up to the time that CPUs
 * spent in interrupts. Entries without an exit and exits without an entry are counted apart. A soft
 * interrupt waits from its first raise on a CPU to its entry there.
 */
#ifndef ANALYSIS_REPORT_IRQ_H
#define ANALYSIS_REPORT_IRQ_H

#include "analysis/irq_stack.h"
#include "analysis/samples.h"

struct irq_row {
	uint32_t source;
	uint32_t cpu; /* the CPU, if grouped by CPU; else TRACE_CPU_UNKNOWN */
	uint64_t own_ns;
	struct samples time;
	struct samples waits; /* soft interrupts, from raise to entry */
};

struct irq_victim {
	uint32_t thread; /* all idle threads are one row */
	bool is_idle;
	uint64_t n, own_ns, max_ns;
};

struct irq {
	struct pass run;
	struct irqs irqs;
	struct irq_row *rows; /* most own time first */
	uint32_t n_rows;
	struct irq_victim *victims; /* most own time first */
	uint32_t n_victims;
	struct slowest slowest; /* subject: source; detail: CPU */
	uint64_t n, own_ns;
};

int irq_init(struct irq *q, struct trace *t, const struct pass_range *range, bool by_cpu,
	     uint32_t n_slowest, struct diag *d);
void irq_fini(struct irq *q);

#endif
