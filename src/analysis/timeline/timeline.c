/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/timeline.c - the two passes: threads and coverage, then the items.
 *
 * The second pass has its own table of threads. Both passes see the same events in the same order,
 * so both give a thread the same number.
 */
#include "analysis/timeline/timeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/internal.h"

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
	if (!err && coverage_finalize(&t->coverage, &t->run))
		err = diag_fail(d, -ENOMEM, "no memory for threads");
	if (err)
		timeline_fini(t);
	return err;
}

static void end_second(struct timeline *t)
{
	threads_close(t->threads);
	timeline_close_calls(t);
	free(t->plans);
	free(t->states);
	free(t->running);
	free(t->sums);
	timeline_free_rows(t->rows, t->n_rows);
	timeline_free_rows(t->cpu_rows, t->n_cpu_rows);
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

/* ---------------------------------------------------------------- the second pass */

/* Adds the item's number to the sum of its process. */
static int sum_up(struct timeline *t, const struct timeline_current *n, struct timeline_item *item)
{
	uint32_t process = timeline_thread(t, n->thread)->process;
	uint32_t place = (process ? process : n->thread) * t->o->n_counters + item->counter;

	if (pass_grow(&t->sums, &t->n_sums, place, sizeof *t->sums))
		return -ENOMEM;
	t->sums[place] += item->number;
	item->number = t->sums[place];
	return 0;
}

static int report_counters(struct timeline *t, const struct timeline_current *n)
{
	for (uint32_t i = 0; i < t->o->n_counters; i++) {
		const struct timeline_counter *c = &t->o->counters[i];
		struct timeline_item item = timeline_item_of(n, TIMELINE_COUNTER);
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
			err = timeline_report(t, &item);
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
	struct timeline_current n = { .e = e,
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
		return timeline_instant(t, &n, 0);
	case TIMELINE_OPENS:
		return timeline_open_slice(t, &n);
	case TIMELINE_CLOSES:
		return timeline_close_slice(t, &n);
	case TIMELINE_SWITCHES:
		return timeline_on_switch(t, &n);
	case TIMELINE_WAKES:
		return timeline_on_waking(t, &n);
	case TIMELINE_EXITS:
		return timeline_on_exit(t, &n);
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
	err = timeline_close_rows(t, t->rows, t->n_rows, e, false);
	if (!err)
		err = timeline_close_rows(t, t->cpu_rows, t->n_cpu_rows, e, true);
	if (e->stream->source->domain == TRACE_KERNEL) {
		if (t->n_states)
			memset(t->states, 0, t->n_states * sizeof *t->states);
		if (t->n_running)
			memset(t->running, 0, t->n_running * sizeof *t->running);
	}
	return err ? err : timeline_report(t, &item);
}

/* The next event or loss; or a call of a program, then *@call is set. */
static int next_item(struct timeline *t, struct trace_event *e, struct fcalls_item *call,
		     bool *is_call, struct diag *d)
{
	int is;

	*is_call = false;
	if (!t->walk)
		return trace_next(t->trace, e, d);
	is = fcalls_walk_next(t->walk, call, d);
	if (is <= 0)
		return is < 0 ? is : TRACE_END;
	*is_call = is == FCALLS_ENTER || is == FCALLS_LEAVE;
	if (*is_call)
		e->time_ns = call->time_ns;
	else
		*e = *call->event;
	return is == FCALLS_LOST ? TRACE_LOST : TRACE_EVENT;
}

static int read_all(struct timeline *t, struct diag *d)
{
	bool has_begun = t->o->from_ns == INT64_MIN, is_call;
	struct fcalls_item call;
	struct trace_event e;
	int item = TRACE_END, err = 0;

	while (!err && (item = next_item(t, &e, &call, &is_call, d)) > 0) {
		if (e.time_ns > t->o->to_ns)
			break;
		if (!has_begun && e.time_ns >= t->o->from_ns) {
			has_begun = true;
			err = timeline_begin_range(t);
		}
		if (err)
			break;
		if (item == TRACE_EVENT && e.time_ns > t->last_ns)
			t->last_ns = e.time_ns;
		err = is_call		    ? timeline_on_call(t, &call)
		      : item == TRACE_EVENT ? on_event(t, &e)
					    : on_lost(t, &e);
	}
	if (item < 0)
		return item;
	if (!err)
		err = timeline_end_states(t);
	return err < 0 ? diag_fail(d, err, "cannot go on: %s", strerror(-err)) : err;
}

int timeline_run(struct timeline *t, struct trace *second, const struct timeline_options *o,
		 struct diag *d)
{
	int err;

	assert(o->take && t->run.threads); /* after the first pass */
	end_second(t);
	t->o = o;
	t->trace = second;
	t->last_ns = INT64_MIN;
	t->plans = timeline_plan(&(struct pass){ .trace = second }, o);
	if (!t->plans)
		return diag_fail(d, -ENOMEM, "no memory for event classes");
	err = threads_open(&t->threads, second, d);
	if (!err && o->has_calls)
		err = timeline_open_calls(t, second, d);
	return err ? err : read_all(t, d);
}
