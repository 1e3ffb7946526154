/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/spans.c - spans of time between two events of a thread: sums of all, and the
 * longest ones.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analysis/wait/internal.h"

void wait_forget_span(struct wait_thread *t)
{
	for (uint32_t i = 0; i < t->span.n_waits; i++)
		free(t->span.waits[i].slices);
	t->span = (struct wait_span){ 0 };
	t->is_in_span = false;
}

static uint32_t epoch_of(const struct pass *run)
{
	return run->epoch[0] + run->epoch[1] + run->epoch[2];
}

static void keep_span(struct wait_reading *r, struct wait_thread *t)
{
	struct wait_analysis *w = r->w;
	uint32_t i = w->n_slowest, max = r->q->n_slowest;

	if (i == max) {
		if (!max || t->span.ns <= w->slowest[max - 1].ns) {
			wait_forget_span(t);
			return;
		}
		i--;
		for (uint32_t k = 0; k < w->slowest[i].n_waits; k++)
			free(w->slowest[i].waits[k].slices);
	} else {
		w->n_slowest++;
	}
	for (; i && w->slowest[i - 1].ns < t->span.ns; i--)
		w->slowest[i] = w->slowest[i - 1];
	w->slowest[i] = t->span;
	assert(w->n_slowest <= max && (!i || w->slowest[i - 1].ns >= w->slowest[i].ns));
	t->span = (struct wait_span){ 0 };
	t->is_in_span = false;
}

static int end_span(struct wait_reading *r, uint32_t thread, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];
	int err;

	if (t->epoch != epoch_of(&r->w->run)) {
		r->w->n_cut++;
		wait_forget_span(t);
		return 0;
	}
	err = wait_change_state(r, thread, t->now.state, time_ns);
	t->span.ns = time_ns > t->span.begin_ns ? (uint64_t)(time_ns - t->span.begin_ns) : 0;
	wait_add_account(&r->w->all, &t->span.account);
	r->w->ns += t->span.ns;
	if (!err)
		err = samples_add(&r->w->spans, t->span.ns);
	keep_span(r, t);
	return err;
}

int wait_on_mark(struct wait_reading *r, const struct trace_event *e, uint32_t thread, bool is_a,
		 bool is_b)
{
	struct wait_thread *t = wait_thread_of(r, thread);
	int err = 0;

	if (!t)
		return thread ? -ENOMEM : 0;
	if (is_b && t->is_in_span)
		err = end_span(r, thread, e->time_ns);
	if (err || !is_a || e->time_ns < r->w->run.range.from_ns || !wait_is_target(r, thread))
		return err;
	if (t->is_in_span)
		r->w->n_open++;
	wait_forget_span(t);
	err = wait_change_state(r, thread, t->now.state, e->time_ns);
	r->w->n_a++;
	t->is_in_span = true;
	t->epoch = epoch_of(&r->w->run);
	t->span.begin_ns = e->time_ns;
	t->span.thread = thread;
	return err;
}
