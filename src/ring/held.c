/* SPDX-License-Identifier: MIT */
/* ring/held.c - see held.h. */
#include "ring/held.h"

#include "base/atomic.h"
#include "ring/internal.h"

enum { MOST_HELD = 3, MOST_FRAMES_BYTES = 16384 };

/* Small: all of it lies in the static TLS that libduet needs when it is loaded late. */
struct held {
	void *live; /* NULL: empty */
	struct pool *pool;
	struct abi_chunk *chunk;
	uint64_t *place;
	uint64_t word; /* of the chunk, before the event; or RING_WORD_UNKNOWN */
	uint32_t order;
	uint32_t generation;
};

static __thread struct held held[MOST_HELD];
static __thread uint32_t next; /* the entry that was made longest ago */

static uint32_t generation_of(const struct pool *p)
{
	return p->incarnation ? p->generation : 0;
}

void held_add(struct pool *p, const struct ring_open *o, uint64_t order)
{
	uint32_t i = 0;

	while (i < MOST_HELD && load(&held[i].live))
		i++;
	if (i == MOST_HELD)
		i = next++ % MOST_HELD;
	store(&held[i].live, NULL);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	held[i].pool = p;
	held[i].chunk = o->chunk;
	held[i].place = o->place;
	held[i].word = RING_WORD_UNKNOWN;
	held[i].order = (uint32_t)order;
	held[i].generation = generation_of(p);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	store(&held[i].live, o->live);
}

static struct held *find(const struct ring_open *o)
{
	for (uint32_t i = 0; i < MOST_HELD; i++)
		if (load(&held[i].live) == o->live)
			return &held[i];
	return NULL;
}

void held_begin(const struct ring_open *o, uint64_t word)
{
	struct held *h = find(o);

	if (h)
		store(&h->word, word);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void held_remove(const struct ring_open *o)
{
	struct held *h = find(o);

	if (h)
		store(&h->live, NULL);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static bool is_over(const void *old, void *live)
{
	uintptr_t at = (uintptr_t)old, high = (uintptr_t)live,
		  low = (uintptr_t)__builtin_frame_address(0);

	if (at == high)
		return true;
	return low < high && high - low <= MOST_FRAMES_BYTES && at >= low && at < high;
}

void held_settle(void *live)
{
	for (uint32_t i = 0; i < MOST_HELD; i++) {
		struct held h = held[i];

		if (!h.live || !is_over(h.live, live))
			continue;
		store(&held[i].live, NULL); /* first: a handler must not find it too */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (h.generation == generation_of(h.pool) && pool_is_ours(h.pool))
			ring_give_back(h.pool, h.chunk, h.place, h.word, h.order);
	}
}
