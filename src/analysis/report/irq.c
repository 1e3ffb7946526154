/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/irq.c - sums interrupts by source and by interrupted thread, from the stacks of
 * irq_stack.h.
 */
#include "analysis/report/irq.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct raised { /* by source and CPU: the first raise; 0: none */
	int64_t time_ns;
};

struct reading {
	struct irq *q;
	bool by_cpu;
	uint32_t n_row_rooms, n_victim_rooms, n_slowest;
	struct raised *raised; /* index: source * RAISED_CPUS + cpu */
	uint32_t n_raised;
};

enum { RAISED_CPUS = 1024 };

static struct irq_row *row_of(struct reading *r, uint32_t source, uint32_t cpu)
{
	struct irq *q = r->q;
	uint32_t i = 0;

	if (!r->by_cpu)
		cpu = TRACE_CPU_UNKNOWN;
	while (i < q->n_rows && (q->rows[i].source != source || q->rows[i].cpu != cpu))
		i++;
	if (i < q->n_rows)
		return &q->rows[i];
	if (pass_grow(&q->rows, &r->n_row_rooms, i, sizeof *q->rows))
		return NULL;
	q->rows[q->n_rows++] = (struct irq_row){ .source = source, .cpu = cpu };
	return &q->rows[i];
}

static int charge_victim(struct reading *r, uint32_t thread, uint64_t own_ns)
{
	struct irq *q = r->q;
	struct irq_victim *v;

	if (thread && !threads_at(q->run.threads, thread)->tid)
		thread = 0; /* one row for all idle threads */
	if (pass_grow(&q->victims, &r->n_victim_rooms, thread, sizeof *q->victims))
		return -ENOMEM;
	v = &q->victims[thread];
	v->n++;
	v->own_ns += own_ns;
	v->max_ns = own_ns > v->max_ns ? own_ns : v->max_ns;
	return 0;
}

static struct raised *raised_of(struct reading *r, uint32_t source, uint32_t cpu)
{
	uint32_t i = source * RAISED_CPUS + cpu;

	if (cpu >= RAISED_CPUS || source > UINT32_MAX / RAISED_CPUS / 2 ||
	    pass_grow(&r->raised, &r->n_raised, i, sizeof *r->raised))
		return NULL;
	return &r->raised[i];
}

static int on_end(struct reading *r, const struct irq_stack_event *what,
		  const struct trace_event *e, uint32_t thread)
{
	struct irq_row *row = row_of(r, what->source, e->cpu);

	if (!row)
		return -ENOMEM;
	assert(what->is == IRQS_END && what->own_ns <= what->ns);
	row->own_ns += what->own_ns;
	r->q->own_ns += what->own_ns;
	r->q->n++;
	slowest_add(&r->q->slowest,
		    &(struct slow){ what->ns, what->begin_ns, thread, what->source, e->cpu });
	if (charge_victim(r, thread, what->own_ns))
		return -ENOMEM;
	return samples_add(&row->time, what->ns);
}

static int on_entry(struct reading *r, struct raised *raised, const struct irq_stack_event *what,
		    const struct trace_event *e)
{
	struct irq_row *row = raised->time_ns ? row_of(r, what->source, e->cpu) : NULL;
	int64_t since_ns = raised->time_ns;

	if (!since_ns)
		return 0;
	raised->time_ns = 0;
	return row ? samples_add(&row->waits, (uint64_t)(e->time_ns - since_ns)) : -ENOMEM;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	struct irq_stack_event what;
	struct raised *raised;
	int64_t cpu;

	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	if (e->time_ns < run->range.from_ns)
		return irq_stack_name(&r->q->irqs, e);
	cpu = pass_cpu(run, e);
	if (cpu < 0 || irq_stack_on_event(&r->q->irqs, (uint32_t)cpu, e, &what))
		return -ENOMEM;
	if (what.is == IRQS_END)
		return on_end(r, &what, e, thread);
	if (what.is == IRQS_NOTHING || r->q->irqs.sources[what.source].kind != IRQ_SOFT)
		return 0;
	raised = raised_of(r, what.source, (uint32_t)cpu);
	if (!raised)
		return cpu < RAISED_CPUS ? -ENOMEM : 0;
	if (what.is == IRQS_BEGIN)
		return on_entry(r, raised, &what, e);
	if (!raised->time_ns)
		raised->time_ns = e->time_ns;
	return 0;
}

static int on_lost(void *context, struct pass *run, const struct trace_event *e)
{
	struct reading *r = context;

	(void)run;
	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	irq_stack_forget(&r->q->irqs);
	for (uint32_t i = 0; i < r->n_raised; i++)
		r->raised[i].time_ns = 0;
	return 0;
}

static int most_time_first(const void *a, const void *b)
{
	const struct irq_row *x = a, *y = b;

	if (x->own_ns != y->own_ns)
		return x->own_ns < y->own_ns ? 1 : -1;
	return x->source != y->source ? (x->source < y->source ? -1 : 1)
				      : (x->cpu < y->cpu ? -1 : x->cpu > y->cpu);
}

static int most_charged_first(const void *a, const void *b)
{
	const struct irq_victim *x = a, *y = b;

	if (x->own_ns != y->own_ns)
		return x->own_ns < y->own_ns ? 1 : -1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int finalize(void *context)
{
	struct reading *r = context;
	struct irq *q = r->q;

	irq_stack_forget(&q->irqs); /* open interrupts count as left */
	if (q->n_rows)
		qsort(q->rows, q->n_rows, sizeof *q->rows, most_time_first);
	for (uint32_t i = 0; i < r->n_victim_rooms; i++)
		if (q->victims[i].n) {
			q->victims[q->n_victims] = q->victims[i];
			q->victims[q->n_victims].thread = i;
			q->victims[q->n_victims++].is_idle = !i;
		}
	if (q->n_victims)
		qsort(q->victims, q->n_victims, sizeof *q->victims, most_charged_first);
	slowest_sort(&q->slowest);
	return 0;
}

static int prepare(void *context)
{
	struct reading *r = context;

	if (slowest_init(&r->q->slowest, r->n_slowest) || irq_stack_init(&r->q->irqs, &r->q->run))
		return -ENOMEM;
	return 0;
}

int irq_init(struct irq *q, struct trace *t, const struct pass_range *range, bool by_cpu,
	     uint32_t n_slowest, struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "interrupts",
		.wants_earlier = true, /* names come from the state dump */
		.prepare = prepare,
		.on_event = on_event,
		.on_lost = on_lost,
		.finish = finalize,
	};
	struct reading r = { .q = q, .by_cpu = by_cpu, .n_slowest = n_slowest };
	int err;

	*q = (struct irq){ 0 };
	err = pass_run(&q->run, t, range, &analysis, &r, d);
	free(r.raised);
	if (err)
		irq_fini(q);
	return err;
}

void irq_fini(struct irq *q)
{
	for (uint32_t i = 0; i < q->n_rows; i++) {
		samples_fini(&q->rows[i].time);
		samples_fini(&q->rows[i].waits);
	}
	free(q->rows);
	free(q->victims);
	irq_stack_fini(&q->irqs);
	slowest_fini(&q->slowest);
	pass_fini(&q->run);
	*q = (struct irq){ 0 };
}
