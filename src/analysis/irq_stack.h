/* SPDX-License-Identifier: MIT */
/*
 * analysis/irq_stack.h - interrupts on CPUs: hard interrupts, soft interrupts and vectors, nested.
 *
 * On each CPU they form a stack. An exit ends the innermost interrupt of its source and all
 * interrupts inside that one. An exit without a recorded entry ends nothing. A switch of threads or
 * a loss empties the stack, and the interrupts on it get no duration. (A switch leaves a soft
 * interrupt only in kernels that run it in a thread.)
 */
#ifndef ANALYSIS_IRQ_STACK_H
#define ANALYSIS_IRQ_STACK_H

#include "analysis/event_table.h"

enum irq_kind { IRQ_HARD, IRQ_SOFT, IRQ_VECTOR };
enum { IRQS_NESTED_MAX = 16 };

struct irq_source {
	enum irq_kind kind;
	int64_t number; /* the number of the line or of the soft interrupt; 0 for vectors, which
			 * are identified by name */
	char name[48];
	bool is_named; /* named by an event, not by its number */
};

struct irq_frame {
	uint32_t source;
	int64_t begin_ns;
	uint64_t inner_ns; /* the part of its time that nested interrupts took */
};

struct irq_cpu {
	struct irq_frame stack[IRQS_NESTED_MAX];
	uint32_t depth;
};

struct irqs {
	struct event_table *plans;
	struct irq_source *sources;
	uint32_t n_sources, n_source_rooms;
	struct irq_cpu *cpus; /* as pass_cpu() numbers them */
	uint32_t n_cpus;
	uint64_t n_left;		      /* entries without an exit */
	uint64_t n_headless;		      /* exits without an entry */
	bool has_hard, has_soft, has_vectors; /* recorded */
};

enum irq_stack_is { IRQS_NOTHING, IRQS_BEGIN, IRQS_END, IRQS_RAISE };

struct irq_stack_event {
	enum irq_stack_is is;
	uint32_t source;
	int64_t begin_ns;
	uint64_t ns, own_ns; /* IRQS_END: in all, and without the interrupts inside it */
};

int irq_stack_init(struct irqs *s, const struct pass *r);
/* irq_stack_update - after trace_refresh(): add new classes.  0 or -ENOMEM. */
int irq_stack_update(struct irqs *s, const struct pass *r);
void irq_stack_fini(struct irqs *s);

/* irq_stack_on_event - feed every event; @cpu is the result of pass_cpu(). Returns 0 or -ENOMEM. */
int irq_stack_on_event(struct irqs *s, uint32_t cpu, const struct trace_event *e,
		       struct irq_stack_event *what);
/* irq_stack_name - feed the events of the state dump, also those before the range: they have the
 * names of interrupts. Other events are ignored. Returns 0 or -ENOMEM. */
int irq_stack_name(struct irqs *s, const struct trace_event *e);
/* irq_stack_forget - after a loss: drop the interrupts that are open on all CPUs. */
void irq_stack_forget(struct irqs *s);

/* irq_stack_soft_name - the name of soft interrupt @number; NULL: there is no such number. */
const char *irq_stack_soft_name(int64_t number);

/* irq_stack_on - the innermost interrupt on @cpu; NULL if there is none. */
const struct irq_frame *irq_stack_on(const struct irqs *s, uint32_t cpu);

#endif
