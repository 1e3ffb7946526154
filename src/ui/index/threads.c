/* SPDX-License-Identifier: MIT */
/*
 * ui/index/threads.c - rows of CPUs, processes and threads; states, system calls, wakeups.
 *
 * States and calls are those of analysis/wait, so the page and `duet report why` agree.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ui/index/build.h"

_Static_assert((int)UI_BLOCKED == (int)WAIT_BLOCKED && (int)UI_STATES == (int)WAIT_STATES,
	       "the states are the same");

struct built_thread *build_thread(struct builder *b, uint32_t thread)
{
	uint32_t before = b->n_threads;

	if (pass_grow(&b->threads, &b->n_threads, thread, sizeof *b->threads))
		return NULL;
	for (; before < b->n_threads; before++) {
		b->threads[before].state = UI_GONE;
		b->threads[before].woken_ns = INT64_MIN;
		b->threads[before].first_ns = INT64_MAX;
	}
	return &b->threads[thread];
}

/* ---------------------------------------------------------------- rows */

static int64_t add_row(struct builder *b, uint8_t kind, uint32_t parent, const struct thread *t)
{
	char name[THREAD_NAME_MAX + 16];
	uint32_t host = b->host_of[t->host];
	struct ui_row row = { .kind = kind,
			      .parent = parent ? parent : build_top(b, host),
			      .name = name,
			      .pid = t->pid,
			      .tid = kind == UI_ROW_PROCESS ? -1 : t->tid,
			      .cpu = -1,
			      .recording = host,
			      .first_ns = b->now_ns,
			      .last_ns = b->now_ns };

	snprintf(name, sizeof name, "%.*s", t->name_size, t->name);
	return build_row(b, &row);
}

/* The row of the process that thread @number leads: a row of its own above those of its threads. */
static int64_t process_row(struct builder *b, uint32_t leader)
{
	struct built_thread *t = build_thread(b, leader);
	struct thread known = *threads_at(b->pass->threads, leader);
	int64_t row;

	if (!t)
		return -ENOMEM;
	if (t->row)
		return b->x->rows[t->row - 1].public.parent - 1;
	if (known.pid < 0)
		known.pid = known.tid;
	row = add_row(b, UI_ROW_PROCESS, 0, &known);
	if (row < 0)
		return row;
	known = *threads_at(b->pass->threads, leader);
	if (known.pid < 0)
		known.pid = known.tid;
	t = &b->threads[leader];
	row = add_row(b, UI_ROW_THREAD, (uint32_t)row + 1, &known);
	if (row < 0)
		return row;
	t->row = (uint32_t)row + 1;
	return b->x->rows[row].public.parent - 1;
}

int64_t build_thread_row(struct builder *b, uint32_t thread)
{
	struct built_thread *t = build_thread(b, thread);
	int64_t leader, row;

	if (!t)
		return -ENOMEM;
	if (t->row)
		return t->row - 1;
	leader = threads_process(b->pass->threads, thread);
	if (leader < 0)
		return leader;
	row = process_row(b, (uint32_t)leader);
	if (row < 0)
		return row;
	t = &b->threads[thread];
	if (!t->row) {
		row = add_row(b, UI_ROW_THREAD, (uint32_t)row + 1,
			      threads_at(b->pass->threads, thread));
		if (row < 0)
			return row;
		t->row = (uint32_t)row + 1;
	}
	return t->row - 1;
}

static int cpu_of(struct builder *b, uint32_t cpu, struct built_cpu **result)
{
	char name[32];
	struct ui_row row = { .kind = UI_ROW_CPU, .name = name, .pid = -1, .tid = -1 };
	int64_t number;

	if (pass_grow(&b->cpus, &b->n_cpus, cpu, sizeof *b->cpus))
		return -ENOMEM;
	*result = &b->cpus[cpu];
	if ((*result)->row)
		return 0;
	row.cpu = (int32_t)b->pass->cpus[cpu].cpu;
	row.recording = b->host_of[b->pass->cpus[cpu].source->number];
	number = build_group(b, row.recording, GROUP_CPUS);
	if (number < 0)
		return -ENOMEM;
	row.parent = (uint32_t)number + 1;
	snprintf(name, sizeof name, "CPU %d", row.cpu);
	number = build_row(b, &row);
	if (number < 0)
		return -ENOMEM;
	(*result)->row = (uint32_t)number + 1;
	return build_track(b, &(*result)->running, (uint32_t)number, UI_TRACK_RUNNING, 0);
}

/* ---------------------------------------------------------------- changes */

static int change_cpu(struct builder *b, uint32_t thread, uint32_t from, uint32_t to)
{
	bool is_idle = !threads_at(b->pass->threads, thread)->tid;
	struct built_cpu *c;
	int err = 0;

	if (from && from <= b->n_cpus && b->cpus[from - 1].thread == thread + 1) {
		c = &b->cpus[from - 1];
		err = write_end(b, &b->writers[c->running - 1], b->now_ns, 0);
		c->thread = 0;
	}
	if (err || !to || is_idle)
		return err;
	err = cpu_of(b, to - 1, &c);
	if (err)
		return err;
	c->thread = thread + 1;
	return write_begin(b, &b->writers[c->running - 1], b->now_ns, b->threads[thread].row - 1);
}

/* Ends the open state where it is sure to end; it never was if that is its begin. */
static int end_state(struct builder *b, struct writer *w, const struct built_thread *t)
{
	return t->sure_ns > w->open_ns ? write_end(b, w, t->sure_ns, 0) : write_drop(b, w);
}

/* From @begin_ns on the thread is in @state, for sure until @sure_ns.  A state that goes on is one
 * interval. */
static int put_state(struct builder *b, struct writer *w, struct built_thread *t, uint8_t state,
		     int64_t begin_ns, int64_t sure_ns)
{
	int err = 0;

	if (!w->has_open || w->open_what != state || t->sure_ns != begin_ns) {
		if (w->has_open)
			err = end_state(b, w, t);
		if (!err && state < UI_STATES)
			err = write_begin(b, w, begin_ns, state);
	}
	t->sure_ns = sure_ns;
	return err;
}

static int64_t states_of(struct builder *b, uint32_t thread)
{
	int64_t row = build_thread_row(b, thread);
	struct built_thread *t;
	int err;

	if (row < 0)
		return row;
	t = &b->threads[thread];
	err = build_track(b, &t->states, t->row - 1, UI_TRACK_STATES, 0);
	return err ? err : (int64_t)t->states - 1;
}

/* A closed state is final, and may begin before the thread's first event. */
static int close_state(struct builder *b, const struct wait_closed *c)
{
	int64_t begin_ns = c->begin_ns - b->x->status.begin_ns, number = states_of(b, c->thread);
	struct built_thread *t;

	if (number < 0)
		return (int)number;
	t = &b->threads[c->thread];
	if (begin_ns < t->first_ns)
		t->first_ns = begin_ns;
	return put_state(b, &b->writers[number], t, c->state, begin_ns,
			 c->end_ns - b->x->status.begin_ns);
}

/* The call that was begun last ends here, with @result. */
static int end_call(struct builder *b, const struct built_thread *t, int64_t result)
{
	int32_t kept = (int32_t)result;

	return t->syscalls ? write_end(b, &b->writers[t->syscalls - 1], b->now_ns,
				       kept == UI_CALL_CUT ? kept + 1 : kept)
			   : 0;
}

/* Its exit was not recorded: shown up to here, and not counted. */
static int cut_call(struct builder *b, const struct built_thread *t)
{
	return t->syscalls ? write_end(b, &b->writers[t->syscalls - 1], b->now_ns, UI_CALL_CUT) : 0;
}

/* Calls are those whose entry was recorded, as `duet report syscalls` pairs them: the exit is that of
 * the same call.  A new thread returns from the call of its parent: it made none. */
int build_call(struct builder *b, const struct trace_event *e, uint32_t thread)
{
	struct built_class *c = &b->classes[trace_class_number(e)];
	struct built_thread *t = &b->threads[thread];
	int err;

	err = build_name(b, c);
	if (c->is == CLASS_EXIT && !err)
		return t->syscalls && b->writers[t->syscalls - 1].open_what == c->name - 1
			       ? end_call(b, t, pass_number(e, c->field[0], 0))
			       : cut_call(b, t); /* the exit of another call */
	if (!err)
		err = build_track(b, &t->syscalls, t->row - 1, UI_TRACK_SYSCALLS, 0);
	if (!err)
		err = cut_call(b, t);
	return err ? err : write_begin(b, &b->writers[t->syscalls - 1], b->now_ns, c->name - 1);
}

int build_steady_call(struct builder *b, const struct trace_event *e,
		      const struct wait_closed *closed, uint8_t state)
{
	struct built_thread *t = build_thread(b, closed->thread);
	int64_t row = t && t->states ? 0 : states_of(b, closed->thread);
	int64_t begin_ns = closed->begin_ns - b->x->status.begin_ns;
	struct writer *w;
	int err;

	if (row < 0)
		return (int)row;
	t = &b->threads[closed->thread];
	w = &b->writers[t->states - 1];
	err = put_state(b, w, t, closed->state, begin_ns, b->now_ns);
	if (!err)
		err = put_state(b, w, t, state, b->now_ns, b->now_ns);
	t->state = state;
	t->last_ns = b->now_ns;
	return err ? err : build_call(b, e, closed->thread);
}

static int note_wake(struct builder *b, struct built_thread *t)
{
	struct ui_wake wake = { .time_ns = t->woken_ns, .runs_ns = b->now_ns, .woken = t->row - 1 };
	int64_t row;

	t->woken_ns = INT64_MIN;
	if (t->waker) {
		row = build_thread_row(b, t->waker);
		if (row < 0)
			return (int)row;
		wake.waker = (uint32_t)row + 1;
	}
	return write_wake(b, &wake);
}

/* A wait ended by a wakeup is noted when the thread runs again. */
static int change_wait(struct builder *b, uint32_t thread, struct built_thread *t, uint8_t state)
{
	const struct wait_interval *w = wait_follow_reason(b->f, thread);

	if (state == UI_RUNNABLE && w && w->is_woken && w->begin_ns < w->woken_ns) {
		t->woken_ns = b->now_ns;
		t->waker = w->waker;
	}
	if ((state != UI_USER && state != UI_KERNEL) || t->woken_ns == INT64_MIN)
		return 0;
	return note_wake(b, t);
}

int build_finish_waits(struct builder *b)
{
	int err = 0;

	for (uint32_t i = 1; i < b->n_threads && !err; i++)
		if (b->threads[i].row && b->threads[i].woken_ns != INT64_MIN)
			err = note_wake(b, &b->threads[i]);
	return err;
}

static int change_thread(struct builder *b, uint32_t thread)
{
	struct wait_view v = wait_follow_view(b->f, thread);
	int64_t row = build_thread_row(b, thread), number, begin_ns;
	struct built_thread *t;
	int err = row < 0 ? (int)row : 0;

	if (err)
		return err;
	t = &b->threads[thread];
	if (v.cpu != t->cpu)
		err = change_cpu(b, thread, t->cpu, v.cpu);
	t = &b->threads[thread];
	t->cpu = v.cpu;
	if (!err && v.state != t->state)
		err = change_wait(b, thread, t, v.state);
	number = err ? (int64_t)err : states_of(b, thread);
	if (number < 0)
		return (int)number;
	t = &b->threads[thread];
	t->state = v.state;
	begin_ns = v.begin_ns - b->x->status.begin_ns;
	err = put_state(b, &b->writers[number], t, v.state, begin_ns, begin_ns);
	if (!err && v.state >= UI_STATES)
		err = cut_call(b, t);
	t->last_ns = b->now_ns;
	return err;
}

int build_states(struct builder *b)
{
	uint32_t n;
	const struct wait_closed *closed = wait_follow_closed(b->f, &n);
	const uint32_t *changed;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		if (threads_at(b->pass->threads, closed[i].thread)->tid > 0)
			err = close_state(b, &closed[i]);
	changed = wait_follow_changed(b->f, &n);
	for (uint32_t i = 0; i < n && !err; i++)
		if (changed[i] && threads_at(b->pass->threads, changed[i])->tid > 0)
			err = change_thread(b, changed[i]);
	return err;
}

/* Open spans and calls may lack their ends.  A call is shown up to here; a span is left out, as `duet
 * report latency` does, because its kind of track cannot tell that it was cut. */
int build_lost(struct builder *b, const struct trace_event *e)
{
	bool is_kernel = e->stream->source->domain == TRACE_KERNEL;
	int err = 0;

	for (uint32_t i = 1; i < b->n_threads && !err; i++) {
		struct built_thread *t = &b->threads[i];

		for (; t->n_open && !is_kernel && !err; t->n_open--)
			err = write_drop(b, &b->writers[t->spans[t->n_open - 1] - 1]);
		if (is_kernel && !err)
			err = cut_call(b, t);
		t->woken_ns = INT64_MIN;
	}
	return err;
}

/* ---------------------------------------------------------------- events, and the end */

int build_thread_event(struct builder *b, const struct trace_event *e, uint32_t thread)
{
	int64_t row;

	if (build_device(b, e, thread))
		return -ENOMEM;
	if (!thread || threads_at(b->pass->threads, thread)->tid <= 0)
		return 0;
	row = build_thread_row(b, thread);
	if (row < 0)
		return (int)row;
	b->threads[thread].last_ns = b->now_ns;
	return build_span(b, e, thread);
}

/* A process lives as long as its threads. */
static void widen_parent(struct builder *b, const struct ui_row *row)
{
	struct ui_row *parent = row->parent ? &b->x->rows[row->parent - 1].public : NULL;

	if (parent && row->first_ns < parent->first_ns)
		parent->first_ns = row->first_ns;
	if (parent && row->last_ns > parent->last_ns)
		parent->last_ns = row->last_ns;
}

int build_sync(struct builder *b)
{
	int err = threads_finalize(b->pass->threads);

	if (!err)
		err = wait_follow_weigh(b->f);
	for (uint32_t i = 1; i < b->n_threads && !err; i++) {
		const struct thread *t, *leader;
		struct row *row;

		if (!b->threads[i].row)
			continue;
		t = threads_at(b->pass->threads, i);
		leader = threads_at(b->pass->threads, t->process);
		row = &b->x->rows[b->threads[i].row - 1];
		if (t->process < b->n_threads && b->threads[t->process].row)
			row->public.parent =
				b->x->rows[b->threads[t->process].row - 1].public.parent;
		if (b->threads[i].first_ns < row->public.first_ns)
			row->public.first_ns = b->threads[i].first_ns;
		if (b->threads[i].last_ns > row->public.last_ns)
			row->public.last_ns = b->threads[i].last_ns;
		row->public.is_partial = !wait_follow_is_complete(b->f, i);
		row->public.pid = leader->pid < 0 ? leader->tid : leader->pid;
		err = index_set_row_name(b->x, b->threads[i].row - 1, t->name, t->name_size);
		widen_parent(b, &row->public);
		if (!err && t->process == i && row->public.parent)
			err = index_set_row_name(b->x, row->public.parent - 1, t->name,
						 t->name_size);
	}
	return err;
}
