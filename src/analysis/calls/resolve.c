/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/resolve.c - callers and recursion of a decoded batch.
 *
 * Records are read backward: a caller comes before its calls, and the calls that are open at the
 * batch's end are known from announcements.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls/internal.h"
#include "base/atomic.h"

/* The open calls of a lane while its records are read backward. */
struct path {
	struct fcalls *c;
	uint32_t process;
	struct block *b;
	uint32_t n;
};

static int push(struct path *p, uint32_t depth, uint32_t function)
{
	struct block *b = p->b;

	if (unlikely(depth >= b->n_path_rooms) &&
	    pass_grow(&b->path, &b->n_path_rooms, depth, sizeof *b->path))
		return -ENOMEM;
	for (; p->n < depth; p->n++)
		b->path[p->n].function = 0;
	b->path[depth].function = function;
	p->n = depth + 1;
	b->active[function]++;
	return 0;
}

static inline void pop_to(struct path *p, uint32_t depth)
{
	while (p->n > depth)
		p->b->active[p->b->path[--p->n].function]--;
}

static inline int resolve(struct path *p, struct block_call *call)
{
	uint32_t function = fcalls_number(p->c, p->process, call->function);

	if (unlikely(function >= p->b->n_active) &&
	    pass_grow(&p->b->active, &p->b->n_active, function, sizeof *p->b->active))
		return -ENOMEM;
	pop_to(p, call->depth);
	call->function = function;
	call->caller =
		call->depth && p->n == call->depth ? p->b->path[call->depth - 1].function : 0;
	call->is_recursive = function && p->b->active[function];
	return push(p, call->depth, function);
}

static int push_open(struct path *p, const struct batch_lane *lane, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t function = lane->open[i].function ? fcalls_number(p->c, p->process,
									   lane->open[i].function)
							   : 0;

		err = pass_grow(&p->b->active, &p->b->n_active, function, sizeof *p->b->active);
		if (!err)
			err = push(p, i, function);
	}
	return err;
}

/* All records of one lane. */
static int resolve_lane(struct path *p, const struct batch_lane *lane)
{
	int err = push_open(p, lane, lane->n_open);

	for (uint32_t i = lane->last; i && !err; i = p->b->calls[i - 1].before)
		err = resolve(p, &p->b->calls[i - 1]);
	pop_to(p, 0);
	return err;
}

int block_resolve(struct block *b, const struct batch_thread *t, struct fcalls *c, uint32_t process)
{
	struct path p = { .c = c, .process = process, .b = b };
	int err = pass_grow(&b->active, &b->n_active, 0, sizeof *b->active);

	for (uint32_t i = 0; i < t->n_lanes && !err; i++)
		if (t->lanes[i].last)
			err = resolve_lane(&p, &t->lanes[i]);
	for (uint32_t i = 0; i < b->n_cuts; i++) {
		struct block_call *call = &b->cuts[i];

		call->function = fcalls_number(c, process, call->function);
		call->caller = call->caller ? fcalls_number(c, process, call->caller) : 0;
	}
	return err;
}
