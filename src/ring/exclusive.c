/* SPDX-License-Identifier: MIT */
/*
 * ring/exclusive.c - the exclusive path: a writer owns a chunk while it writes one event.
 *
 * It serves writers that cannot use restartable sequences: programs without rseq, events too large
 * to restart, code that a debugger steps through.  Invariants:
 *
 *   (1) while a chunk is in use it is in at most one place; before and after that in none
 *   (2) in a place the holder that the place names writes it, if any; else the owner that its state
 *       word names
 *   (3) only the process named there changes both; the collector does if that one is dead; a place
 *       that names no process belongs to the first that exchanges it
 *   (4) the commit word only grows, and only that one writer changes it
 *
 * A signal handler that interrupts a writer finds the place held and takes another one, so nesting
 * needs no care.  If the handler never returns (siglongjmp), the thread itself gives the chunk back
 * later: ring/held.h.  A process that dies, at whatever instruction, is named in a place or a state
 * word, and the collector closes the chunk it left.
 *
 * Taking the chunk out of its place would be simpler.  But then a process that dies with it is
 * named nowhere: the state word names the chunk's first owner, which may be dead while another one
 * writes.
 */
#include <string.h>

#include "abi/ctf.h"
#include "clock/clock.h"
#include "ring/drift.h"
#include "ring/held.h"
#include "ring/rseq.h"
#include "ring/write.h"
#include "ring/internal.h"
#include "ring/write_coarse.h"

/* The slot of this CPU, else one of the slots for writers that do not know their CPU. */
static uint32_t own_slot(const struct pool *p)
{
	uint32_t cpu = UINT32_MAX;
	uint64_t hash = (uintptr_t)__builtin_thread_pointer() * 0x9e3779b97f4a7c15ull;

	if (rseq_offset)
		cpu = load(&rseq_self()->cpu_id);
#if defined __x86_64__
	else if (p->clock.kind == ABI_CLOCK_TSC && !load(&p->coarse_offset_ns)) {
		__builtin_ia32_rdtscp(&cpu);
		cpu &= 0xfff; /* Linux keeps the CPU there, the node above */
	}
#endif
	return cpu < p->n_cpus ? cpu : p->n_cpus + (uint32_t)(hash >> 60) % ABI_UNKNOWN_CPU_SLOTS;
}

static uint32_t own_holder(const struct pool *p)
{
	return p->owner && p->owner < ABI_HOLDER_UNKNOWN ? p->owner : ABI_HOLDER_UNKNOWN;
}

/* Makes us the holder of the chunk in place @i of o->slot, if there is one without a holder. */
static bool take(const struct pool *p, struct ring_open *o, int i)
{
	uint64_t place = load(&o->slot->exclusive[i]);

	o->place = &o->slot->exclusive[i];
	o->chunk = pool_chunk(p, place);
	return o->chunk && !ABI_HOLDER_OF(place) && /* pairs with [G], put_back() */
	       compare_exchange(o->place, &place, ABI_PLACE(place, own_holder(p)));
}

static bool take_any(const struct pool *p, struct ring_open *o)
{
	for (int i = 0; i < ABI_EXCLUSIVE_PLACES; i++)
		if (take(p, o, i))
			return true;
	return false;
}

static void close_own(struct pool *p, struct abi_chunk *c)
{
	pool_close(p, c, load(pool_state(p, c)));
}

/* Closes a full chunk that we hold.  Its state word names us before its place is empty. */
static void retire(struct pool *p, struct ring_open *o)
{
	uint64_t *state = pool_state(p, o->chunk), s = load(state);

	if (ABI_STATE_OF(s) == ABI_OWNED)
		compare_exchange(state, &s, ABI_STATE(ABI_ORDER_OF(s), p->owner, ABI_OWNED));
	store_release(o->place, 0);
	close_own(p, o->chunk);
}

static void put_back(struct pool *p, struct ring_open *o)
{
	if (o->place) {
		store_release(o->place,
			      pool_ref(p, o->chunk)); /* [G] only the holder may change it */
		return;
	}
	for (int i = 0; i < ABI_EXCLUSIVE_PLACES; i++) {
		uint64_t empty = 0;

		if (!load(&o->slot->exclusive[i]) &&
		    compare_exchange(&o->slot->exclusive[i], &empty, pool_ref(p, o->chunk)))
			return;
	}
	close_own(p, o->chunk);
}

/*
 * Without the time stamp counter, all events within a tick of the kernel have the same time.  Events
 * of one thread get times two nanoseconds apart (drift.h, (2)), because a thread that changes its CPU also
 * changes its stream.  This is the time of the thread's newest event, by CLOCK_MONOTONIC, which all pools share.
 *
 * Invariant: it is at most TICK_NS after the last tick, whatever a chunk contains.  A signal handler
 * may write events at any point.
 */
static __thread uint64_t newest_coarse_ns __attribute__((tls_model("initial-exec")));

static uint64_t time_of_thread(const struct pool *p)
{
	uint64_t newest_ns = load(&newest_coarse_ns), now_ns, t_ns;

	if (!load(&p->coarse_offset_ns))
		return clock_now_ns(&p->clock);
	now_ns = pool_coarse_ns(p);
	do
		t_ns = now_ns > newest_ns ? now_ns : newest_ns + 2;
	while (!compare_exchange(&newest_coarse_ns, &newest_ns, t_ns));
	return t_ns + pool_offset_at(p, t_ns);
}

/* The event has the time @t_ns of the event before it in the chunk, which may be of a writer with an
 * exact clock.  A forged time is later than that, and does not count for other events. */
static void follow_chunk(const struct pool *p, uint64_t t_ns)
{
	enum { TICK_NS = 10000000 };
	uint64_t newest_ns = load(&newest_coarse_ns);

	if (!load(&p->coarse_offset_ns))
		return;
	t_ns = pool_monotonic_of(p, t_ns);
	if (t_ns > pool_coarse_ns(p) + TICK_NS)
		return;
	while (t_ns > newest_ns && !compare_exchange(&newest_coarse_ns, &newest_ns, t_ns))
		;
}

/* The timestamp of our event in o->chunk; the counters of two CPUs may differ by a few ticks. */
static uint64_t time_in(const struct abi_chunk *c, uint64_t now_ns)
{
	uint64_t last_ns = load(&c->begin_ns) + ABI_SINCE_OF(load(&c->word));

	return (int64_t)(now_ns - last_ns) < 0 ? last_ns : now_ns;
}

static bool has_room(const struct pool *p, const struct abi_chunk *c, uint64_t t_ns, uint32_t size)
{
	uint32_t pos = ABI_POS_OF(load(&c->word));

	return pos >= sizeof *c && pos <= p->chunk_size &&
	       p->chunk_size - pos >= RING_HEADER_BYTES_MAX + size &&
	       t_ns - load(&c->begin_ns) < ABI_SINCE_MAX;
}

static bool fresh(struct pool *p, struct ring_open *o, uint32_t slot, uint64_t now_ns)
{
	uint64_t state;
	struct abi_chunk *c = pool_take(p, slot, &state);

	o->place = NULL;
	o->chunk = c;
	if (!c)
		return false;
	if (o->live)
		held_add(p, o, ABI_ORDER_OF(state));
	pool_own(p, c, state);
	store(&c->begin_ns, now_ns);
	store(&c->sequence, 0);
	store(&c->cpu, slot < p->n_cpus ? slot : ABI_CPU_UNKNOWN);
	store(&c->path, ABI_PATH_EXCLUSIVE);
	return true;
}

/* Finds a chunk with room for @size bytes and takes it.  Returns the event's timestamp; 0: none. */
static uint64_t acquire(struct pool *p, struct ring_open *o, uint32_t slot, uint32_t size)
{
	bool taken = take_any(p, o);
	uint64_t now_ns, t_ns;

	if (taken && o->live)
		held_add(p, o, 0);
	now_ns = time_of_thread(p);
	if (taken) {
		t_ns = time_in(o->chunk, now_ns);
		if (t_ns != now_ns)
			follow_chunk(p, t_ns);
		if (has_room(p, o->chunk, t_ns, size))
			return t_ns;
		if (o->live)
			held_remove(o);
		retire(p, o);
	}
	return fresh(p, o, slot, now_ns) ? now_ns : 0;
}

/* A chunk that is in no place, and into which no event was published, is free again. */
static bool free_unused(struct pool *p, struct abi_chunk *c, uint64_t order)
{
	uint64_t s = load(pool_state(p, c));
	bool is_unused = ABI_STATE_OF(s) == ABI_BUSY ||
			 (ABI_STATE_OF(s) == ABI_OWNED && ABI_POS_OF(load(&c->word)) <= sizeof *c);

	return is_unused && ABI_ORDER_OF(s) == order && ABI_OWNER_OF(s) == p->owner &&
	       compare_exchange(pool_state(p, c), &s,
				ABI_STATE(fetch_add(&p->shared->order, 1), 0, ABI_FREE));
}

void ring_give_back(struct pool *p, struct abi_chunk *c, uint64_t *place, uint64_t word,
		    uint64_t order)
{
	struct abi_slot *slot = pool_slot(p, own_slot(p));

	if (place) {
		if ((word != RING_WORD_UNKNOWN && load(&c->word) != word) ||
		    load(place) != ABI_PLACE(pool_ref(p, c), own_holder(p)))
			return;
		/* [G] The bytes written lie beyond the word, so no reader uses them. */
		store_release(place, pool_ref(p, c));
	} else if (!free_unused(p, c, order)) {
		return;
	}
	fetch_add(&slot->lost, 1);
}

void *ring_open(struct pool *p, struct ring_open *o, uint32_t id, ring_context context,
		uint32_t size)
{
	return ring_open_on_stack(p, o, NULL, id, context, size);
}

void *ring_open_on_stack(struct pool *p, struct ring_open *o, void *live, uint32_t id,
			 ring_context context, uint32_t size)
{
	uint32_t slot = own_slot(p), n;
	uint64_t word, begin_ns, t_ns = 0;
	char *at;

	o->slot = pool_slot(p, slot);
	o->live = live;
	if (!pool_is_ours(p))
		return NULL; /* the parent's event: the parent records or counts it */
	if (live)
		held_settle(live);
	if (size <= p->chunk_size - sizeof *o->chunk - RING_HEADER_BYTES_MAX)
		t_ns = acquire(p, o, slot, size);
	else
		fetch_add(&o->slot->too_large, 1);
	if (!t_ns) {
		fetch_add(&o->slot->lost, 1);
		return NULL;
	}
	word = load(&o->chunk->word);
	if (live)
		held_begin(o, word);
	begin_ns = load(&o->chunk->begin_ns);
	at = (char *)o->chunk + ABI_POS_OF(word);
	n = ring_put_header(p, at, id, context, t_ns, begin_ns + ABI_SINCE_OF(word));
	o->since_ns = t_ns - begin_ns;
	o->position = ABI_POS_OF(word) + n;
	return at + n;
}

static void let_go(struct pool *p, struct ring_open *o)
{
	if (o->live)
		held_remove(o);
	put_back(p, o);
}

void ring_commit(struct pool *p, struct ring_open *o, uint32_t size)
{
	if (!pool_is_ours(p))
		return; /* our parent finishes it */
	/* [A] The event's bytes first, then the word: pairs with [B] in collect/drain/drain.c. */
	store_release(&o->chunk->word, ABI_WORD(o->since_ns, o->position + size));
	/* It is later than events of this thread in a coarse chunk, also of a handler since ring_open(). */
	store(&ring_coarse_chunk, NULL);
	let_go(p, o);
}

void ring_abandon(struct pool *p, struct ring_open *o)
{
	if (pool_is_ours(p))
		let_go(p, o); /* the bytes written lie beyond the word, so no reader uses them */
}

void ring_release(struct pool *p)
{
	for (uint32_t slot = 0; slot < p->n_slots; slot++) {
		struct ring_open o = { .slot = pool_slot(p, slot) };

		for (int i = 0; i < ABI_EXCLUSIVE_PLACES; i++)
			if (take(p, &o, i))
				retire(p, &o);
	}
}

bool ring_write_exclusive(struct pool *p, uint32_t id, ring_context context, const void *payload,
			  uint32_t size)
{
	struct ring_open o;
	void *at = ring_open_on_stack(p, &o, &o, id, context, size);

	if (!at)
		return false;
	memcpy(at, payload, size);
	ring_commit(p, &o, size);
	return true;
}
