/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/timeline.c - the two passes, and the slices, states and counters of the second.
 *
 * Each row has a stack of open slices. An end closes the innermost slice of its pair and all slices
 * above it.
 */
#include "analysis/timeline/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/irq_stack.h"

enum { DEPTH_MAX = 256 }; /* deeper slices become instants */
static const uint32_t CPUS_MAX = 4096;
/* Bits of prev_state: see analysis/report/sched.c. */
enum { STATE_SLEEPS = 0xff, STATE_DEAD = 0x30 };

struct open_slice {
	uint32_t pair;
	uint8_t domain;
};

struct timeline_row {
	struct open_slice *open;
	uint32_t n_open, n_rooms;
};

struct timeline_thread {
	uint8_t state; /* enum timeline_state */
	uint32_t cpu;
	int64_t since_ns;
	uint64_t flow;
};

struct current { /* the present event */
	const struct trace_event *e;
	const struct timeline_plan *plan;
	uint32_t thread;
	bool is_chosen;
};

static int on_first(void *context, struct pass *r, const struct trace_event *e, uint32_t thread)
{
	struct timeline *t = context;
	int64_t got = coverage_on_event(&t->coverage, r, e, thread);

	return got < 0 ? (int)got : 0;
}

static int on_lost_first(void *context, struct pass *r, const struct trace_event *e)
{
	struct timeline *t = context;
	int64_t got = coverage_lost(&t->coverage, e);

	(void)r;
	return got < 0 ? (int)got : 0;
}

int timeline_init(struct timeline *t, struct trace *first, struct diag *d)
{
	int err;

	*t = (struct timeline){ 0 };
	err = pass_init(&t->run, first, NULL, d);
	if (!err && coverage_init(&t->coverage, &t->run))
		err = diag_fail(d, -ENOMEM, "no memory for threads");
	if (!err)
		err = pass_all(&t->run, on_first, on_lost_first, t, d);
	if (err)
		timeline_fini(t);
	else
		coverage_finalize(&t->coverage);
	return err;
}

static void free_rows(struct timeline_row *rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(rows[i].open);
	free(rows);
}

static void end_second(struct timeline *t)
{
	threads_close(t->threads);
	free(t->plans);
	free(t->states);
	free(t->running);
	free(t->sums);
	free_rows(t->rows, t->n_rows);
	free_rows(t->cpu_rows, t->n_cpu_rows);
	t->threads = NULL;
	t->plans = NULL;
	t->states = NULL;
	t->running = NULL;
	t->sums = NULL;
	t->rows = t->cpu_rows = NULL;
	t->n_rows = t->n_cpu_rows = t->n_states = t->n_running = t->n_sums = 0;
}

void timeline_fini(struct timeline *t)
{
	end_second(t);
	coverage_fini(&t->coverage);
	pass_fini(&t->run);
	*t = (struct timeline){ 0 };
}

const struct thread *timeline_thread(const struct timeline *t, uint32_t number)
{
	/* A recording that still grows may have threads that the first pass did not see. */
	return number < threads_n(t->run.threads) || !t->threads
		       ? threads_at(t->run.threads, number)
		       : threads_at(t->threads, number);
}

/* ---------------------------------------------------------------- slices */

static int report(struct timeline *t, const struct timeline_item *item)
{
	t->n_items++;
	return t->o->take(t->o->context, item);
}

/* An event with a kernel function gets its name, if the symbol is known. */
static void name_by_function(const struct timeline *t, const struct current *n,
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

static void name_by_softirq(const struct current *n, struct timeline_item *item)
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

static struct timeline_item item_of(const struct current *n, enum timeline_kind kind)
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
static struct timeline_row *row_of(struct timeline *t, const struct current *n,
				   struct timeline_item *item)
{
	if (!threads_at(t->threads, n->thread)->tid)
		item->is_of_cpu = true;
	if (!item->is_of_cpu)
		return pass_grow(&t->rows, &t->n_rows, n->thread, sizeof *t->rows)
			       ? NULL
			       : &t->rows[n->thread];
	item->cpu = item->cpu < CPUS_MAX ? item->cpu : CPUS_MAX;
	return pass_grow(&t->cpu_rows, &t->n_cpu_rows, item->cpu, sizeof *t->cpu_rows)
		       ? NULL
		       : &t->cpu_rows[item->cpu];
}

static int report_instant(struct timeline *t, const struct current *n, uint64_t flow)
{
	struct timeline_item item = item_of(n, TIMELINE_INSTANT);

	if (!row_of(t, n, &item))
		return -ENOMEM;
	item.name = n->e->ctf->class->name;
	item.name_size = (uint32_t)strlen(item.name);
	name_by_function(t, n, &item);
	item.flow = flow;
	return n->is_chosen ? report(t, &item) : 0;
}

static int open_slice(struct timeline *t, const struct current *n)
{
	struct timeline_item item = item_of(n, TIMELINE_BEGIN);
	struct timeline_row *row = row_of(t, n, &item);

	if (!n->is_chosen)
		return 0;
	if (!row)
		return -ENOMEM;
	if (row->n_open == DEPTH_MAX)
		return report_instant(t, n, 0);
	if (pass_grow(&row->open, &row->n_rooms, row->n_open, sizeof *row->open))
		return -ENOMEM;
	name_by_function(t, n, &item);
	name_by_softirq(n, &item);
	row->open[row->n_open++] =
		(struct open_slice){ n->plan->pair, (uint8_t)n->e->stream->source->domain };
	return report(t, &item);
}

/* Closes the slices above @keep; @event ends the lowest of them. */
static int close_above(struct timeline *t, struct timeline_row *row, uint32_t keep,
		       struct timeline_item *item, const struct trace_event *event)
{
	int err = 0;

	item->kind = TIMELINE_END;
	while (row->n_open > keep && !err) {
		item->event = --row->n_open == keep ? event : NULL;
		err = report(t, item);
	}
	return err;
}

static int close_slice(struct timeline *t, const struct current *n)
{
	struct timeline_item item = item_of(n, TIMELINE_END);
	struct timeline_row *row = row_of(t, n, &item);
	uint32_t i;

	if (!row)
		return -ENOMEM;
	for (i = row->n_open; i && row->open[i - 1].pair != n->plan->pair; i--)
		;
	return i ? close_above(t, row, i - 1, &item, n->e) : report_instant(t, n, 0);
}

static int close_rows(struct timeline *t, struct timeline_row *rows, uint32_t n_rows,
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
		err = close_above(t, &rows[i], keep, &item, NULL);
	}
	return err;
}

/* ---------------------------------------------------------------- states of threads */

/* The thread in field @op if its states are known: not an idle one, and with all its switches; else
 * 0; or -ENOMEM. */
static int64_t thread_in(struct timeline *t, const struct current *n, const struct ctf_op *op)
{
	int64_t tid = pass_number(n->e, op, -1),
		number = tid > 0 ? threads_of(t->threads, n->e, tid) : 0;

	if (number <= 0)
		return number;
	if (pass_grow(&t->states, &t->n_states, (uint32_t)number, sizeof *t->states))
		return -ENOMEM;
	return coverage_is_complete(&t->coverage, (uint32_t)number) ? number : 0;
}

static int end_state(struct timeline *t, uint32_t thread, const struct current *n)
{
	struct timeline_thread *s = &t->states[thread];
	struct timeline_item item = { .kind = TIMELINE_STATE,
				      .thread = thread,
				      .cpu = s->cpu,
				      .state = s->state,
				      .begin_ns = s->since_ns,
				      .time_ns = n->e->time_ns };

	if (s->state == TIMELINE_UNKNOWN || !n->is_chosen || s->since_ns >= n->e->time_ns)
		return 0;
	return report(t, &item);
}

static void begin_state(struct timeline *t, int64_t thread, enum timeline_state state,
			const struct current *n)
{
	struct timeline_thread *s = &t->states[thread];

	s->state = n->is_chosen ? (uint8_t)state : TIMELINE_UNKNOWN;
	s->cpu = n->e->cpu;
	s->since_ns = n->e->time_ns;
}

static int switch_out(struct timeline *t, const struct current *n, int64_t prev)
{
	int64_t state = pass_number(n->e, n->plan->field[2], STATE_SLEEPS);
	struct timeline_thread *s = &t->states[prev];
	int err = s->state == TIMELINE_RUNNING && s->cpu == n->e->cpu
			  ? end_state(t, (uint32_t)prev, n)
			  : 0;

	begin_state(t, prev,
		    !(state & STATE_SLEEPS) ? TIMELINE_RUNNABLE
		    : state & STATE_DEAD    ? TIMELINE_UNKNOWN
					    : TIMELINE_BLOCKED,
		    n);
	s->flow = 0;
	return err;
}

static int switch_in(struct timeline *t, const struct current *n, int64_t next)
{
	struct timeline_thread *s = &t->states[next];
	struct timeline_item item = { .kind = TIMELINE_RUNS,
				      .thread = (uint32_t)next,
				      .cpu = n->e->cpu,
				      .time_ns = n->e->time_ns,
				      .flow = s->flow };
	int err = s->state != TIMELINE_RUNNING ? end_state(t, (uint32_t)next, n) : 0;

	begin_state(t, next, TIMELINE_RUNNING, n);
	if (!err && s->flow && n->is_chosen)
		err = report(t, &item);
	s->flow = 0;
	return err;
}

static int on_switch(struct timeline *t, const struct current *n)
{
	int64_t prev = thread_in(t, n, n->plan->field[0]),
		next = thread_in(t, n, n->plan->field[1]);
	uint32_t cpu = n->e->cpu < CPUS_MAX ? n->e->cpu : CPUS_MAX;
	struct timeline_item item = item_of(n, TIMELINE_SWITCH);
	uint32_t before;
	int err = 0;

	if (prev < 0 || next < 0 || pass_grow(&t->running, &t->n_running, cpu, sizeof *t->running))
		return -ENOMEM;
	/* The thread that ran here and did not leave has left without a recorded switch. */
	before = t->running[cpu];
	if (before && before - 1 != prev && t->states[before - 1].state == TIMELINE_RUNNING &&
	    t->states[before - 1].cpu == n->e->cpu)
		t->states[before - 1].state = TIMELINE_UNKNOWN;
	t->running[cpu] = next ? (uint32_t)next + 1 : 0;
	if (n->is_chosen)
		err = report(t, &item);
	if (!err && prev)
		err = switch_out(t, n, prev);
	if (!err && next)
		err = switch_in(t, n, next);
	return err;
}

static int on_waking(struct timeline *t, const struct current *n)
{
	int64_t thread = thread_in(t, n, n->plan->field[0]);
	struct timeline_thread *s;
	int err = 0;

	if (!n->is_chosen)
		return 0;
	if (thread < 0)
		return -ENOMEM;
	s = thread ? &t->states[thread] : NULL;
	if (!s || s->state == TIMELINE_RUNNING || s->state == TIMELINE_RUNNABLE)
		return report_instant(t, n, 0);
	if (s->state == TIMELINE_BLOCKED)
		err = end_state(t, (uint32_t)thread, n);
	begin_state(t, thread, TIMELINE_RUNNABLE, n);
	s->flow = ++t->n_flows;
	return err ? err : report_instant(t, n, s->flow);
}

/* The slices of a thread end when it exits. */
static int on_exit_event(struct timeline *t, const struct current *n)
{
	struct timeline_item item = item_of(n, TIMELINE_END);
	struct timeline_row *row = row_of(t, n, &item);
	int err;

	if (!row)
		return -ENOMEM;
	err = report_instant(t, n, 0);
	if (!err && !item.is_of_cpu)
		err = close_above(t, row, 0, &item, NULL);
	return err;
}

/* ---------------------------------------------------------------- the second pass */

/* Adds the item's number to the sum of its process. */
static int sum_up(struct timeline *t, const struct current *n, struct timeline_item *item)
{
	uint32_t process = timeline_thread(t, n->thread)->process;
	uint32_t place = (process ? process : n->thread) * t->o->n_counters + item->counter;

	if (pass_grow(&t->sums, &t->n_sums, place, sizeof *t->sums))
		return -ENOMEM;
	t->sums[place] += item->number;
	item->number = t->sums[place];
	return 0;
}

static int report_counters(struct timeline *t, const struct current *n)
{
	for (uint32_t i = 0; i < t->o->n_counters; i++) {
		const struct timeline_counter *c = &t->o->counters[i];
		struct timeline_item item = item_of(n, TIMELINE_COUNTER);
		const struct ctf_op *op;
		int err;

		if (!pass_is_like(c->event, n->e->stream->source, n->e->ctf->class->name))
			continue;
		op = ctf_class_find(n->e->ctf->class, CTF_PAYLOAD, c->field);
		item.counter = i;
		if (!op || !ctf_event_number(n->e->ctf, op, &item.number))
			continue;
		err = c->is_sum ? sum_up(t, n, &item) : 0;
		if (!err)
			err = report(t, &item);
		if (err)
			return err;
	}
	return 0;
}

static bool is_chosen(struct timeline *t, const struct trace_event *e, uint32_t thread)
{
	const struct thread *th = threads_at(t->threads, thread);
	struct thread_identity w = {
		.name = th->name, .size = th->name_size, .pid = th->pid, .tid = th->tid
	};

	if (t->o->is_wanted && !t->o->is_wanted[trace_class_number(e)])
		return false;
	return !t->o->is_chosen || t->o->is_chosen(t->o->context, e, &w);
}

static int on_event(struct timeline *t, const struct trace_event *e)
{
	int64_t thread = threads_on_event(t->threads, e);
	struct current n = { .e = e,
			     .plan = &t->plans[trace_class_number(e)],
			     .thread = (uint32_t)thread };
	int err = 0;

	if (thread < 0)
		return (int)thread;
	if (e->time_ns < t->o->from_ns)
		return 0;
	n.is_chosen = is_chosen(t, e, n.thread);
	if (n.is_chosen && t->o->n_counters)
		err = report_counters(t, &n);
	if (err)
		return err;
	switch ((enum timeline_role)n.plan->role) {
	case TIMELINE_PLAIN:
		return report_instant(t, &n, 0);
	case TIMELINE_OPENS:
		return open_slice(t, &n);
	case TIMELINE_CLOSES:
		return close_slice(t, &n);
	case TIMELINE_SWITCHES:
		return on_switch(t, &n);
	case TIMELINE_WAKES:
		return on_waking(t, &n);
	case TIMELINE_EXITS:
		return on_exit_event(t, &n);
	}
	return 0;
}

static int on_lost(struct timeline *t, const struct trace_event *e)
{
	struct timeline_item item = { .kind = TIMELINE_LOST,
				      .cpu = e->cpu,
				      .is_of_cpu = true,
				      .time_ns = e->time_ns,
				      .lost = e->lost_events,
				      .event = e };
	int err;

	if (e->time_ns < t->o->from_ns)
		return 0;
	err = close_rows(t, t->rows, t->n_rows, e, false);
	if (!err)
		err = close_rows(t, t->cpu_rows, t->n_cpu_rows, e, true);
	if (e->stream->source->domain == TRACE_KERNEL) {
		if (t->n_states)
			memset(t->states, 0, t->n_states * sizeof *t->states);
		if (t->n_running)
			memset(t->running, 0, t->n_running * sizeof *t->running);
	}
	return err ? err : report(t, &item);
}

/* Reports the states that are open at the end of the recording. */
static int end_states(struct timeline *t)
{
	struct trace_event e = { .time_ns = t->last_ns };
	struct current n = { .e = &e, .is_chosen = true };
	int err = 0;

	for (uint32_t i = 1; i < t->n_states && !err; i++)
		err = end_state(t, i, &n);
	return err;
}

static int read_all(struct timeline *t, struct diag *d)
{
	struct trace_event e;
	int item = TRACE_END, err = 0;

	while (!err && (item = trace_next(t->trace, &e, d)) > 0) {
		if (e.time_ns > t->o->to_ns)
			break;
		if (item == TRACE_EVENT && e.time_ns > t->last_ns)
			t->last_ns = e.time_ns;
		err = item == TRACE_EVENT ? on_event(t, &e) : on_lost(t, &e);
	}
	if (item < 0)
		return item;
	if (!err)
		err = end_states(t);
	return err < 0 ? diag_fail(d, err, "cannot go on: %s", strerror(-err)) : err;
}

int timeline_run(struct timeline *t, struct trace *second, const struct timeline_options *o,
		 struct diag *d)
{
	int err;

	end_second(t);
	t->o = o;
	t->trace = second;
	t->last_ns = INT64_MIN;
	t->plans = timeline_plan(&(struct pass){ .trace = second }, o);
	if (!t->plans)
		return diag_fail(d, -ENOMEM, "no memory for event classes");
	err = threads_open(&t->threads, second, d);
	return err ? err : read_all(t, d);
}
