/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/spans.c - the open spans of each thread, and the split of their time.
 *
 * A thread's time is summed by part as it passes.  A span notes the sums when it begins; its split
 * is the difference when it ends.  So the parts of every span add up to its duration, whatever
 * happened in between, and an entry or exit costs the same at any depth.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/walk.h"

struct span_thread *span_thread_of(struct fcalls_walk *w, uint32_t thread)
{
	return pass_grow(&w->threads, &w->n_threads, thread, sizeof *w->threads)
		       ? NULL
		       : &w->threads[thread];
}

void span_charge(struct span_thread *t, int64_t time_ns)
{
	if (!t->has_begun)
		t->last_ns = time_ns;
	t->has_begun = true;
	if (time_ns <= t->last_ns)
		return;
	t->sums.ns[t->part] += ((uint64_t)time_ns - (uint64_t)t->last_ns);
	t->last_ns = time_ns;
}

void span_part(struct span_thread *t)
{
	static const uint8_t parts[] = {
		[WAIT_UNKNOWN] = FCALLS_USER,	    [WAIT_USER] = FCALLS_USER,
		[WAIT_KERNEL] = FCALLS_KERNEL,	    [WAIT_IRQ] = FCALLS_INTERRUPTED,
		[WAIT_PREEMPTED] = FCALLS_RUNNABLE, [WAIT_RUNNABLE] = FCALLS_RUNNABLE,
		[WAIT_BLOCKED] = FCALLS_BLOCKED,    [WAIT_GONE] = FCALLS_USER,
	};

	assert(t->state < sizeof parts);
	t->part = parts[t->state];
	if (t->part == FCALLS_USER && t->n_kernel_functions)
		t->part = FCALLS_KERNEL;
}

/* ---------------------------------------------------------------- lanes */

static struct span_lane *lane_of(struct span_thread *t, uint32_t stack)
{
	if (t->lane < t->n_lanes && t->lanes[t->lane].stack == stack)
		return &t->lanes[t->lane];
	for (uint32_t i = 0; i < t->n_lanes; i++)
		if (t->lanes[i].stack == stack) {
			t->lane = i;
			return &t->lanes[i];
		}
	if (pass_grow(&t->lanes, &t->n_lane_rooms, t->n_lanes, sizeof *t->lanes))
		return NULL;
	t->lane = t->n_lanes++;
	t->lanes[t->lane].stack = stack;
	return &t->lanes[t->lane];
}

static struct span_lane *current_lane(struct span_thread *t)
{
	return t->n_lanes ? &t->lanes[t->lane] : lane_of(t, 0);
}

static uint32_t function_below(const struct span_lane *lane, uint32_t n)
{
	while (n && lane->at[n - 1].kind != FCALLS_FUNCTION)
		n--;
	return n ? lane->at[n - 1].id : 0;
}

uint32_t fcalls_walk_inside(const struct fcalls_walk *w, uint32_t thread)
{
	const struct span_thread *t = thread < w->n_threads ? &w->threads[thread] : NULL;

	return t && t->n_lanes ? function_below(&t->lanes[t->lane], t->lanes[t->lane].n) : 0;
}

/* ---------------------------------------------------------------- splits */

static struct fcalls_split difference(const struct fcalls_split *a, const struct fcalls_split *b)
{
	struct fcalls_split d;

	for (int i = 0; i < FCALLS_PARTS; i++)
		d.ns[i] = a->ns[i] - b->ns[i];
	return d;
}

static uint64_t sum_of(const struct fcalls_split *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < FCALLS_PARTS; i++)
		sum += s->ns[i];
	return sum;
}

/* @total without @inner.  Where the entry of a callee was not recorded in time, its time counts as
 * user and may exceed the caller's: then other parts give way, and the sum stays exact. */
static struct fcalls_split without(const struct fcalls_split *total,
				   const struct fcalls_split *inner)
{
	struct fcalls_split self;
	uint64_t missing = 0;

	for (int i = 0; i < FCALLS_PARTS; i++) {
		bool fits = total->ns[i] >= inner->ns[i];

		self.ns[i] = fits ? total->ns[i] - inner->ns[i] : 0;
		missing += fits ? 0 : inner->ns[i] - total->ns[i];
	}
	for (int i = 0; i < FCALLS_PARTS && missing; i++) {
		uint64_t take = self.ns[i] < missing ? self.ns[i] : missing;

		self.ns[i] -= take;
		missing -= take;
	}
	return self;
}

/* ---------------------------------------------------------------- entering and leaving */

static void describe(struct fcalls_item *item, const struct span_lane *lane, const struct span *s)
{
	item->kind = s->kind;
	item->stack = lane->stack;
	item->id = s->id;
	item->name = s->name;
	item->address = s->address;
	item->begin_ns = s->begin_ns;
}

int span_enter(struct fcalls_walk *w, uint32_t thread, const struct span *like)
{
	struct span_thread *t = span_thread_of(w, thread);
	struct span_lane *lane = t ? current_lane(t) : NULL;
	struct fcalls_item *item;
	struct span *s;

	if (!lane || pass_grow(&lane->at, &lane->n_rooms, lane->n, sizeof *lane->at))
		return -ENOMEM;
	span_charge(t, w->now_ns);
	s = &lane->at[lane->n];
	*s = *like;
	s->enter_ns = t->last_ns;
	if (s->begin_ns > s->enter_ns)
		s->begin_ns = s->enter_ns;
	if (lane->n && s->begin_ns < lane->at[lane->n - 1].begin_ns)
		s->begin_ns = lane->at[lane->n - 1].begin_ns;
	s->begin = t->sums;
	item = walk_item(w, FCALLS_ENTER, thread);
	if (!item)
		return -ENOMEM;
	describe(item, lane, s);
	item->depth = lane->n;
	item->end_ns = INT64_MAX;
	t->n_kernel_functions += s->kind == FCALLS_KERNEL_FUNCTION;
	t->n_irqs += s->kind == FCALLS_IRQ;
	lane->n++;
	return 0;
}

static void add_to_outer(struct span_lane *lane, const struct span *s, uint64_t ns,
			 const struct fcalls_split *total)
{
	struct span *outer = lane->n ? &lane->at[lane->n - 1] : NULL;

	if (!outer || (outer->kind == FCALLS_FUNCTION && s->kind != FCALLS_FUNCTION))
		return;
	outer->inner_ns += ns;
	for (int i = 0; i < FCALLS_PARTS; i++)
		outer->inner.ns[i] += total->ns[i];
}

int span_leave(struct fcalls_walk *w, uint32_t thread, int64_t time_ns, uint8_t flags,
	       const struct edge *edge)
{
	struct span_thread *t = &w->threads[thread];
	struct span_lane *lane = &t->lanes[t->lane];
	struct fcalls_item *item = walk_item(w, FCALLS_LEAVE, thread);
	const struct span *s = &lane->at[--lane->n];
	uint64_t ns;

	if (!item)
		return -ENOMEM;
	span_charge(t, time_ns);
	describe(item, lane, s);
	item->depth = lane->n;
	item->end_ns = t->last_ns;
	item->flags = flags;
	item->total = difference(&t->sums, &s->begin);
	item->total.ns[FCALLS_USER] += ((uint64_t)s->enter_ns - (uint64_t)s->begin_ns);
	ns = ((uint64_t)item->end_ns - (uint64_t)s->begin_ns);
	assert(sum_of(&item->total) == ns);
	item->self = without(&item->total, &s->inner);
	item->self_ns = sum_of(&item->self);
	if (s->kind == FCALLS_FUNCTION)
		item->caller = function_below(lane, lane->n);
	if (edge)
		item->is_recursive = edge->is_recursive;
	else if (s->kind == FCALLS_FUNCTION)
		for (uint32_t i = 0; i < lane->n && !item->is_recursive; i++)
			item->is_recursive =
				lane->at[i].kind == FCALLS_FUNCTION && lane->at[i].id == s->id;
	t->n_kernel_functions -= s->kind == FCALLS_KERNEL_FUNCTION;
	t->n_irqs -= s->kind == FCALLS_IRQ;
	add_to_outer(lane, s, ns, &item->total);
	return 0;
}

int span_leave_kind(struct fcalls_walk *w, uint32_t thread, enum fcalls_kind kind, uint64_t address,
		    int64_t time_ns)
{
	struct span_thread *t = &w->threads[thread];
	struct span_lane *lane = t->n_lanes ? &t->lanes[t->lane] : NULL;
	uint32_t i = lane ? lane->n : 0;
	int err = 0;

	while (i && lane->at[i - 1].kind != FCALLS_FUNCTION &&
	       (lane->at[i - 1].kind != kind || lane->at[i - 1].address != address))
		i--;
	if (!i || lane->at[i - 1].kind != kind || lane->at[i - 1].address != address)
		return 1;
	while (lane->n > i && !err) /* their ends were not recorded */
		err = span_leave(w, thread, time_ns, FCALLS_OPEN, NULL);
	return err ? err : span_leave(w, thread, time_ns, 0, NULL);
}

int span_leave_all(struct fcalls_walk *w, uint32_t thread, int64_t time_ns)
{
	struct span_thread *t = &w->threads[thread];
	int err = 0;

	for (uint32_t i = 0; i < t->n_lanes; i++) {
		t->lane = i;
		while (t->lanes[i].n && !err)
			err = span_leave(w, thread, time_ns, FCALLS_OPEN, NULL);
	}
	return err;
}

/* ---------------------------------------------------------------- functions of programs */

/* An entry or exit happens in user mode: spans of the kernel cannot be open. */
static int close_kernel(struct fcalls_walk *w, uint32_t thread)
{
	struct span_thread *t = &w->threads[thread];
	struct span_lane *lane = &t->lanes[t->lane];
	int err = 0;

	while (lane->n && lane->at[lane->n - 1].kind != FCALLS_FUNCTION && !err) {
		if (lane->at[lane->n - 1].kind == FCALLS_WAIT ||
		    lane->at[lane->n - 1].kind == FCALLS_DELAY)
			w->c->losses.n_unseen_switches++;
		else
			w->c->losses.n_crossings++;
		err = span_leave(w, thread, w->now_ns, FCALLS_OPEN, NULL);
	}
	if (t->part != FCALLS_USER) {
		t->state = WAIT_USER;
		t->in_call = false;
		span_part(t);
	}
	return err;
}

static int leave_function(struct fcalls_walk *w, uint32_t thread, const struct edge *e)
{
	struct span_thread *t = &w->threads[thread];
	struct span_lane *lane = &t->lanes[t->lane];
	uint32_t i = lane->n;
	struct span missing;
	int err = 0;

	while (i && lane->at[i - 1].id != e->function)
		i--;
	if (!i) { /* its entry was never shown */
		missing = (struct span){ .kind = FCALLS_FUNCTION,
					 .id = e->function,
					 .name = fcalls_function(w->c, e->function)->shown,
					 .begin_ns = e->other_ns };
		err = span_enter(w, thread, &missing);
		i = lane->n;
	}
	for (; lane->n > i && !err; w->c->losses.n_misnested++)
		err = span_leave(w, thread, e->time_ns, FCALLS_OPEN, NULL);
	return err ? err : span_leave(w, thread, e->time_ns, e->flags, e);
}

int span_edge(struct fcalls_walk *w, uint32_t thread, const struct edge *e)
{
	struct span_thread *t = span_thread_of(w, thread);
	const struct span like = { .kind = FCALLS_FUNCTION,
				   .id = e->function,
				   .name = fcalls_function(w->c, e->function)->shown,
				   .begin_ns = e->time_ns };
	int err;

	if (!t)
		return -ENOMEM;
	if (t->is_dead && e->is_leave)
		return 0; /* it ended with its thread */
	/* the spans of the kernel end on the stack where they began */
	if (t->n_lanes && !(e->flags & FCALLS_OPEN && e->is_leave) && close_kernel(w, thread))
		return -ENOMEM;
	if (!lane_of(t, e->stack))
		return -ENOMEM;
	if (t->lanes[t->lane].n &&
	    t->lanes[t->lane].at[t->lanes[t->lane].n - 1].kind != FCALLS_FUNCTION)
		while (t->lanes[t->lane].n &&
		       t->lanes[t->lane].at[t->lanes[t->lane].n - 1].kind != FCALLS_FUNCTION)
			if (span_leave(w, thread, w->now_ns, FCALLS_OPEN, NULL))
				return -ENOMEM;
	if (e->is_leave)
		return leave_function(w, thread, e);
	err = span_enter(w, thread, &like);
	if (!err && w->n_queue && w->queue[w->n_queue - 1].is == FCALLS_ENTER)
		w->queue[w->n_queue - 1].end_ns = e->other_ns;
	return err;
}
