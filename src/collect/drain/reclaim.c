/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/reclaim.c - return chunks of dead writers to the pool.
 *
 * A writer that dies at any instruction is named in shared memory: in the state word of a chunk
 * that it claimed, or in the slot of a chunk that it was writing into (abi/pool.h).  Always:
 *
 *   (1) a chunk is touched only if its owner is dead, or if it is final: written by the rseq path
 *       and no longer in its slot.  If chunks run short, also open chunks that no writer holds
 *   (2) all changes are compare-and-exchange on the word that was read
 *   (3) a chunk with events is closed, for the drain to write; only an empty one is freed
 *   (4) at every step one word names the chunk's last owner, in case the collector dies too
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
 * Removes chunks of dead writers from their slots.  First the state word names the holder as owner,
 * so that at every step, even if we die too, one of the two words names the owner.
 */
static void empty_slots_of_dead_writers(struct drain *d, struct abi_slot *slot)
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
 * Frees or closes chunk @i if no writer will do it.  Claimed and never used, it is freed; written
 * and out of its slot, it is closed.  The exchanges fail if its state has changed since it was
 * read.
 *
 * The order matters.  An owner's last write precedes its death, so the death is checked first.  The
 * word is read before the slots, because an rseq-path chunk with an event has been in its slot.
 */
static void reclaim_chunk(struct drain *d, uint32_t i)
{
	uint64_t *state = &d->pool->states[i], s = load_acquire(state);
	bool is_busy = ABI_STATE_OF(s) == ABI_BUSY, dead, empty;
	struct abi_chunk *c = pool_chunk_at(d->pool, i);

	if (!is_busy && ABI_STATE_OF(s) != ABI_OWNED)
		return;
	if (is_busy && ABI_OWNER_OF(s) == d->pool->owner)
		return; /* parked: collect/memory/memory.h */
	dead = drain_is_dead(ABI_OWNER_OF(s));
	empty = is_busy || ABI_POS_OF(load_acquire(&c->word)) <= sizeof *c;
	if (!dead && (empty || load(&c->path) != ABI_PATH_RSEQ))
		return; /* its owner closes it */
	if (!is_busy && is_in_slot(d, i))
		return;
	if (empty)
		compare_exchange(state, &s,
				 ABI_STATE(fetch_add(&d->pool->shared->order, 1), 0, ABI_FREE));
	else
		pool_close(d->pool, c, s);
}

/*
 * A writer that finds no free chunk has searched them all, and searches again each time the flag is
 * cleared.  So clear it only when a chunk is free.
 */
void drain_clear_exhausted(struct drain *d)
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
		empty_slots_of_dead_writers(d, pool_slot(d->pool, i));
	for (uint32_t i = 0; i < d->pool->n_chunks; i++)
		reclaim_chunk(d, i);
	if (load(&d->pool->shared->exhausted)) {
		ring_release(d->pool);
		drain_clear_exhausted(d);
	}
}
