/* SPDX-License-Identifier: MIT */
/*
 * ring/exclusive.c - the X path: a chunk taken out of its slot by exchange, written at leisure,
 * committed by one store and given back.
 *
 * For whom restartable sequences are not: programs without rseq, events too large to restart, code
 * that a debugger steps through.  Invariants:
 *
 *   (1) a chunk in an x[] place is OWNED and nobody writes into it
 *   (2) a chunk taken out has one writer until it is given back or closed
 *   (3) the commit word only grows, and only its one writer changes it
 *
 * A signal handler that interrupts a writer finds the place empty and takes another chunk, so nesting
 * needs no care.  A writer that dies leaves an OWNED chunk in no slot; the collector closes it when
 * the owner is gone.
 */
#include <string.h>

#include "abi/ctf.h"
#include "clock/clock.h"
#include "ring/rseq.h"
#include "ring/write.h"
#include "ring/write_internal.h"

/* The slot of this CPU, else one of the places for writers who cannot tell. */
static uint32_t own_slot(const struct pool *p)
{
	uint32_t cpu = UINT32_MAX;
	uint64_t hash = (uintptr_t)__builtin_thread_pointer() * 0x9e3779b97f4a7c15ull;

	if (rseq_offset)
		cpu = load(&rseq_self()->cpu_id);
#if defined __x86_64__
	else if (p->clock.kind == ABI_CLOCK_TSC) {
		__builtin_ia32_rdtscp(&cpu);
		cpu &= 0xfff; /* Linux keeps the CPU there, the node above */
	}
#endif
	return cpu < p->n_cpus ? cpu : p->n_cpus + (uint32_t)(hash >> 60) % ABI_UNKNOWN_CPU_SLOTS;
}

static struct abi_chunk *take(struct pool *p, struct abi_slot *slot)
{
	for (int i = 0; i < ABI_X_SLOTS; i++) {
		struct abi_chunk *c;

		if (!load(&slot->x[i]))
			continue;
		c = pool_chunk(p, exchange(&slot->x[i], 0)); /* pairs with give() */
		if (c)
			return c;
	}
	return NULL;
}

static void give(struct pool *p, struct abi_slot *slot, struct abi_chunk *c)
{
	for (int i = 0; i < ABI_X_SLOTS; i++) {
		uint64_t empty = 0;

		if (!load(&slot->x[i]) && compare_exchange(&slot->x[i], &empty, pool_ref(p, c)))
			return;
	}
	pool_close(p, c, load(pool_state(p, c)));
}

static bool has_room(const struct pool *p, const struct abi_chunk *c, uint64_t now_ns,
		     uint32_t size)
{
	uint32_t pos = ABI_POS_OF(load(&c->word));

	return pos >= sizeof *c && pos <= p->chunk_size &&
	       p->chunk_size - pos >= RING_EXTENDED_BYTES + size &&
	       now_ns - load(&c->begin_ns) + (1ull << 32) < ABI_SINCE_MAX;
}

static struct abi_chunk *fresh(struct pool *p, uint32_t slot, uint64_t now_ns)
{
	struct abi_chunk *c = pool_claim(p);

	if (!c)
		return NULL;
	c->begin_ns = now_ns;
	c->sequence = 0;
	c->cpu = slot < p->n_cpus ? slot : ABI_CPU_UNKNOWN;
	c->path = ABI_PATH_X;
	return c;
}

/* A chunk of our own with room for @size bytes, or NULL. */
static struct abi_chunk *acquire(struct pool *p, uint32_t slot, uint32_t size)
{
	struct abi_chunk *c = take(p, pool_slot(p, slot));
	uint64_t now_ns = clock_now_ns(&p->clock);

	if (c && !has_room(p, c, now_ns, size)) {
		pool_close(p, c, load(pool_state(p, c)));
		c = NULL;
	}
	return c ? c : fresh(p, slot, now_ns);
}

void *ring_open(struct pool *p, struct ring_open *o, uint32_t id, ring_context context,
		uint32_t size)
{
	uint32_t slot = own_slot(p), n;
	struct abi_chunk *c = NULL;
	uint64_t word, last_ns, t;
	char *at;

	o->slot = pool_slot(p, slot);
	if (size <= p->chunk_size - sizeof *c - RING_EXTENDED_BYTES)
		c = acquire(p, slot, size);
	if (!c) {
		fetch_add(&o->slot->lost, 1);
		return NULL;
	}
	word = load(&c->word);
	last_ns = load(&c->begin_ns) + ABI_SINCE_OF(word);
	t = clock_now_ns(&p->clock);
	if ((int64_t)(t - last_ns) < 0)
		t = last_ns; /* counters of two CPUs, a few ticks apart */
	at = (char *)c + ABI_POS_OF(word);
	n = ring_put_header(at, id, context, t, last_ns);
	o->chunk = c;
	o->since_ns = t - load(&c->begin_ns);
	o->position = ABI_POS_OF(word) + n;
	return at + n;
}

void ring_commit(struct pool *p, struct ring_open *o, uint32_t size)
{
	/* [A] The event's bytes first, then the word: pairs with [B] in collect/drain.c. */
	store_release(&o->chunk->word, ABI_WORD(o->since_ns, o->position + size));
	give(p, o->slot, o->chunk);
}

bool ring_write_exclusive(struct pool *p, uint32_t id, ring_context context, const void *payload,
			  uint32_t size)
{
	struct ring_open o;
	void *at = ring_open(p, &o, id, context, size);

	if (!at)
		return false;
	memcpy(at, payload, size);
	ring_commit(p, &o, size);
	return true;
}
