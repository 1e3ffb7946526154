/* SPDX-License-Identifier: MIT */
/*
 * analysis/irq_stack.h - interrupts as they come upon CPUs: hard ones, soft ones and vectors,
 * nested.
 *
 * On each CPU they are a stack.  An exit ends the innermost of its kind and those within it; exits
 * whose entry was not seen end nothing.  A switch of threads, and a loss, empties the stack: what
 * was on it has no duration.  (A soft interrupt may be left by a switch only in kernels that run it
 * in a thread.)
 */
#ifndef ANALYSIS_IRQ_STACK_H
#define ANALYSIS_IRQ_STACK_H

#include "analysis/event_table.h"

enum irq_kind { IRQ_HARD, IRQ_SOFT, IRQ_VECTOR };
enum { IRQS_NESTED_MAX = 16 };

struct irq_source {
	enum irq_kind kind;
	int64_t number; /* of the line, the soft interrupt; vectors: their class */
	char name[48];
	bool is_named; /* by an event; else by its number */
};

struct irq_frame {
	uint32_t source;
	int64_t begin_ns;
	uint64_t inner_ns; /* of it, in others that came upon it */
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
	uint64_t n_left;		      /* never seen to end */
	uint64_t n_headless;		      /* exits whose entry was not seen */
	bool has_hard, has_soft, has_vectors; /* recorded */
};

enum irq_stack_is { IRQS_NOTHING, IRQS_BEGIN, IRQS_END, IRQS_RAISE };

struct irq_stack_event {
	enum irq_stack_is is;
	uint32_t source;
	int64_t begin_ns;
	uint64_t ns, own_ns; /* IRQS_END: in all, and without those within it */
};

int irq_stack_init(struct irqs *s, const struct pass *r);
void irq_stack_fini(struct irqs *s);

/* irq_stack_on_event - feed every event, @cpu is pass_cpu()'s.  Returns 0 or -ENOMEM. */
int irq_stack_on_event(struct irqs *s, uint32_t cpu, const struct trace_event *e,
		       struct irq_stack_event *what);
/* irq_stack_name - events of the state dump, also those before the range: what interrupts are
 * called.  Others do nothing.  Returns 0 or -ENOMEM. */
int irq_stack_name(struct irqs *s, const struct trace_event *e);
/* irq_stack_forget - what was begun on all CPUs is not believed any more. */
void irq_stack_forget(struct irqs *s);

/* irq_stack_soft_name - of a soft interrupt by its number; NULL: there is no such. */
const char *irq_stack_soft_name(int64_t number);

/* irq_stack_on - the innermost interrupt on @cpu; NULL if there is none. */
const struct irq_frame *irq_stack_on(const struct irqs *s, uint32_t cpu);

#endif
