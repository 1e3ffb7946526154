/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/edges.c - a batch as entries and exits in the order of time.
 *
 * Records are in the order of exits.  Read backward they are in the order of a tree left
 * backward: exit of a call, its callees backward, its entry.  So a stack gives all entries and exits
 * backward, and properly nested even where times are equal.  Calls that were open before the batch
 * have no entry in it; calls open after it have no exit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/walk.h"

struct making {
	struct edges *to;
	const struct block *b;
	int64_t limit_ns; /* of the edge made last: earlier ones are not later */
};

/* A call that was left, or an open one. */
struct pending {
	struct edge enter;
	uint32_t depth;
	bool has_enter;
};

static int add(struct making *m, struct edge one)
{
	struct edges *to = m->to;

	if (to->n == to->n_rooms) {
		uint32_t n = to->n_rooms ? to->n_rooms * 2 : 1024;
		struct edge *more = realloc(to->at, n * sizeof *more);

		if (!more)
			return -ENOMEM;
		to->at = more;
		to->n_rooms = n;
	}
	if (one.time_ns > m->limit_ns) {
		to->n_bent++;
		one.time_ns = m->limit_ns;
	}
	m->limit_ns = one.time_ns;
	to->at[to->n++] = one;
	return 0;
}

static int push(struct edges *to, uint32_t *n, const struct pending *one)
{
	if (pass_grow(&to->pending, &to->n_pending_rooms, *n, sizeof *to->pending))
		return -ENOMEM;
	to->pending[(*n)++] = *one;
	return 0;
}

/* The entries of pending calls at @depth and deeper. */
static int pop(struct making *m, uint32_t *n, uint32_t depth)
{
	int err = 0;

	while (!err && *n && m->to->pending[*n - 1].depth >= depth) {
		const struct pending *p = &m->to->pending[--*n];

		if (p->has_enter)
			err = add(m, p->enter);
	}
	return err;
}

static int put_call(struct making *m, uint32_t *n, const struct block_call *call, uint32_t stack)
{
	const struct edge leave = {
		.time_ns = call->end_ns,
		.other_ns = call->begin_ns,
		.function = call->function,
		.caller = call->caller,
		.stack = stack,
		.is_leave = true,
		.flags = call->flags,
		.is_recursive = call->is_recursive,
	};
	struct pending p = { leave, call->depth, !call->was_open };
	int err = pop(m, n, call->depth);

	p.enter.is_leave = false;
	p.enter.time_ns = call->begin_ns;
	p.enter.other_ns = call->end_ns;
	if (!err)
		err = add(m, leave);
	return err ? err : push(m->to, n, &p);
}

/* Calls that stay open, outermost first. */
static int put_open(struct making *m, uint32_t *n, const struct batch_lane *lane, struct fcalls *c,
		    uint32_t process)
{
	int err = 0;

	for (uint32_t i = 0; i < lane->n_open && !err; i++) {
		const struct batch_frame *f = &lane->open[i];
		struct pending p = { .depth = i, .has_enter = f->is_new && f->function };

		p.enter = (struct edge){
			.time_ns = f->begin_ns,
			.other_ns = INT64_MAX,
			.function = p.has_enter ? fcalls_number(c, process, f->function) : 0,
			.stack = lane->stack,
		};
		err = push(m->to, n, &p);
	}
	return err;
}

static void reverse(struct edge *at, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		struct edge other = at[i];

		at[i] = at[n - 1 - i];
		at[n - 1 - i] = other;
	}
}

static int lane_edges(struct edges *to, const struct block *b, const struct batch_lane *lane,
		      struct fcalls *c, uint32_t process)
{
	struct making m = { .to = to, .b = b, .limit_ns = INT64_MAX };
	uint32_t first = to->n, n = 0;
	int err = put_open(&m, &n, lane, c, process);

	for (uint32_t i = lane->last; i && !err; i = b->calls[i - 1].before)
		err = put_call(&m, &n, &b->calls[i - 1], lane->stack);
	if (!err)
		err = pop(&m, &n, 0);
	if (!err && to->n > first)
		reverse(to->at + first, to->n - first);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

int edges_add_cuts(struct edges *to, const struct block *b, const struct batch_thread *t)
{
	struct making m = { .to = to, .b = b };
	int err = 0;

	for (uint32_t i = 0; i < b->n_cuts && !err; i++) {
		const struct block_call *call = &b->cuts[i];

		m.limit_ns = INT64_MAX;
		err = add(&m, (struct edge){ .time_ns = call->end_ns,
					     .other_ns = call->begin_ns,
					     .function = call->function,
					     .caller = call->caller,
					     .stack = t->lanes[call->lane].stack,
					     .is_leave = true,
					     .flags = call->flags,
					     .is_recursive = call->is_recursive });
	}
	return err;
}

int edges_make(struct edges *to, const struct block *b, const struct batch_thread *t,
	       struct fcalls *c, uint32_t process)
{
	uint32_t n_lanes = 0;
	int err;

	to->n = to->next = 0;
	err = edges_add_cuts(to, b, t);
	n_lanes += b->n_cuts > 0;
	for (uint32_t i = 0; i < t->n_lanes && !err; i++) {
		const struct batch_lane *lane = &t->lanes[i];
		bool has_new = lane->n_open && lane->open[lane->n_open - 1].is_new;

		if (!lane->last && !has_new)
			continue;
		err = lane_edges(to, b, lane, c, process);
		n_lanes++;
	}
	if (err || n_lanes < 2)
		return err;
	for (uint32_t i = 0; i < to->n; i++)
		to->at[i].place = i;
	if (to->n)
		qsort(to->at, to->n, sizeof *to->at, by_time);
	return 0;
}

void edges_fini(struct edges *e)
{
	free(e->at);
	free(e->pending);
	*e = (struct edges){ 0 };
}
