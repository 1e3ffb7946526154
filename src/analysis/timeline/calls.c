/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/calls.c - calls of programs as slices of their thread's row, among those of the
 * kernel and of events.
 *
 * The walk over calls (analysis/calls) numbers threads by itself, so each of its threads is looked
 * up once among those of the first pass: the n-th thread with a tid is the n-th with that tid there.
 * A call that is open where the range begins becomes a slice from there on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/timeline/internal.h"

int timeline_open_calls(struct timeline *t, struct trace *second, struct diag *d)
{
	const struct fcalls_options o = { .range = { INT64_MIN, INT64_MAX },
					  .is_without_kernel = true };
	int err = fcalls_open(&t->calls, second, d);

	if (!err && fcalls_has_calls(t->calls))
		return fcalls_walk_open(&t->walk, t->calls, &o, d);
	return err;
}

void timeline_close_calls(struct timeline *t)
{
	fcalls_walk_close(t->walk);
	fcalls_close(t->calls);
	free(t->call_threads);
	t->walk = NULL;
	t->calls = NULL;
	t->call_threads = NULL;
	t->n_call_threads = 0;
}

static uint32_t nth_with_tid(const struct threads *threads, int32_t tid, uint32_t nth)
{
	for (uint32_t i = 1; i < threads_n(threads); i++)
		if (threads_at(threads, i)->tid == tid && !nth--)
			return i;
	return THREAD_UNKNOWN;
}

/* The number of a thread of the walk in the first pass; or -ENOMEM. */
static int64_t thread_of(struct timeline *t, uint32_t number)
{
	const struct threads *threads = fcalls_walk_pass(t->walk)->threads;
	int32_t tid = threads_at(threads, number)->tid;
	uint32_t nth = 0;

	if (pass_grow(&t->call_threads, &t->n_call_threads, number, sizeof *t->call_threads))
		return -ENOMEM;
	if (t->call_threads[number])
		return t->call_threads[number] - 1;
	for (uint32_t i = 1; i < number; i++)
		nth += threads_at(threads, i)->tid == tid;
	t->call_threads[number] = nth_with_tid(t->run.threads, tid, nth) + 1;
	return t->call_threads[number] - 1;
}

static int on_enter(struct timeline *t, struct timeline_row *row, struct timeline_item *item,
		    int64_t from_ns)
{
	struct open_slice one = { .pair = TIMELINE_CALL,
				  .domain = UINT8_MAX,
				  .name = item->name,
				  .is_hidden = row->n_open >= TIMELINE_DEPTH_MAX,
				  .is_early = item->time_ns < from_ns };

	if (pass_grow(&row->open, &row->n_rooms, row->n_open, sizeof *row->open))
		return -ENOMEM;
	row->open[row->n_open++] = one;
	item->kind = TIMELINE_BEGIN;
	return one.is_hidden || one.is_early ? 0 : timeline_report(t, item);
}

/* Calls on different stacks of a thread may cross: then those above end too, as slices must nest. */
static int on_leave(struct timeline *t, struct timeline_row *row, struct timeline_item *item,
		    const char *name)
{
	uint32_t i = row->n_open;

	while (i && (row->open[i - 1].pair != TIMELINE_CALL || row->open[i - 1].name != name))
		i--;
	return i ? timeline_close_above(t, row, i - 1, item, NULL) : 0;
}

int timeline_on_call(struct timeline *t, const struct fcalls_item *call)
{
	struct timeline_item item = { .time_ns = call->time_ns, .cpu = TRACE_CPU_UNKNOWN };
	int64_t thread = thread_of(t, call->thread);

	if (call->kind != FCALLS_FUNCTION)
		return 0;
	if (thread < 0 || pass_grow(&t->rows, &t->n_rows, (uint32_t)thread, sizeof *t->rows))
		return -ENOMEM;
	item.thread = (uint32_t)thread;
	if (call->is == FCALLS_LEAVE)
		return on_leave(t, &t->rows[thread], &item, call->name);
	item.name = call->name;
	item.name_size = (uint32_t)strlen(call->name);
	return on_enter(t, &t->rows[thread], &item, t->o->from_ns);
}

int timeline_begin_range(struct timeline *t)
{
	int err = 0;

	for (uint32_t i = 0; i < t->n_rows && !err; i++)
		for (uint32_t k = 0; k < t->rows[i].n_open && !err; k++) {
			struct open_slice *s = &t->rows[i].open[k];
			struct timeline_item item = { .kind = TIMELINE_BEGIN,
						      .thread = i,
						      .cpu = TRACE_CPU_UNKNOWN,
						      .time_ns = t->o->from_ns };

			if (!s->is_early || s->is_hidden)
				continue;
			s->is_early = false;
			item.name = s->name;
			item.name_size = (uint32_t)strlen(s->name);
			err = timeline_report(t, &item);
		}
	return err;
}
