/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/reclaim.c - what dead writers held goes back to the pool.
 *
 * Whoever dies, at whatever instruction, is named somewhere: in the state word of a chunk he
 * claimed, or in the place of a chunk he was writing into (abi/pool.h).  What always holds:
 *
 *   (1) a chunk is touched only if the one it names is dead, or if it is final: written on the W
 * path and out of its slot.  (When chunks run short, also those that are open and nobody holds.)
 *   (2) only by exchanges that fail if the word is no longer what was seen
 *   (3) what holds events is closed, for the drain to write; only what is empty is freed
 *   (4) at every step one word still tells whose the chunk was, should the collector die too
 *
 * Model: tests/model/ring.pml.
 */
#include <errno.h>
#include <signal.h>

#include "collect/drain/internal.h"
#include "ring/write.h"

bool drain_is_dead(uint32_t pid)
{
	return pid && pid != ABI_HOLDER_UNKNOWN && kill((pid_t)pid, 0) && errno == ESRCH;
}

static bool is_in_slot(const struct drain *d, uint32_t i)
{
	uint64_t ref = pool_ref(d->pool, pool_chunk_at(d->pool, i));

	for (uint32_t k = 0; k < d->pool->n_slots; k++) {
		struct abi_slot *slot = pool_slot(d->pool, k);

		if (load(&slot->chunk) == ref)
			return true;
		for (int x = 0; x < ABI_EXCLUSIVE_PLACES; x++)
			if (ABI_PLACE_REF(load(&slot->exclusive[x])) == ref)
				return true;
	}
	return false;
}

/*
 * Takes the chunks that dead writers held out of their places.  The state word names the holder as
 * owner first, so that at every step, should we die too, one of both tells whose the chunk was.
 */
static void empty_places_of_the_dead(struct drain *d, struct abi_slot *slot)
{
	for (int x = 0; x < ABI_EXCLUSIVE_PLACES; x++) {
		uint64_t place = load_acquire(&slot->exclusive[x]), state;
		struct abi_chunk *c = pool_chunk(d->pool, place);

		if (!c || !drain_is_dead(ABI_HOLDER_OF(place)))
			continue;
		state = load(pool_state(d->pool, c));
		if (ABI_STATE_OF(state) == ABI_OWNED)
			compare_exchange(
				pool_state(d->pool, c), &state,
				ABI_STATE(ABI_ORDER_OF(state), ABI_HOLDER_OF(place), ABI_OWNED));
		compare_exchange(&slot->exclusive[x], &place, 0);
	}
}

/*
 * What becomes of chunk @i if nobody will do it: claimed and never used, it is free; written and
 * out of its slot, it is final.  The exchanges fail if its state is no longer the one seen first.
 *
 * Order matters.  What the owner did it did before it died, so death is asked for first; the word
 * comes before the slots, because a chunk of the W path that holds an event has been in its slot.
 */
static void reclaim_chunk(struct drain *d, uint32_t i)
{
	uint64_t *state = &d->pool->states[i], s = load_acquire(state);
	bool is_busy = ABI_STATE_OF(s) == ABI_BUSY, dead, empty;
	struct abi_chunk *c = pool_chunk_at(d->pool, i);

	if (!is_busy && ABI_STATE_OF(s) != ABI_OWNED)
		return;
	if (is_busy && ABI_OWNER_OF(s) == d->pool->owner)
		return; /* parked: collect/session/memory.h */
	dead = drain_is_dead(ABI_OWNER_OF(s));
	empty = is_busy || ABI_POS_OF(load_acquire(&c->word)) <= sizeof *c;
	if (!dead && (empty || load(&c->path) != ABI_PATH_RSEQ))
		return; /* its owner will do it */
	if (!is_busy && is_in_slot(d, i))
		return;
	if (empty)
		compare_exchange(state, &s,
				 ABI_STATE(fetch_add(&d->pool->shared->order, 1), 0, ABI_FREE));
	else
		pool_close(d->pool, c, s);
}

/* A writer who looks for room where there is none pays for looking at all chunks, and does it again
 * each time that it is told so: not before it is true. */
void drain_report_room(struct drain *d)
{
	if (!load(&d->pool->shared->exhausted))
		return;
	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		if (ABI_STATE_OF(load(&d->pool->states[i])) == ABI_FREE) {
			store(&d->pool->shared->exhausted, 0);
			return;
		}
}

void drain_reclaim(struct drain *d)
{
	for (uint32_t i = 0; i < d->pool->n_slots; i++)
		empty_places_of_the_dead(d, pool_slot(d->pool, i));
	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		reclaim_chunk(d, i);
	if (load(&d->pool->shared->exhausted)) {
		ring_release(d->pool);
		drain_report_room(d);
	}
}
