/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/coarse.c - look at a coarse pool, so that its times stay within COARSE_MS; and say how the
 * clock of any pool drifts (ring/drift.h).
 *
 * After a look the next event of each CPU reads the clock (ring/write_coarse.h, (4)).  So an event that
 * is written after a look is not stamped before it, as in other pools.
 */
#include "clock/clock.h"
#include "collect/drain/internal.h"
#include "ring/drift.h"

/* Ends the stretch of a chunk; whether it had one. */
static bool end_stretch(struct abi_chunk *c)
{
	if (!c || !load(&c->coarse_end))
		return false;
	store(&c->coarse_end, 0);
	return true;
}

void drain_publish_drift(struct drain *d)
{
	uint64_t t_ns, ticks = clock_pair(&d->pool->clock, &t_ns);

	drift_add(&d->pool->shared->drift, t_ns, clock_ns(&d->pool->clock, ticks) - t_ns);
	d->drift_ns = t_ns;
}

void drain_look(struct drain *d)
{
	struct abi_pool *shared = d->pool->shared;
	uint64_t n_closed, before_ns, after_ns, looked_ns;
	bool any;

	if (monotonic_ns() - d->drift_ns > ABI_DRIFT_RAMP_NS)
		drain_publish_drift(d);
	if (!d->pool->is_coarse)
		return;
	n_closed = drain_count_closed(d);
	any = n_closed != d->n_looked; /* a stretch may have been in a chunk that is closed */
	/* A stretch may begin as soon as the one before is ended: it counts from before the look. */
	before_ns = clock_now_ns(&d->pool->clock);
	for (uint32_t i = 0; i < d->pool->n_cpus; i++)
		any |= end_stretch(pool_chunk(d->pool, load(&pool_slot(d->pool, i)->chunk)));
	after_ns = clock_now_ns(&d->pool->clock);
	looked_ns = load(&shared->coarse_looked_ns);
	if (any && looked_ns && looked_ns < after_ns &&
	    after_ns - looked_ns > load(&shared->coarse_worst_ns))
		store(&shared->coarse_worst_ns, after_ns - looked_ns);
	store(&shared->coarse_looked_ns, before_ns);
	d->n_looked = n_closed;
}

uint32_t drain_look_ms(const struct drain *d)
{
	return d->pool->is_coarse ? COARSE_MS : UINT32_MAX;
}
