/* SPDX-License-Identifier: MIT */
/* analysis/irq_stack.c - keeps a stack of interrupts for each CPU, and a list of their sources. */
#include "analysis/irq_stack.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum role {
	ROLE_NONE,
	ROLE_HARD_ENTRY,
	ROLE_HARD_EXIT,
	ROLE_SOFT_ENTRY,
	ROLE_SOFT_EXIT,
	ROLE_SOFT_RAISE,
	ROLE_VECTOR_ENTRY,
	ROLE_VECTOR_EXIT,
	ROLE_SWITCH,
	ROLE_NAME
};

static const struct event_table_kind kinds[] = {
	{ "irq_handler_entry", ROLE_HARD_ENTRY, { "irq", "name" } },
	{ "irq_handler_exit", ROLE_HARD_EXIT, { "irq" } },
	{ "irq_softirq_entry", ROLE_SOFT_ENTRY, { "vec" } },
	{ "irq_softirq_exit", ROLE_SOFT_EXIT, { "vec" } },
	{ "irq_softirq_raise", ROLE_SOFT_RAISE, { "vec" } },
	{ "x86_irq_vectors_*_entry", ROLE_VECTOR_ENTRY, { NULL } },
	{ "x86_irq_vectors_*_exit", ROLE_VECTOR_EXIT, { NULL } },
	{ "sched_switch", ROLE_SWITCH, { NULL } },
	{ "lttng_statedump_interrupt", ROLE_NAME, { "irq", "action" } },
};

int irq_stack_update(struct irqs *s, const struct pass *r)
{
	struct event_table *plans = event_table_make(r, kinds, sizeof kinds / sizeof *kinds);

	if (!plans)
		return -ENOMEM;
	free(s->plans);
	s->plans = plans;
	s->has_hard = event_table_has(r, s->plans, ROLE_HARD_ENTRY);
	s->has_soft = event_table_has(r, s->plans, ROLE_SOFT_ENTRY);
	s->has_vectors = event_table_has(r, s->plans, ROLE_VECTOR_ENTRY);
	return 0;
}

int irq_stack_init(struct irqs *s, const struct pass *r)
{
	*s = (struct irqs){ 0 };
	return irq_stack_update(s, r);
}

void irq_stack_fini(struct irqs *s)
{
	free(s->plans);
	free(s->sources);
	free(s->cpus);
	*s = (struct irqs){ 0 };
}

/* ---------------------------------------------------------------- names */

const char *irq_stack_soft_name(int64_t number)
{
	/* include/linux/interrupt.h, in the order of their numbers. */
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	return number >= 0 && number < (int64_t)(sizeof names / sizeof *names) ? names[number]
									       : NULL;
}

static void name_soft(struct irq_source *source)
{
	const char *name = irq_stack_soft_name(source->number);

	if (name)
		snprintf(source->name, sizeof source->name, "%s", name);
	else
		snprintf(source->name, sizeof source->name, "softirq %d", (int)source->number);
}

/* "x86_irq_vectors_local_timer_entry" belongs to local_timer. */
static size_t vector_name(const char *class_name, const char **name)
{
	*name = class_name + strlen("x86_irq_vectors_");
	return (size_t)(strrchr(class_name, '_') - *name);
}

static void name_source(struct irq_source *source, const struct event_table *p,
			const struct trace_event *e)
{
	const char *text;
	size_t size;

	if (source->kind == IRQ_SOFT) {
		name_soft(source);
	} else if (source->kind == IRQ_VECTOR) {
		size = vector_name(p->class->name, &text);
		snprintf(source->name, sizeof source->name, "%.*s", (int)size, text);
	} else if (p->field[1] && ctf_event_text(e->ctf, p->field[1], &text, &size) && size) {
		source->is_named = true;
		snprintf(source->name, sizeof source->name, "%.*s", (int)(size < 40 ? size : 40),
			 text);
	} else {
		snprintf(source->name, sizeof source->name, "irq %d", (int)source->number);
	}
}

static bool is_source(const struct irq_source *s, enum irq_kind kind, int64_t number,
		      const struct event_table *p)
{
	const char *name;

	if (s->kind != kind)
		return false;
	if (kind != IRQ_VECTOR)
		return s->number == number;
	return vector_name(p->class->name, &name) == strlen(s->name) &&
	       !memcmp(name, s->name, strlen(s->name));
}

/* The index of the source of @e, which is added if it is new; -ENOMEM. */
static int64_t source_of(struct irqs *s, enum irq_kind kind, const struct event_table *p,
			 const struct trace_event *e)
{
	int64_t number = kind == IRQ_VECTOR ? 0 : pass_number(e, p->field[0], -1);

	for (uint32_t i = 0; i < s->n_sources; i++)
		if (is_source(&s->sources[i], kind, number, p)) {
			if (kind == IRQ_HARD && !s->sources[i].is_named)
				name_source(&s->sources[i], p, e); /* the exit came first and has
								    * no name */
			return i;
		}
	if (pass_grow(&s->sources, &s->n_source_rooms, s->n_sources, sizeof *s->sources))
		return -ENOMEM;
	s->sources[s->n_sources] = (struct irq_source){ .kind = kind, .number = number };
	name_source(&s->sources[s->n_sources], p, e);
	return s->n_sources++;
}

/* ---------------------------------------------------------------- the stack */

static void begin(struct irqs *s, struct irq_cpu *c, uint32_t source, int64_t time_ns)
{
	if (c->depth == IRQS_NESTED_MAX) { /* a depth that no machine reaches: exits were missed */
		s->n_left += c->depth;
		c->depth = 0;
	}
	assert(c->depth < IRQS_NESTED_MAX);
	c->stack[c->depth++] = (struct irq_frame){ .source = source, .begin_ns = time_ns };
}

static void end(struct irqs *s, struct irq_cpu *c, uint32_t source, int64_t time_ns,
		struct irq_stack_event *what)
{
	uint32_t i = c->depth;
	struct irq_frame *f;

	assert(i <= IRQS_NESTED_MAX);
	while (i && c->stack[i - 1].source != source)
		i--;
	if (!i) {
		s->n_headless++;
		return;
	}
	f = &c->stack[i - 1];
	s->n_left += c->depth - i;
	c->depth = i - 1;
	what->is = IRQS_END;
	what->source = source;
	what->begin_ns = f->begin_ns;
	what->ns = time_ns > f->begin_ns ? (uint64_t)time_ns - (uint64_t)f->begin_ns : 0;
	what->own_ns = what->ns > f->inner_ns ? what->ns - f->inner_ns : 0;
	assert(what->own_ns <= what->ns);
	if (c->depth)
		c->stack[c->depth - 1].inner_ns += what->ns;
}

int irq_stack_name(struct irqs *s, const struct trace_event *e)
{
	const struct event_table *p = &s->plans[trace_class_number(e)];

	return p->role == ROLE_NAME && source_of(s, IRQ_HARD, p, e) < 0 ? -ENOMEM : 0;
}

int irq_stack_on_event(struct irqs *s, uint32_t cpu, const struct trace_event *e,
		       struct irq_stack_event *what)
{
	static const struct {
		enum irq_kind kind;
		enum irq_stack_is is;
	} meaning[] = {
		[ROLE_HARD_ENTRY] = { IRQ_HARD, IRQS_BEGIN },
		[ROLE_HARD_EXIT] = { IRQ_HARD, IRQS_END },
		[ROLE_SOFT_ENTRY] = { IRQ_SOFT, IRQS_BEGIN },
		[ROLE_SOFT_EXIT] = { IRQ_SOFT, IRQS_END },
		[ROLE_SOFT_RAISE] = { IRQ_SOFT, IRQS_RAISE },
		[ROLE_VECTOR_ENTRY] = { IRQ_VECTOR, IRQS_BEGIN },
		[ROLE_VECTOR_EXIT] = { IRQ_VECTOR, IRQS_END },
		[ROLE_SWITCH] = { IRQ_HARD, IRQS_NOTHING },
	};
	const struct event_table *p = &s->plans[trace_class_number(e)];
	int64_t source;

	*what = (struct irq_stack_event){ 0 };
	if (!p->role)
		return 0;
	if (p->role == ROLE_NAME)
		return irq_stack_name(s, e);
	if (pass_grow(&s->cpus, &s->n_cpus, cpu, sizeof *s->cpus))
		return -ENOMEM;
	if (p->role == ROLE_SWITCH) {
		s->n_left += s->cpus[cpu].depth;
		s->cpus[cpu].depth = 0;
		return 0;
	}
	source = source_of(s, meaning[p->role].kind, p, e);
	if (source < 0)
		return -ENOMEM;
	if (meaning[p->role].is == IRQS_END) {
		end(s, &s->cpus[cpu], (uint32_t)source, e->time_ns, what);
		return 0;
	}
	*what = (struct irq_stack_event){ .is = meaning[p->role].is,
					  .source = (uint32_t)source,
					  .begin_ns = e->time_ns };
	if (what->is == IRQS_BEGIN)
		begin(s, &s->cpus[cpu], (uint32_t)source, e->time_ns);
	return 0;
}

void irq_stack_forget(struct irqs *s)
{
	for (uint32_t i = 0; i < s->n_cpus; i++) {
		s->n_left += s->cpus[i].depth;
		s->cpus[i].depth = 0;
	}
}

const struct irq_frame *irq_stack_on(const struct irqs *s, uint32_t cpu)
{
	return cpu < s->n_cpus && s->cpus[cpu].depth ? &s->cpus[cpu].stack[s->cpus[cpu].depth - 1]
						     : NULL;
}
