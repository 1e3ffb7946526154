/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/slices.c - opens and closes the slices of threads and CPUs, and reports
 * instants.
 *
 * Each row has a stack of open slices. An end closes the innermost slice of its pair and all slices
 * above it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/irq_stack.h"
#include "analysis/timeline/internal.h"

int timeline_report(struct timeline *t, const struct timeline_item *item)
{
	t->n_items++;
	return t->o->take(t->o->context, item);
}

/* An event with a kernel function gets its name, if the symbol is known. */
static void name_by_function(const struct timeline *t, const struct timeline_current *n,
			     struct timeline_item *item)
{
	int64_t address;
	const char *name = t->o->functions && n->plan->function &&
					   ctf_event_number(n->e->ctf, n->plan->function, &address)
				   ? kallsyms_find(t->o->functions, (uint64_t)address)
				   : NULL;

	if (!name)
		return;
	item->name = name;
	item->name_size = (uint32_t)strlen(name);
}

static void name_by_softirq(const struct timeline_current *n, struct timeline_item *item)
{
	int64_t number;
	const char *name =
		n->plan->softirq && ctf_event_number(n->e->ctf, n->plan->softirq, &number)
			? irq_stack_soft_name(number)
			: NULL;

	if (!name)
		return;
	item->name = name;
	item->name_size = (uint32_t)strlen(name);
}

struct timeline_item timeline_item_of(const struct timeline_current *n, enum timeline_kind kind)
{
	return (struct timeline_item){ .kind = kind,
				       .thread = n->thread,
				       .cpu = n->e->cpu,
				       .is_of_cpu =
					       n->plan->is_of_cpu || n->thread == THREAD_UNKNOWN,
				       .name = n->plan->name,
				       .name_size = n->plan->name_size,
				       .time_ns = n->e->time_ns,
				       .event = n->e };
}

/* All idle threads have one number: their slices belong to the CPU. */
static struct timeline_row *row_of(struct timeline *t, const struct timeline_current *n,
				   struct timeline_item *item)
{
	if (!threads_at(t->threads, n->thread)->tid)
		item->is_of_cpu = true;
	if (!item->is_of_cpu)
		return pass_grow(&t->rows, &t->n_rows, n->thread, sizeof *t->rows)
			       ? NULL
			       : &t->rows[n->thread];
	item->cpu = item->cpu < TIMELINE_CPUS_MAX ? item->cpu : TIMELINE_CPUS_MAX;
	return pass_grow(&t->cpu_rows, &t->n_cpu_rows, item->cpu, sizeof *t->cpu_rows)
		       ? NULL
		       : &t->cpu_rows[item->cpu];
}

int timeline_instant(struct timeline *t, const struct timeline_current *n, uint64_t flow)
{
	struct timeline_item item = timeline_item_of(n, TIMELINE_INSTANT);

	if (!row_of(t, n, &item))
		return -ENOMEM;
	item.name = n->e->ctf->class->name;
	item.name_size = (uint32_t)strlen(item.name);
	name_by_function(t, n, &item);
	item.flow = flow;
	return n->is_chosen ? timeline_report(t, &item) : 0;
}

int timeline_open_slice(struct timeline *t, const struct timeline_current *n)
{
	struct timeline_item item = timeline_item_of(n, TIMELINE_BEGIN);
	struct timeline_row *row = row_of(t, n, &item);

	if (!n->is_chosen)
		return 0;
	if (!row)
		return -ENOMEM;
	if (row->n_open >= TIMELINE_DEPTH_MAX)
		return timeline_instant(t, n, 0);
	if (pass_grow(&row->open, &row->n_rooms, row->n_open, sizeof *row->open))
		return -ENOMEM;
	name_by_function(t, n, &item);
	name_by_softirq(n, &item);
	row->open[row->n_open++] =
		(struct open_slice){ .pair = n->plan->pair,
				     .domain = (uint8_t)n->e->stream->source->domain };
	return timeline_report(t, &item);
}

int timeline_close_above(struct timeline *t, struct timeline_row *row, uint32_t keep,
			 struct timeline_item *item, const struct trace_event *event)
{
	int err = 0;

	assert(keep <= row->n_open);
	item->kind = TIMELINE_END;
	while (row->n_open > keep && !err) {
		const struct open_slice *s = &row->open[--row->n_open];

		item->event = row->n_open == keep ? event : NULL;
		if (!s->is_hidden && !s->is_early)
			err = timeline_report(t, item);
	}
	return err;
}

int timeline_close_slice(struct timeline *t, const struct timeline_current *n)
{
	struct timeline_item item = timeline_item_of(n, TIMELINE_END);
	struct timeline_row *row = row_of(t, n, &item);
	uint32_t i;

	if (!row)
		return -ENOMEM;
	for (i = row->n_open; i && row->open[i - 1].pair != n->plan->pair; i--)
		;
	return i ? timeline_close_above(t, row, i - 1, &item, n->e) : timeline_instant(t, n, 0);
}

int timeline_close_rows(struct timeline *t, struct timeline_row *rows, uint32_t n_rows,
			const struct trace_event *e, bool is_of_cpu)
{
	uint8_t domain = (uint8_t)e->stream->source->domain;
	int err = 0;

	for (uint32_t i = 0; i < n_rows && !err; i++) {
		struct timeline_item item = { .thread = is_of_cpu ? THREAD_UNKNOWN : i,
					      .cpu = is_of_cpu ? i : e->cpu,
					      .is_of_cpu = is_of_cpu,
					      .time_ns = e->time_ns };
		uint32_t keep = 0;

		while (keep < rows[i].n_open && rows[i].open[keep].domain != domain)
			keep++;
		err = timeline_close_above(t, &rows[i], keep, &item, NULL);
	}
	return err;
}

/* The slices of a thread end when it exits. */
int timeline_on_exit(struct timeline *t, const struct timeline_current *n)
{
	struct timeline_item item = timeline_item_of(n, TIMELINE_END);
	struct timeline_row *row = row_of(t, n, &item);
	int err;

	if (!row)
		return -ENOMEM;
	err = timeline_instant(t, n, 0);
	if (!err && !item.is_of_cpu)
		err = timeline_close_above(t, row, 0, &item, NULL);
	return err;
}

void timeline_free_rows(struct timeline_row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(rows[i].open);
	free(rows);
}
