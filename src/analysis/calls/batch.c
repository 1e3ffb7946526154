/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/batch.c - one batch as calls, decoded forward.
 *
 * Records are in the order of exits, so a call comes before its caller.  The time of ended calls is
 * summed by depth until their caller ends: that gives self times, in memory for the depth only.
 *
 * Bytes are untrusted.  A batch is valid up to its first byte that is no record.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "analysis/calls/internal.h"

struct decoder {
	struct block *b;
	struct batch_thread *t;
	const struct batch_ref *ref;
	struct batch_lane *lane;
	const uint8_t *at, *end;
	int64_t exit_quanta; /* of the last record, from the base */
	uint32_t depth;
	bool has_depth;
	bool is_gap;
	bool is_unwound;
};

void batch_thread_fini(struct batch_thread *t)
{
	for (uint32_t i = 0; i < t->n_lane_rooms; i++) {
		free(t->lanes[i].open);
		free(t->lanes[i].inner_ns);
	}
	free(t->lanes);
	*t = (struct batch_thread){ 0 };
}

void block_fini(struct block *b)
{
	free(b->calls);
	free(b->cuts);
	free(b->path);
	free(b->active);
	*b = (struct block){ 0 };
}

struct batch_lane *batch_lane_of(struct batch_thread *t, uint32_t stack)
{
	if (t->lane < t->n_lanes && t->lanes[t->lane].stack == stack)
		return &t->lanes[t->lane];
	for (t->lane = 0; t->lane < t->n_lanes; t->lane++)
		if (t->lanes[t->lane].stack == stack)
			return &t->lanes[t->lane];
	if (t->n_lanes == FCALLS_STACKS_MAX ||
	    pass_grow(&t->lanes, &t->n_lane_rooms, t->n_lanes, sizeof *t->lanes))
		return NULL;
	t->lanes[t->n_lanes].stack = stack;
	return &t->lanes[t->n_lanes++];
}

int batch_open(struct batch_lane *lane, uint32_t depth, uint32_t function, int64_t begin_ns,
	       bool is_sure)
{
	assert(depth < FCALLS_DEPTH_MAX);
	if (pass_grow(&lane->open, &lane->n_rooms, depth, sizeof *lane->open))
		return -ENOMEM;
	/* callers that no batch names: their announcement is lost */
	for (; lane->n_open < depth; lane->n_open++)
		lane->open[lane->n_open] = (struct batch_frame){ begin_ns, 0, !is_sure, is_sure };
	lane->open[depth] = (struct batch_frame){ begin_ns, function, !is_sure, is_sure };
	lane->n_open = depth + 1;
	return 0;
}

/* Returns false at the end of the batch, or at a number that is cut or longer than 64 bits. */
static bool take_long(struct decoder *d, uint64_t *v)
{
	const uint8_t *p = d->at;
	uint64_t value = 0;
	int shift = 0;

	do {
		if (p == d->end || shift > 63)
			return false;
		value |= (uint64_t)(*p & 127) << shift;
		shift += 7;
	} while (*p++ & 128);
	*v = value;
	d->at = p;
	return true;
}

/* The same.  Lengths of one to three bytes alternate without a pattern: no branch depends on them. */
static inline bool take(struct decoder *d, uint64_t *v)
{
	uint32_t bytes, ends, bits;

	if (unlikely(d->end - d->at < 4))
		return take_long(d, v);
	memcpy(&bytes, d->at, sizeof bytes);
	bytes = le32toh(bytes);
	ends = ~bytes & 0x808080;
	if (unlikely(!ends))
		return take_long(d, v);
	bits = bytes & (ends ^ (ends - 1)); /* of the first number alone */
	*v = (bits & 0x7f) | (bits >> 1 & 0x3f80) | (bits >> 2 & 0x1fc000);
	d->at += (__builtin_ctz(ends) + 1) / 8;
	return true;
}

/* Quanta from the base, of either sign, as a time. */
static inline int64_t time_of(const struct batch_ref *ref, int64_t quanta)
{
	if (likely(quanta >= 0))
		return ref->base_ns +
		       (int64_t)(((unsigned __int128)(uint64_t)quanta * ref->mult) >> 32);
	/* rounded down too */
	return ref->base_ns -
	       (int64_t)(((unsigned __int128)(uint64_t)-quanta * ref->mult + UINT32_MAX) >> 32);
}

/* Times beyond some centuries are damage; within them no sum overflows. */
enum { QUANTA_BITS = 61 };
static inline bool is_time(const struct batch_ref *ref, uint64_t quanta)
{
	return likely(quanta < 1ull << 40 && ref->mult < 1ull << 52) ||
	       (quanta < 1ull << QUANTA_BITS &&
		((unsigned __int128)quanta * ref->mult) >> 32 < 1ull << QUANTA_BITS);
}

/* ---------------------------------------------------------------- calls */

static int inner_room(struct batch_lane *lane, uint32_t depth)
{
	return pass_grow(&lane->inner_ns, &lane->n_inner_rooms, depth + 1, sizeof *lane->inner_ns);
}

/* Adds the time of a call that ended to its caller's, and returns the time of its own callees.
 * Beyond n_inner all are zero. */
static inline uint64_t sum_inner(struct batch_lane *lane, uint32_t depth, uint64_t ns)
{
	uint64_t inner_ns = lane->inner_ns[depth + 1];

	lane->inner_ns[depth + 1] = 0;
	while (unlikely(lane->n_inner > depth + 2)) { /* callers between are missing */
		inner_ns += lane->inner_ns[--lane->n_inner];
		lane->inner_ns[lane->n_inner] = 0;
	}
	lane->n_inner = depth + 1;
	lane->inner_ns[depth] += ns;
	return inner_ns;
}

static inline void finish(struct block_call *call, struct batch_lane *lane)
{
	uint64_t ns = ((uint64_t)call->end_ns - (uint64_t)call->begin_ns);
	uint64_t inner_ns = sum_inner(lane, call->depth, ns);

	call->self_ns = inner_ns <= ns ? ns - inner_ns : 0;
}

/* The frame ended in a lost batch, at an unknown time after the last one known. */
static int cut(struct decoder *d, const struct batch_frame *f, uint32_t depth)
{
	struct block *b = d->b;
	int64_t end_ns = d->t->last_ns > f->begin_ns ? d->t->last_ns : f->begin_ns;

	if (pass_grow(&b->cuts, &b->n_cut_rooms, b->n_cuts, sizeof *b->cuts) ||
	    inner_room(d->lane, depth))
		return -ENOMEM;
	b->cuts[b->n_cuts] =
		(struct block_call){ .begin_ns = f->begin_ns,
				     .end_ns = end_ns,
				     .function = f->function,
				     .caller = depth ? d->lane->open[depth - 1].function : 0,
				     .depth = depth,
				     .lane = (uint32_t)(d->lane - d->t->lanes),
				     .flags = FCALLS_OPEN,
				     .was_open = true };
	for (uint32_t i = 0; i < depth; i++)
		b->cuts[b->n_cuts].is_recursive |= d->lane->open[i].function == f->function;
	finish(&b->cuts[b->n_cuts++], d->lane);
	return 0;
}

/* Ends open frames from @depth on, innermost first: they have no exit. */
static int cut_from(struct decoder *d, uint32_t depth)
{
	int err = 0;

	while (!err && d->lane->n_open > depth) {
		const struct batch_frame *f = &d->lane->open[--d->lane->n_open];

		if (f->function)
			err = cut(d, f, d->lane->n_open);
	}
	return err;
}

int block_cut_all(struct block *b, struct batch_thread *t, uint32_t lane, int64_t end_ns)
{
	struct decoder d = { .b = b, .t = t, .lane = &t->lanes[lane] };

	t->last_ns = end_ns;
	t->lanes[lane].last = 0;
	return cut_from(&d, 0);
}

static bool is_same(const struct decoder *d, const struct batch_frame *f,
		    const struct block_call *call)
{
	int64_t apart = (int64_t)((uint64_t)call->begin_ns - (uint64_t)f->begin_ns);
	int64_t limit = (int64_t)(2 * (d->ref->mult >> 32)) + 4;

	return f->function == call->function && apart <= limit && apart >= -limit;
}

/* The exit of a call that an announcement, or the calls file, opened. */
static int match_open(struct decoder *d, struct block_call *call)
{
	struct batch_lane *lane = d->lane;
	const struct batch_frame *f = &lane->open[call->depth];
	int err = cut_from(d, call->depth + 1);

	lane->n_open = call->depth;
	if (is_same(d, f, call)) {
		call->begin_ns = f->begin_ns;
		call->was_open = true;
		return err;
	}
	if (f->function) { /* another call than the one announced: that one ended unseen */
		d->b->n_misnested += !d->is_gap;
		return err ? err : cut(d, f, call->depth);
	}
	call->was_open = true;
	call->flags |= FCALLS_HEADLESS;
	return err;
}

static int add_call(struct decoder *d, uint32_t function, uint64_t duration)
{
	struct block *b = d->b;
	struct block_call *call = &b->calls[b->n];
	struct batch_lane *lane = d->lane;

	assert(b->n < b->n_rooms);
	if (unlikely(d->depth + 1 >= lane->n_inner_rooms) && inner_room(lane, d->depth))
		return -ENOMEM;
	*call = (struct block_call){
		.begin_ns = time_of(d->ref, d->exit_quanta - (int64_t)duration),
		.end_ns = time_of(d->ref, d->exit_quanta),
		.function = function,
		.depth = d->depth,
		.lane = (uint32_t)(lane - d->t->lanes),
		.flags = d->is_unwound ? FCALLS_UNWOUND : 0,
	};
	d->is_unwound = false;
	if (unlikely(d->depth < lane->n_open)) {
		if (match_open(d, call))
			return -ENOMEM;
	} else if (unlikely(call->begin_ns < b->base_ns &&
			    (uint64_t)duration > (uint64_t)d->exit_quanta)) {
		call->flags |= FCALLS_HEADLESS;
	}
	if (unlikely(call->end_ns < call->begin_ns))
		call->end_ns = call->begin_ns;
	finish(call, lane);
	call->before = lane->last;
	lane->last = ++b->n;
	return 0;
}

/* ---------------------------------------------------------------- notes */

/* function, depth, zigzag(quanta from its entry to the last exit).  Only frames of the area are
 * announced: a deeper one is damage, and would cost time for each level. */
static int take_open(struct decoder *d, bool *is_sound)
{
	uint64_t function, depth, zigzag;
	int64_t back;
	int err;

	*is_sound = take(d, &function) && take(d, &depth) && take(d, &zigzag) &&
		    function < ABI_CALLS_FUNCTIONS && depth < ABI_CALLS_FRAMES &&
		    is_time(d->ref, zigzag);
	if (!*is_sound)
		return 0;
	back = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
	err = cut_from(d, (uint32_t)depth);
	return err ? err
		   : batch_open(d->lane, (uint32_t)depth, (uint32_t)function,
				time_of(d->ref, d->exit_quanta - back), false);
}

static int take_other(struct decoder *d, bool *is_sound)
{
	uint64_t kind, value;
	struct batch_lane *lane;

	*is_sound = take(d, &kind) && take(d, &value);
	if (!*is_sound)
		return 0;
	switch (kind) {
	case ABI_OTHER_LOST:
		d->b->n_lost += value;
		d->is_gap = true;
		return 0;
	case ABI_OTHER_UNWOUND:
		d->is_unwound = true;
		return 0;
	case ABI_OTHER_STACK:
		*is_sound = value <= UINT32_MAX;
		if (!*is_sound)
			return 0;
		lane = batch_lane_of(d->t, (uint32_t)value);
		if (!lane && d->t->n_lanes < FCALLS_STACKS_MAX)
			return -ENOMEM;
		*is_sound = lane;
		d->lane = lane;
		return 0;
	}
	return 0; /* a kind of a later version: its value is skipped */
}

/* ---------------------------------------------------------------- batches */

static inline bool take_depth(struct decoder *d, uint64_t how)
{
	static const uint32_t steps[] = {
		[ABI_CALL_SAME] = 0, [ABI_CALL_PARENT] = UINT32_MAX, [ABI_CALL_CHILD] = 1
	};
	uint64_t depth;

	if (unlikely(how == ABI_CALL_DEPTH)) {
		if (!take(d, &depth) || depth >= FCALLS_DEPTH_MAX)
			return false;
		d->depth = (uint32_t)depth;
		d->has_depth = true;
		return true;
	}
	d->depth += steps[how]; /* below 0 it is beyond the greatest depth */
	return d->has_depth && d->depth < FCALLS_DEPTH_MAX;
}

/* One record.  Returns 1; 0 at the end of valid bytes; -ENOMEM. */
static inline int take_record(struct decoder *d)
{
	uint64_t delta, duration, code;
	bool is_sound;
	int err;

	if (unlikely(!take(d, &delta) || !take(d, &duration) || !take(d, &code)))
		goto damaged;
	if (unlikely(code < 4)) {
		if (!code || code == 3) {
			d->b->is_torn = !code;
			d->b->is_damaged = code;
			return 0;
		}
		err = code == ABI_NOTE_OPEN ? take_open(d, &is_sound) : take_other(d, &is_sound);
		if (err)
			return err;
		if (!is_sound)
			goto damaged;
		return 1;
	}
	if (unlikely(code >> 2 >= ABI_CALLS_FUNCTIONS || !is_time(d->ref, delta) ||
		     !is_time(d->ref, duration) || !take_depth(d, code & 3)))
		goto damaged;
	d->exit_quanta += (int64_t)delta;
	if (unlikely(!is_time(d->ref, (uint64_t)d->exit_quanta)))
		goto damaged;
	err = add_call(d, (uint32_t)(code >> 2), duration);
	return err ? err : 1;
damaged:
	d->b->is_damaged = true;
	return 0;
}

static int begin(struct decoder *d)
{
	struct block *b = d->b;
	uint32_t most = d->ref->n_bytes / 3 + 1;

	b->n = b->n_cuts = 0;
	b->n_lost = 0;
	b->n_misnested = 0;
	b->is_torn = b->is_damaged = false;
	b->base_ns = b->end_ns = d->ref->base_ns;
	if (most > b->n_rooms) {
		struct block_call *more = realloc(b->calls, most * sizeof *more);

		if (!more)
			return -ENOMEM;
		b->calls = more;
		b->n_rooms = most;
	}
	for (uint32_t i = 0; i < d->t->n_lanes; i++) {
		struct batch_lane *lane = &d->t->lanes[i];

		lane->last = 0;
		for (uint32_t k = lane->n_open; k-- && lane->open[k].is_new;)
			lane->open[k].is_new = false;
	}
	d->lane = batch_lane_of(d->t, 0);
	return d->lane ? 0 : -ENOMEM;
}

int block_decode(struct block *b, struct batch_thread *t, const struct batch_ref *ref, bool is_gap)
{
	struct decoder d = { .b = b,
			     .t = t,
			     .ref = ref,
			     .at = ref->bytes,
			     .end = ref->bytes + ref->n_bytes,
			     .is_gap = is_gap };
	int err = begin(&d), got = 1;

	assert(ref->n_bytes <= FCALLS_BATCH_BYTES_MAX);
	while (!err && got && d.at < d.end) {
		got = take_record(&d);
		if (got < 0)
			err = got;
	}
	b->end_ns = time_of(ref, d.exit_quanta);
	if (b->end_ns > t->last_ns)
		t->last_ns = b->end_ns;
	return err;
}
