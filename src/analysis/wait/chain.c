/* SPDX-License-Identifier: MIT */
/* analysis/wait/chain.c - the way back from a wakeup to what was waited for: see wait.h. */
#include <stdlib.h>
#include <string.h>

#include "analysis/wait/internal.h"

void wait_keep(struct wait_thread *l, const struct wait_segment *s)
{
	uint32_t room = l->room ? l->room * 2 : 16;
	struct wait_segment *bigger;

	if (l->n_kept == l->room && l->room < WAIT_KEPT) {
		bigger = realloc(l->kept, room * sizeof *bigger); /* not yet wrapped: first is 0 */
		if (!bigger)
			return;
		l->kept = bigger;
		l->room = room;
	}
	if (l->n_kept < l->room) {
		l->kept[(l->first + l->n_kept++) % l->room] = *s;
		return;
	}
	l->kept[l->first] = *s;
	l->first = (l->first + 1) % l->room;
}

/* ---------------------------------------------------------------- parts */

static uint32_t bucket_of(const struct wait_part *p)
{
	uint64_t h = p->state + 8u * p->call + ((uint64_t)p->thread << 32);

	h = (h ^ (uint64_t)p->object) * 0x9E3779B97F4A7C15u;
	h = (h ^ (p->cause.kind + 4u * p->cause.source)) * 0x9E3779B97F4A7C15u;
	return (uint32_t)(h >> 54);
}

static bool is_like(const struct wait_part *a, const struct wait_part *b)
{
	return a->state == b->state && a->call == b->call && a->thread == b->thread &&
	       a->object == b->object && !a->object_name == !b->object_name &&
	       a->is_fault == b->is_fault && a->cause.kind == b->cause.kind &&
	       a->cause.source == b->cause.source;
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

void wait_parts_finalize(struct wait_parts *p)
{
	if (p->n)
		qsort(p->at, p->n, sizeof *p->at, most_time_first);
}

/* ---------------------------------------------------------------- the path */

struct walk {
	const struct wait_thread *threads;
	uint32_t n_incarnations;
	struct wait_slice *slices;
	uint32_t n;
};

/* Adds a piece before all others; joins it with the one behind it where they are alike. */
static void put(struct walk *w, const struct wait_slice *one)
{
	struct wait_slice *last = w->n ? &w->slices[w->n - 1] : NULL;

	if (one->begin_ns >= one->end_ns)
		return;
	if (last && last->begin_ns == one->end_ns && last->thread == one->thread &&
	    last->state == one->state && last->call == one->call &&
	    last->cause.kind == one->cause.kind && last->cause.source == one->cause.source) {
		last->begin_ns = one->begin_ns;
		return;
	}
	w->slices[w->n++] = *one;
}

static const struct wait_segment *segment_at(const struct wait_thread *l, uint32_t back)
{
	if (!back)
		return &l->now;
	return &l->kept[(l->first + l->n_kept - back) % l->room];
}

static void resolve(struct walk *w, uint32_t thread, int64_t begin_ns, int64_t end_ns,
		    uint8_t depth)
{
	const struct wait_thread *l = thread < w->n_incarnations ? &w->threads[thread] : NULL;
	struct wait_slice rest = {
		.begin_ns = begin_ns, .thread = thread, .state = WAIT_UNKNOWN, .depth = depth
	};
	int64_t cursor = end_ns;

	for (uint32_t back = 0; l && back <= l->n_kept && cursor > begin_ns; back++) {
		const struct wait_segment *s = segment_at(l, back);
		int64_t from = s->begin_ns > begin_ns ? s->begin_ns : begin_ns;

		if (s->begin_ns >= cursor)
			continue;
		if (s->end_ns < cursor || w->n >= WAIT_SLICES_MAX - WAIT_DEEPEST - 2)
			break; /* a gap: it was not there, or nobody knows */
		if (s->state == WAIT_BLOCKED && s->waker && s->end_ns == cursor &&
		    depth < WAIT_DEEPEST)
			resolve(w, s->waker, from, cursor, depth + 1);
		else
			put(w, &(struct wait_slice){
				       from, cursor, s->state, depth, s->call, thread,
				       s->end_ns == cursor ? s->cause : (struct wait_cause){ 0 } });
		cursor = from;
	}
	rest.end_ns = cursor;
	put(w, &rest);
}

uint32_t wait_chain(const struct wait_thread *threads, uint32_t n_incarnations, uint32_t waker,
		    int64_t begin_ns, int64_t end_ns, struct wait_slice *slices)
{
	struct walk w = { threads, n_incarnations, slices, 0 };

	resolve(&w, waker, begin_ns, end_ns, 1);
	return w.n;
}
