/* SPDX-License-Identifier: MIT */
/* ring/drift.c - times without the time stamp counter: see drift.h. */
#include "ring/drift.h"

#include <time.h>

#include "clock/clock.h"
#include "ring/pool.h"

enum {
	LEAD_NS = 20000000,
	FALL_MAX_NS = ABI_DRIFT_RAMP_NS / 400,
	LATE_NS = 400000,
	/* A difference beyond it is no drift: the memory was overwritten. */
	JUMP_NS = 1 << 30,
};

static const struct abi_drift_knot *knot(const struct abi_drift *d, uint64_t i)
{
	return &d->knots[i % ABI_DRIFT_KNOTS];
}

/* b - a, if it is small; else 0. */
static int64_t difference(uint64_t a, uint64_t b)
{
	int64_t found = (int64_t)(b - a);

	return found > -JUMP_NS && found < JUMP_NS ? found : 0;
}

void drift_add(struct abi_drift *drift, uint64_t now_ns, uint64_t offset_ns)
{
	uint64_t n = load(&drift->n), from_ns = now_ns + LEAD_NS;
	const struct abi_drift_knot *last = knot(drift, n - 1);
	struct abi_drift_knot *next = &drift->knots[n % ABI_DRIFT_KNOTS];

	if (n && load(&last->from_ns) < from_ns + JUMP_NS &&
	    from_ns < load(&last->from_ns) + ABI_DRIFT_RAMP_NS)
		return;
	if (n && difference(load(&last->offset_ns), offset_ns) < -FALL_MAX_NS)
		offset_ns = load(&last->offset_ns) - FALL_MAX_NS; /* the rest with the next one */
	store(&next->from_ns, from_ns);
	store(&next->offset_ns, offset_ns);
	store_release(&drift->n, n + 1);
}

uint64_t drift_at(const struct abi_drift *drift, uint64_t t_ns)
{
	uint64_t n = load_acquire(&drift->n), i = n, offset_ns, before_ns;

	if (!n)
		return 0;
	/* The oldest may be replaced meanwhile. */
	while (--i && n - i < ABI_DRIFT_KNOTS - 2 && t_ns < load(&knot(drift, i)->from_ns))
		;
	offset_ns = load(&knot(drift, i)->offset_ns);
	before_ns = i ? load(&knot(drift, i - 1)->offset_ns) : offset_ns;
	t_ns -= load(&knot(drift, i)->from_ns);
	if (t_ns >= ABI_DRIFT_RAMP_NS)
		return offset_ns;
	return before_ns +
	       (uint64_t)(difference(before_ns, offset_ns) * (int64_t)t_ns / ABI_DRIFT_RAMP_NS);
}

/* The vDSO reads a page for it, and no counter. */
static uint64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The pool's clock less CLOCK_MONOTONIC, or a little less than that: times may be late, but the
 * collector takes one that is ahead for an impossible one. */
static uint64_t offset_of_clock(const struct pool *p)
{
	uint64_t best_ns = 0;

	for (int i = 0; i < 3; i++) { /* an interrupt in between makes it less */
		uint64_t t_ns = clock_now_ns(&p->clock), offset_ns = t_ns - monotonic_ns();

		if (!i || (int64_t)(offset_ns - best_ns) > 0)
			best_ns = offset_ns;
	}
	return best_ns;
}

void pool_stop_clock(struct pool *p)
{
	uint64_t offset_ns;

	if (p->coarse_offset_ns)
		return;
	offset_ns = offset_of_clock(p);
	p->stopped_ns = clock_now_ns(&p->clock) - offset_ns;
	p->follows_drift = load_acquire(&p->shared->drift.n);
	p->stopped_drift_ns = drift_at(&p->shared->drift, p->stopped_ns);
	/* An offset of 0 would mean that there is none. */
	store(&p->coarse_offset_ns, offset_ns ? offset_ns : -1ull);
	store(&p->restart_bytes, 0);
	store(&p->coarse_bytes, 0);
}

static int64_t within(int64_t v, int64_t most)
{
	return v > most ? most : v < -most ? -most : v;
}

uint64_t pool_offset_at(const struct pool *p, uint64_t t_ns)
{
	int64_t since_ns = (int64_t)(t_ns - p->stopped_ns), late_ns, moved_ns;

	if (!p->follows_drift || since_ns <= 0)
		return load(&p->coarse_offset_ns);
	late_ns = since_ns / 1024;
	moved_ns = (int64_t)(drift_at(&p->shared->drift, t_ns) - p->stopped_drift_ns);
	moved_ns = within(moved_ns, 1000000 + since_ns / 256);
	return load(&p->coarse_offset_ns) + (uint64_t)moved_ns -
	       (uint64_t)(late_ns > LATE_NS ? LATE_NS : late_ns);
}

uint64_t pool_monotonic_of(const struct pool *p, uint64_t t_ns)
{
	uint64_t found_ns = t_ns - load(&p->coarse_offset_ns);

	/* The offset changes by less than 1 in 200, so each turn leaves less than that of the error. */
	for (int i = 0; i < 4; i++)
		found_ns = t_ns - pool_offset_at(p, found_ns);
	return found_ns;
}

uint64_t pool_coarse_ns(const struct pool *p)
{
	uint64_t t_ns = coarse_ns();

	return t_ns > p->stopped_ns ? t_ns : p->stopped_ns; /* a tick before is of exact times */
}

uint64_t pool_now_ns(const struct pool *p)
{
	uint64_t t_ns;

	if (!load(&p->coarse_offset_ns))
		return clock_now_ns(&p->clock);
	t_ns = pool_coarse_ns(p);
	return t_ns + pool_offset_at(p, t_ns);
}
