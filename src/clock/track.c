/* SPDX-License-Identifier: MIT */
/*
 * clock/track.c - keep the knots of a track, and interpolate between them.
 *
 * The knots are a ring: a new one overwrites the oldest, so lookups of times long past are clamped
 * to the oldest knot.
 */
#include "clock/track.h"

#include <assert.h>

#include "base/atomic.h"
#include "clock/clock.h"

static const struct clock_knot *knot(const struct clock_track *f, uint64_t i)
{
	return &f->knots[i % CLOCK_KNOTS];
}

void clock_track_add(struct clock_track *f, struct clock_knot k)
{
	uint64_t n = f->n;

	if (n && (k.monotonic_ns <= knot(f, n - 1)->monotonic_ns || k.ns <= knot(f, n - 1)->ns))
		return;
	f->knots[n % CLOCK_KNOTS] = k;
	store_release(&f->n, n + 1); /* the knot first, then the count: a successor process reads
					only whole knots */
}

uint64_t clock_track_step(struct clock_track *f)
{
	struct clock_knot k;
	uint64_t ticks = clock_pair(&f->clock, &k.monotonic_ns);

	if (f->clock.kind == ABI_CLOCK_MONOTONIC)
		k.monotonic_ns = ticks; /* exact, since it is that clock */
	k.ns = clock_ns(&f->clock, ticks);
	clock_track_add(f, k);
	return knot(f, f->n - 1)->monotonic_ns;
}

void clock_track_begin(struct clock_track *f, const struct abi_clock *clock)
{
	f->clock = *clock;
	f->n = 0;
	clock_track_step(f);
}

void clock_track_line(const struct clock_track *f, uint64_t monotonic_ns, struct clock_line *l)
{
	uint64_t last = f->n - 1, first = f->n > CLOCK_KNOTS ? f->n - CLOCK_KNOTS : 0, i = last;
	const struct clock_knot *a, *b;

	assert(f->n > 0);
	while (i > first && knot(f, i)->monotonic_ns > monotonic_ns)
		i--;
	a = knot(f, i);
	*l = (struct clock_line){ .from_ns = a->monotonic_ns, .ns = a->ns };
	if (monotonic_ns < a->monotonic_ns) {
		l->from_ns = monotonic_ns; /* before all knots */
		l->length_ns = 1;
	} else if (i == last) {
		l->length_ns = 0; /* callers must look again: there may be another knot then */
	} else {
		b = knot(f, i + 1);
		assert(monotonic_ns < b->monotonic_ns && a->ns < b->ns); /* (2) */
		l->length_ns = b->monotonic_ns - a->monotonic_ns;
		l->slope = (uint64_t)(((unsigned __int128)(b->ns - a->ns) << 32) / l->length_ns);
	}
}
