/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/coarse.c - look at a coarse pool, so that its times stay within COARSE_MS.
 *
 * After a look the next event of each CPU reads the clock (ring/write_coarse.h, (4)).  So an event that
 * is written after a look is not stamped before it, as in other pools.
 */
#include "clock/clock.h"
#include "collect/drain/internal.h"

/* Ends the stretch of a chunk; whether it had one. */
static bool end_stretch(struct abi_chunk *c)
{
	if (!c || !load(&c->coarse_end))
		return false;
	store(&c->coarse_end, 0);
	return true;
}

void drain_look(struct drain *d)
{
	struct abi_pool *shared = d->pool->shared;
	uint64_t n_closed = drain_count_closed(d), now_ns, since_ns;
	bool any = n_closed != d->n_looked; /* a stretch may have been in a chunk that is closed */

	if (!d->pool->is_coarse)
		return;
	for (uint32_t i = 0; i < d->pool->n_cpus; i++)
		any |= end_stretch(pool_chunk(d->pool, load(&pool_slot(d->pool, i)->chunk)));
	now_ns = clock_now_ns(&d->pool->clock);
	since_ns = now_ns - load(&shared->coarse_looked_ns);
	if (any && load(&shared->coarse_looked_ns) && since_ns > load(&shared->coarse_worst_ns))
		store(&shared->coarse_worst_ns, since_ns);
	store(&shared->coarse_looked_ns, now_ns);
	d->n_looked = n_closed;
}

uint32_t drain_look_ms(const struct drain *d)
{
	return d->pool->is_coarse ? COARSE_MS : UINT32_MAX;
}
