/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/losses.c - events that programs refused, as their slots count them.
 *
 * Programs write these counters, so they are read through an account (collect/drain/bounds.h).
 */
#include <assert.h>

#include "clock/clock.h"
#include "collect/drain/internal.h"

/* Slots behind those of the CPUs are shared by programs on any CPU. */
static uint32_t count_writers(const struct drain *d, uint32_t slot)
{
	return slot < d->pool->n_cpus ? 1 : d->pool->n_cpus;
}

static uint64_t slot_lost(const struct drain *d, uint32_t slot)
{
	const uint64_t *lost = &pool_slot(d->pool, slot)->lost;
	struct bounds_slot *b = bounds_slot(d->bounds, d->class_id, slot);

	return b ? bounds_count(d->bounds, &b->lost, lost, count_writers(d, slot)) : load(lost);
}

uint64_t drain_slot_lost(const struct drain *d, uint32_t slot)
{
	const struct bounds_slot *b = bounds_slot(d->bounds, d->class_id, slot);
	uint64_t lost = slot_lost(d, slot),
		 reported = b ? DRAIN_REPORTED_LOST(load(&b->reported)) : 0;

	return lost > reported ? lost - reported : 0;
}

uint64_t drain_lost_nowhere(struct drain *d)
{
	uint64_t lost = d->dropped;

	for (uint32_t i = d->pool->n_cpus; i < d->pool->n_slots; i++)
		lost += drain_slot_lost(d, i);
	return lost;
}

uint64_t drain_lost(const struct drain *d)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < d->pool->n_slots; i++)
		lost += slot_lost(d, i);
	return lost + d->dropped;
}

uint64_t drain_too_large(const struct drain *d)
{
	uint64_t n = 0, lost = drain_lost(d);

	for (uint32_t i = 0; i < d->pool->n_slots; i++) {
		const uint64_t *large = &pool_slot(d->pool, i)->too_large;
		struct bounds_slot *b = bounds_slot(d->bounds, d->class_id, i);

		n += b ? bounds_count(d->bounds, &b->too_large, large, count_writers(d, i))
		       : load(large);
	}
	return n < lost ? n : lost; /* they are a part of them */
}

/* Events that had to wait for a chunk. */
uint64_t drain_waited(const struct drain *d)
{
	uint64_t waited = load(&d->pool->shared->waited);

	return d->bounds ? bounds_count(d->bounds, &d->bounds->waited[d->class_id], &waited,
					d->pool->n_cpus)
			 : waited;
}

/* Writes an empty packet that reports losses since the last full one. */
static int report_lost(struct drain *d, uint32_t cpu, struct diag *diag)
{
	struct output *o = &d->cpus[cpu];
	uint64_t now_ns = clock_now_ns(&d->pool->clock), lost = drain_slot_lost(d, cpu);
	struct ctf_packet p = { .begin_ns = now_ns,
				.end_ns = now_ns,
				.discarded = lost,
				.cpu = cpu,
				.is_report = true };
	int err;

	assert(cpu < d->pool->n_cpus);
	if (lost <= o->lost)
		return 0;
	err = drain_describe_stream(d, diag);
	if (!err)
		err = drain_open_stream(d, o, "cpu", cpu, diag);
	if (err)
		return err;
	if (p.begin_ns < o->end_ns)
		p.begin_ns = p.end_ns = o->end_ns;
	p.sequence = o->stream.sequence;
	err = ctf_stream_append(&o->stream, &p, diag);
	if (!err)
		o->lost = lost; /* otherwise it is reported next time */
	return err;
}

int drain_finish(struct drain *d, struct diag *diag)
{
	/* Packets of a pool in overwrite mode are older than now and come first. */
	bool may_report = !d->pool->flight_recorder || d->copies;
	int first = 0, err;

	for (uint32_t i = 0; may_report && i < d->pool->n_cpus; i++) {
		err = report_lost(d, i, first ? NULL : diag);
		first = first ? first : err;
	}
	return first;
}
