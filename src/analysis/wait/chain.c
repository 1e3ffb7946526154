/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/chain.c - follows wakeups back from the end of a wait to its causes: see wait.h.
 *
 * The path is built from its end. Depth and number of slices are bounded, so a cycle of wakeups
 * ends too.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/wait/internal.h"

void wait_keep(struct wait_thread *t, const struct wait_segment *s)
{
	uint32_t room = t->room ? t->room * 2 : 16;
	struct wait_segment *bigger;

	assert(t->n_history <= t->room && t->room <= WAIT_KEPT);
	assert(s->begin_ns < s->end_ns);
	if (t->n_history == t->room && t->room < WAIT_KEPT) {
		bigger = realloc(t->history, room * sizeof *bigger); /* it has not wrapped yet:
								   * first is 0 */
		if (!bigger)
			return;
		t->history = bigger;
		t->room = room;
	}
	if (t->n_history < t->room) {
		t->history[(t->first + t->n_history++) % t->room] = *s;
		return;
	}
	t->history[t->first] = *s;
	t->first = (t->first + 1) % t->room;
}

/* ---------------------------------------------------------------- parts */

static uint32_t bucket_of(const struct wait_part *p)
{
	uint64_t h = p->state + 8u * p->call + ((uint64_t)p->thread << 32);

	h = (h ^ p->object ^ (uint64_t)p->site << 32) * 0x9E3779B97F4A7C15u;
	h = (h ^ p->holder ^ (uint64_t)p->waiter << 32) * 0x9E3779B97F4A7C15u;
	h = (h ^ (p->cause.kind + 4u * p->cause.source)) * 0x9E3779B97F4A7C15u;
	return (uint32_t)(h >> 54);
}

static bool is_like(const struct wait_part *a, const struct wait_part *b)
{
	return a->state == b->state && a->call == b->call && a->thread == b->thread &&
	       a->object == b->object && a->is_fault == b->is_fault &&
	       a->cause.kind == b->cause.kind && a->cause.source == b->cause.source &&
	       a->site == b->site && a->holder == b->holder && a->waiter == b->waiter &&
	       a->has_others == b->has_others;
}

int wait_part_add(struct wait_parts *p, const struct wait_part *like, uint64_t ns, int64_t at_ns)
{
	uint32_t *bucket = &p->buckets[bucket_of(like)], i = *bucket;
	struct wait_part *part;

	while (i && !is_like(&p->at[i - 1], like))
		i = p->at[i - 1].next;
	if (!i) {
		if (pass_grow(&p->at, &p->n_rooms, p->n, sizeof *p->at))
			return -1;
		p->at[p->n] = *like;
		p->at[p->n].next = *bucket;
		i = *bucket = ++p->n;
	}
	part = &p->at[i - 1];
	part->n++;
	part->ns += ns;
	if (ns > part->max_ns) {
		part->max_ns = ns;
		part->max_at_ns = at_ns;
	}
	return 0;
}

static int most_time_first(const void *a, const void *b)
{
	const struct wait_part *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return x->call != y->call ? (x->call < y->call ? -1 : 1)
				  : (x->object < y->object ? -1 : x->object > y->object);
}

void wait_parts_sort(struct wait_parts *p)
{
	if (p->n)
		qsort(p->at, p->n, sizeof *p->at, most_time_first);
}

/* ---------------------------------------------------------------- the path */

static void put(struct wait_walk *w, const struct wait_slice *one)
{
	if (one->begin_ns >= one->end_ns)
		return;
	w->n_left -= w->n_left > 0;
	w->slice(w, one);
}

static void resolve(struct wait_walk *w, uint32_t thread, int64_t begin_ns, int64_t end_ns,
		    uint8_t depth)
{
	struct wait_slice rest = {
		.begin_ns = begin_ns, .thread = thread, .state = WAIT_UNKNOWN, .depth = depth
	};
	int64_t cursor = end_ns;
	struct wait_segment s;

	while (cursor > begin_ns && w->state(w, thread, cursor, &s)) {
		int64_t from = s.begin_ns > begin_ns ? s.begin_ns : begin_ns;

		assert(s.begin_ns < cursor);
		if (s.end_ns < cursor || w->n_left <= WAIT_DEEPEST + 2)
			break; /* a gap: the thread did not exist, or its state is unknown */
		if (s.state == WAIT_BLOCKED && s.waker && s.end_ns == cursor &&
		    depth < WAIT_DEEPEST) {
			if (w->turn)
				w->turn(w, &s, thread, from, cursor, false);
			resolve(w, s.waker, from, cursor, depth + 1);
			if (w->turn)
				w->turn(w, &s, thread, from, cursor, true);
		} else {
			put(w, &(struct wait_slice){ from, cursor, s.state, depth, s.call, thread,
						     s.end_ns == cursor ? s.cause
									: (struct wait_cause){ 0 },
						     s.object, s.holder });
		}
		cursor = from;
	}
	rest.end_ns = cursor;
	put(w, &rest);
}

void wait_walk(struct wait_walk *w, uint32_t waker, int64_t begin_ns, int64_t end_ns)
{
	assert(begin_ns < end_ns);
	resolve(w, waker, begin_ns, end_ns, 1);
}

/* ---------------------------------------------------------------- over histories */

struct chain {
	struct wait_walk walk;
	const struct wait_thread *threads;
	uint32_t n_threads;
	struct wait_slice *slices;
	uint32_t n;
};

/* Adds a slice before all others; joins it with the one behind it if they are alike. */
static void add_slice(struct wait_walk *w, const struct wait_slice *one)
{
	struct chain *c = (struct chain *)w;
	struct wait_slice *last = c->n ? &c->slices[c->n - 1] : NULL;

	if (last && last->begin_ns == one->end_ns && last->thread == one->thread &&
	    last->state == one->state && last->call == one->call && last->object == one->object &&
	    last->holder == one->holder && last->cause.kind == one->cause.kind &&
	    last->cause.source == one->cause.source) {
		last->begin_ns = one->begin_ns;
		w->n_left++;
		return;
	}
	assert(c->n < WAIT_SLICES_MAX);
	assert(!last || last->begin_ns == one->end_ns); /* no gap */
	c->slices[c->n++] = *one;
}

/* Number @back before the open state. */
static const struct wait_segment *segment_at(const struct wait_thread *t, uint32_t back)
{
	if (!back)
		return &t->now;
	return &t->history[(t->first + t->n_history - back) % t->room];
}

static bool kept_state(struct wait_walk *w, uint32_t thread, int64_t at_ns, struct wait_segment *s)
{
	const struct chain *c = (const struct chain *)w;
	const struct wait_thread *t = thread < c->n_threads ? &c->threads[thread] : NULL;
	uint32_t low = 0, high = t ? t->n_history + 1 : 0; /* begins descend */

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (segment_at(t, middle)->begin_ns >= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!t || low > t->n_history)
		return false;
	*s = *segment_at(t, low);
	return true;
}

uint32_t wait_chain(const struct wait_thread *threads, uint32_t n_threads, uint32_t waker,
		    int64_t begin_ns, int64_t end_ns, struct wait_slice *slices)
{
	struct chain c = {
		{ kept_state, add_slice, NULL, WAIT_SLICES_MAX }, threads, n_threads, slices, 0
	};

	wait_walk(&c.walk, waker, begin_ns, end_ns);
	assert(c.n && slices[0].end_ns == end_ns && slices[c.n - 1].begin_ns == begin_ns);
	return c.n;
}
