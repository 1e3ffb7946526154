/* SPDX-License-Identifier: MIT */
/* cmd/top/rows.c - an interval as rows: threads, processes or events, chosen and sorted. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report/table.h"
#include "cmd/top/top.h"

static const char *const sorts[TOP_SORTS] = { "cpu",   "wait",	   "blocked",
					      "calls", "switches", "events" };

const char *top_sort_name(enum top_sort sort)
{
	return sorts[sort];
}

uint64_t top_row_cpu_ns(const struct activity_thread *t)
{
	return t->ns[WAIT_USER] + t->ns[WAIT_KERNEL] + t->ns[WAIT_IRQ];
}

static uint64_t key(const struct activity_thread *t, enum top_sort sort)
{
	switch (sort) {
	case TOP_WAIT:
		return t->ns[WAIT_RUNNABLE] + t->ns[WAIT_PREEMPTED];
	case TOP_BLOCKED:
		return t->ns[WAIT_BLOCKED];
	case TOP_CALLS:
		return t->n_calls;
	case TOP_SWITCHES:
		return t->n_switches;
	case TOP_RATE:
		return t->n_events;
	default:
		return top_row_cpu_ns(t);
	}
}

static enum top_sort sort_by;

/* Largest value first, then CPU time, then number, so that rows keep their places. */
static int compare(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	uint64_t m = key(&x->sum, sort_by), n = key(&y->sum, sort_by);

	if (m == n) {
		m = top_row_cpu_ns(&x->sum);
		n = top_row_cpu_ns(&y->sum);
	}
	if (m != n)
		return m < n ? 1 : -1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool is_on_cpu(uint8_t state)
{
	return state == WAIT_USER || state == WAIT_KERNEL || state == WAIT_IRQ;
}

static struct top_row *add(struct top_rows *r, uint32_t number)
{
	if (pass_grow(&r->at, &r->n_rooms, r->n, sizeof *r->at))
		return NULL;
	r->at[r->n] = (struct top_row){ .thread = number };
	return &r->at[r->n++];
}

static void add_up(struct activity_thread *sum, const struct activity_thread *t)
{
	for (int i = 0; i < WAIT_STATES; i++)
		sum->ns[i] += t->ns[i];
	sum->n_events += t->n_events;
	sum->n_calls += t->n_calls;
	sum->n_switches += t->n_switches;
}

/* The row that thread @i belongs to; NULL: no memory. */
static struct top_row *row_of(struct top_rows *r, const struct activity *a,
			      const struct top_options *o, uint32_t i)
{
	int64_t leader;
	struct top_row *row;

	if (o->by != TOP_PROCESSES)
		return add(r, i);
	leader = threads_process(a->pass->threads, i);
	if (leader < 0 ||
	    pass_grow(&r->of_process, &r->n_processes, (uint32_t)leader, sizeof *r->of_process))
		return NULL;
	if (r->of_process[leader])
		return &r->at[r->of_process[leader] - 1];
	row = add(r, (uint32_t)leader);
	if (row)
		r->of_process[leader] = r->n;
	return row;
}

static bool is_asked_for(const struct activity *a, const struct top_options *o, uint32_t i)
{
	const struct thread *t = threads_at(a->pass->threads, i);
	bool has_pid = !o->pids.n;

	for (int p = 0; p < o->pids.n && !has_pid; p++)
		has_pid = t->pid == o->pids.at[p];
	return has_pid &&
	       (!o->filter || memmem(t->name, t->name_size, o->filter, strlen(o->filter)));
}

static void count_state(struct top_rows *r, const struct activity_thread *t)
{
	for (int i = 0; i < WAIT_STATES; i++)
		r->ns[i] += t->ns[i];
	r->n_running += is_on_cpu(t->state);
	r->n_runnable += t->state == WAIT_RUNNABLE || t->state == WAIT_PREEMPTED;
	r->n_blocked += t->state == WAIT_BLOCKED;
}

/* Our own recording of some processes has all switches of these. */
static bool is_known(const struct activity_thread *t, const struct top_options *o)
{
	uint64_t ns = 0;

	for (int i = WAIT_UNKNOWN + 1; i < WAIT_STATES && (t->is_complete || o->pids.n); i++)
		ns += t->ns[i];
	return ns || t->n_events || t->n_calls;
}

static int add_threads(struct top_rows *r, const struct activity *a, const struct top_options *o)
{
	for (uint32_t i = 1; i < a->n_threads && i < threads_n(a->pass->threads); i++) {
		const struct activity_thread *t = &a->threads[i];
		struct top_row *row;

		if (threads_at(a->pass->threads, i)->tid == 0 || !is_known(t, o))
			continue;
		count_state(r, t);
		if (o->by == TOP_EVENTS || !is_asked_for(a, o, i))
			continue;
		row = row_of(r, a, o, i);
		if (!row)
			return -ENOMEM;
		/* A process has the state of its thread that runs, else of its first one. */
		if (!row->n_threads++ || (is_on_cpu(t->state) && !is_on_cpu(row->sum.state))) {
			row->sum.state = t->state;
			row->sum.since_ns = t->since_ns;
			row->sum.call = t->call;
			row->sum.object = t->object;
		}
		add_up(&row->sum, t);
	}
	return 0;
}

/* Trace chunks describe the same event again and again: it is one row. */
static int add_classes(struct top_rows *r, const struct activity *a, const struct top_options *o)
{
	for (uint32_t i = 0; i < a->n_classes; i++) {
		const struct activity_class *c = &a->classes[i];
		uint32_t k = 0;

		if (!c->n || (o->filter && !strstr(c->name, o->filter)))
			continue;
		while (k < r->n && (strcmp(a->classes[r->at[k].thread].name, c->name) ||
				    a->classes[r->at[k].thread].is_kernel != c->is_kernel))
			k++;
		if (k == r->n && !add(r, i))
			return -ENOMEM;
		r->at[k].sum.n_events += c->n;
	}
	return 0;
}

int top_rows_make(struct top_rows *r, const struct activity *a, const struct top_options *o)
{
	int err;

	r->n = 0;
	memset(r->ns, 0, sizeof r->ns);
	r->n_running = r->n_runnable = r->n_blocked = 0;
	if (r->n_processes)
		memset(r->of_process, 0, r->n_processes * sizeof *r->of_process);
	err = add_threads(r, a, o);
	if (!err && o->by == TOP_EVENTS)
		err = add_classes(r, a, o);
	sort_by = o->by == TOP_EVENTS ? TOP_RATE : o->sort;
	if (!err && r->n)
		qsort(r->at, r->n, sizeof *r->at, compare);
	return err;
}

void top_rows_fini(struct top_rows *r)
{
	free(r->at);
	free(r->of_process);
	*r = (struct top_rows){ 0 };
}

/* ---------------------------------------------------------------- texts */

static void copy_printable(char *to, size_t room, const char *from, size_t size)
{
	struct text t = text_fixed(to, room);

	text_add_printable(&t, from, strnlen(from, size));
	for (; *to; to++)
		*to = (unsigned char)*to < 0x80 ? *to : '?'; /* the terminal may have no UTF-8 */
}

void top_name_text(const struct activity *a, const struct top_row *row, enum top_by by,
		   char text[64])
{
	const struct thread *t;

	if (by == TOP_EVENTS) {
		const char *name = a->classes[row->thread].name;

		copy_printable(text, 64, name, strlen(name));
		return;
	}
	t = threads_at(a->pass->threads, row->thread);
	copy_printable(text, 64, t->name, t->name_size);
	if (!*text)
		strcpy(text, "?");
}

void top_now_text(const struct activity *a, const struct activity_thread *t,
		  char text[TOP_NOW_BYTES])
{
	static const char *const states[] = {
		"",	     "running",	 "in the kernel", "interrupted",
		"preempted", "runnable", "blocked",	  "gone"
	};
	char call[40] = "", object[64] = "", since[32];
	struct text words = { 0 };

	if (t->call)
		copy_printable(call, sizeof call, t->call, strlen(t->call));
	if (t->object)
		activity_object(a, t->object, &words);
	if (words.size) {
		*object = ' ';
		copy_printable(object + 1, sizeof object - 1, words.bytes, words.size);
	}
	text_fini(&words);
	if (t->state == WAIT_UNKNOWN || t->state >= WAIT_GONE)
		snprintf(text, TOP_NOW_BYTES, "%s", states[t->state <= WAIT_GONE ? t->state : 0]);
	else
		snprintf(text, TOP_NOW_BYTES, "%s%s%s%s, %s", states[t->state], *call ? " in " : "",
			 call, object, duration_text((uint64_t)(a->to_ns - t->since_ns), since));
}
