/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/each.c - all batches, one thread after another; calls that never returned.
 *
 * The calls file knows the frames that were open at the end.  Those entered before the first batch
 * were open all the time, although the batch that announced them may be overwritten; the others are
 * entered in the last batch.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "analysis/calls/internal.h"

bool thread_is_wanted(const struct fcalls *c, uint32_t thread, const struct fcalls_options *o)
{
	const struct fcalls_thread *t = &c->threads[thread].public;

	return (!o->tid || o->tid == t->tid) &&
	       (!o->pid || o->pid == c->processes[t->process].public.pid);
}

/* ---------------------------------------------------------------- open frames */

/* The frames of the calls file; 0 if it is older than the thread's last batch. */
static uint32_t n_frames(const struct fcalls *c, const struct thread_ref *t)
{
	if (!t->area || (t->n && c->refs[t->first + t->n - 1].sequence > t->area->sequence))
		return 0;
	return t->area->depth < ABI_CALLS_FRAMES ? t->area->depth : ABI_CALLS_FRAMES;
}

/* Entry of frame @i; false if it cannot be. */
static bool frame_at(const struct fcalls *c, const struct thread_ref *t, uint32_t i,
		     int64_t *begin_ns)
{
	const struct process *p = &c->processes[t->public.process];
	const struct abi_clock *clock = &p->file->head->clock;
	const struct abi_calls_frame *f = &t->area->frames[i];
	/* the program counts in quanta: so do we, or an entry would differ from its announcement */
	unsigned shift = p->file->head->shift & 31;
	uint64_t ticks = f->ticks >> shift << shift;
	unsigned __int128 ns = ((unsigned __int128)ticks * clock->mult >> 32) + clock->offset_ns;

	*begin_ns = (int64_t)((uint64_t)ns & INT64_MAX) + p->epoch_ns;
	return f->function && f->function < ABI_CALLS_FUNCTIONS && *begin_ns <= c->end_ns;
}

int thread_begin(struct fcalls *c, uint32_t thread, struct batch_thread *state)
{
	const struct thread_ref *t = &c->threads[thread];
	struct batch_lane *lane = batch_lane_of(state, 0);
	uint32_t n = t->n && c->refs[t->first].sequence ? n_frames(c, t) : 0;
	int64_t begin_ns, last_ns = INT64_MIN;
	int err = lane ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++) {
		if (!frame_at(c, t, i, &begin_ns) || begin_ns < last_ns ||
		    begin_ns >= c->refs[t->first].base_ns)
			break;
		err = batch_open(lane, i, t->area->frames[i].function, begin_ns, true);
		last_ns = begin_ns;
	}
	return err;
}

static bool is_close(int64_t a, int64_t b)
{
	enum { APART_NS = 1000 };

	return (uint64_t)a - (uint64_t)b + APART_NS < 2 * APART_NS;
}

int thread_end(struct fcalls *c, uint32_t thread, struct batch_thread *state)
{
	const struct thread_ref *t = &c->threads[thread];
	uint32_t n = n_frames(c, t);
	struct batch_lane *lane = NULL;
	int64_t begin_ns, last_ns = INT64_MIN;
	int err = 0;

	/* the frames of the calls file are those of the stack that ran last */
	if (n)
		lane = state->n_lanes == 1
			       ? &state->lanes[0]
			       : &state->lanes[state->lane < state->n_lanes ? state->lane : 0];
	if (!lane || !state->n_lanes)
		return 0;
	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t function = t->area->frames[i].function;

		if (!frame_at(c, t, i, &begin_ns) || begin_ns < last_ns)
			break;
		last_ns = begin_ns;
		if (i < lane->n_open && lane->open[i].function == function &&
		    is_close(lane->open[i].begin_ns, begin_ns)) {
			lane->open[i].is_sure = true;
			continue;
		}
		/* a copy made while the program ran may be older than the batch */
		if (i < lane->n_open || begin_ns < state->last_ns - 1000)
			break;
		err = batch_open(lane, i, function, begin_ns, false);
		lane->open[i].is_sure = true;
	}
	return err;
}

int64_t thread_end_ns(const struct fcalls *c, uint32_t thread)
{
	const struct thread_ref *t = &c->threads[thread];
	int64_t last_ns = t->end_ns;

	return t->is_last || c->end_ns < last_ns ? last_ns : c->end_ns;
}

/* ---------------------------------------------------------------- blocks */

void block_count(struct fcalls *c, uint32_t thread, const struct block *b)
{
	struct fcalls_thread *t = &c->threads[thread].public;

	if (c->has_losses)
		return;
	c->losses.lost_calls += b->n_lost;
	c->losses.n_torn += b->is_torn;
	c->losses.n_damaged += b->is_damaged;
	c->losses.n_misnested += b->n_misnested;
	t->lost += b->n_lost;
	t->n_torn += b->is_torn;
	t->n_damaged += b->is_damaged;
}

int block_next(struct fcalls *c, uint32_t thread, uint32_t i, struct batch_thread *state,
	       struct block *block)
{
	const struct thread_ref *t = &c->threads[thread];
	struct batch_ref *ref = &c->refs[t->first + i];
	bool is_gap = i ? ref->sequence != ref[-1].sequence + 1 : ref->sequence > 0;
	int err;

	assert(i < t->n);
	if (ref->flags & ABI_BATCH_PROFILE || !batch_bytes(ref)) {
		struct batch_ref empty = *ref;

		empty.n_bytes = 0;
		err = block_decode(block, state, &empty, is_gap);
		block->is_damaged = !(ref->flags & ABI_BATCH_PROFILE);
	} else {
		err = block_decode(block, state, ref, is_gap || ref->lost);
	}
	batch_release(ref);
	return err;
}

/* What is open at the end becomes calls of a last block. */
static int open_calls(struct each *e, bool is_cut)
{
	struct block *b = &e->block;
	int64_t end_ns = is_cut ? e->o->range.to_ns : thread_end_ns(e->c, e->thread);
	int err = 0;

	b->n = b->n_cuts = 0;
	for (uint32_t i = 0; i < e->state.n_lanes && !err; i++)
		err = block_cut_all(b, &e->state, i, end_ns);
	return err ? err
		   : block_resolve(b, &e->state, e->c, e->c->threads[e->thread].public.process);
}

static int each_of_thread(struct each *e)
{
	struct fcalls *c = e->c;
	struct thread_ref *t = &c->threads[e->thread];
	bool is_cut = false;
	int err = thread_begin(c, e->thread, &e->state);

	for (uint32_t i = 0; i < t->n && !err; i++) {
		const struct batch_ref *ref = &c->refs[t->first + i];

		is_cut = ref->base_ns > e->o->range.to_ns;
		if (is_cut)
			break;
		err = block_next(c, e->thread, i, &e->state, &e->block);
		if (!err && e->block.end_ns >= e->o->range.from_ns)
			err = block_resolve(&e->block, &e->state, c, t->public.process);
		else
			e->block.n = e->block.n_cuts = 0;
		block_count(c, e->thread, &e->block);
		if (!err)
			err = e->on_block(e->context, e);
	}
	if (err)
		return err;
	t->end_ns = e->state.last_ns;
	if (!is_cut)
		err = thread_end(c, e->thread, &e->state);
	if (!err)
		err = open_calls(e, is_cut);
	return err ? err : e->on_block(e->context, e);
}

int each_block(struct each *e, struct diag *d)
{
	int err = 0;

	for (e->thread = 0; e->thread < e->c->n_threads && !err; e->thread++) {
		if (!thread_is_wanted(e->c, e->thread, e->o))
			continue;
		err = each_of_thread(e);
		batch_thread_fini(&e->state);
	}
	batch_thread_fini(&e->state);
	block_fini(&e->block);
	if (!err && !e->o->pid && !e->o->tid)
		e->c->has_losses = true;
	return err == -ENOMEM ? diag_fail(d, err, "no memory for calls") : err;
}

/* ---------------------------------------------------------------- calls */

struct calls_out {
	fcalls_on_call *on_call;
	void *context;
};

static int give(const struct calls_out *out, const struct each *e, const struct block_call *from)
{
	const struct fcalls_call call = {
		.begin_ns = from->begin_ns,
		.end_ns = from->end_ns,
		.self_ns = from->self_ns,
		.function = from->function,
		.caller = from->caller,
		.thread = e->thread,
		.stack = e->state.lanes[from->lane].stack,
		.depth = from->depth,
		.flags = from->flags,
		.is_recursive = from->is_recursive,
	};

	return block_overlaps(from, e->o) ? out->on_call(out->context, &call) : 0;
}

static int on_block(void *context, struct each *e)
{
	const struct calls_out *out = context;
	int err = 0;

	for (uint32_t i = 0; i < e->block.n_cuts && !err; i++)
		err = give(out, e, &e->block.cuts[i]);
	for (uint32_t i = 0; i < e->block.n && !err; i++)
		err = give(out, e, &e->block.calls[i]);
	return err;
}

int fcalls_each(struct fcalls *c, const struct fcalls_options *o, fcalls_on_call *on_call,
		void *context, struct diag *d)
{
	struct calls_out out = { on_call, context };
	struct each e = { .c = c, .o = o, .on_block = on_block, .context = &out };

	return each_block(&e, d);
}

/* ---------------------------------------------------------------- small answers */

bool fcalls_has_calls(const struct fcalls *c)
{
	bool has = c->n_refs;

	for (uint32_t i = 0; i < c->n_threads; i++)
		has |= c->threads[i].public.n_nodes > 1 || n_frames(c, &c->threads[i]);
	return has;
}

bool fcalls_has_kernel(const struct fcalls *c)
{
	return c->has_kernel;
}

bool fcalls_is_batch(const struct fcalls *c, const struct trace_event *e)
{
	return c->is_batch[e->ctf->class->number];
}

uint32_t fcalls_n_processes(const struct fcalls *c)
{
	return c->n_processes;
}

const struct fcalls_process *fcalls_process(const struct fcalls *c, uint32_t i)
{
	assert(i < c->n_processes);
	return &c->processes[i].public;
}

uint32_t fcalls_n_threads(const struct fcalls *c)
{
	return c->n_threads;
}

const struct fcalls_thread *fcalls_thread(const struct fcalls *c, uint32_t i)
{
	assert(i < c->n_threads);
	return &c->threads[i].public;
}

void fcalls_losses(const struct fcalls *c, struct fcalls_losses *l)
{
	*l = c->losses;
}
