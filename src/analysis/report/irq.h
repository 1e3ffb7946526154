/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/irq.h - what interrupts cost, and whom.
 *
 * Every interrupt that was seen to begin and to end counts once in a row of its source (or of its
 * source on one CPU); its own time leaves out interrupts that came upon it, so own times add up to
 * the time that CPUs were in interrupts.  Entries that were not seen to end and exits that were not
 * seen to begin are counted apart.  A soft interrupt waits from its first raise on a CPU to its
 * entry there.
 */
#ifndef ANALYSIS_REPORT_IRQ_H
#define ANALYSIS_REPORT_IRQ_H

#include "analysis/irq_stack.h"
#include "analysis/samples.h"

struct irq_row {
	uint32_t source;
	uint32_t cpu; /* by CPU; else TRACE_CPU_UNKNOWN */
	uint64_t own_ns;
	struct samples time;
	struct samples waits; /* soft ones, from raise to entry */
};

struct irq_victim {
	uint32_t thread; /* idle threads are one */
	bool is_idle;
	uint64_t n, own_ns, max_ns;
};

struct irq {
	struct pass run;
	struct irqs irqs;
	struct irq_row *rows; /* most own time first */
	uint32_t n_rows;
	struct irq_victim *victims; /* most first */
	uint32_t n_victims;
	struct slowest slowest; /* what: source; detail: CPU */
	uint64_t n, own_ns;
};

int irq_init(struct irq *q, struct trace *t, const struct pass_range *range, bool by_cpu,
	     uint32_t n_slowest, struct diag *d);
void irq_fini(struct irq *q);

#endif
