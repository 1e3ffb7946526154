/* SPDX-License-Identifier: MIT */
/*
 * ring/pool.c - attach to a pool, claim and close chunks, register event classes.
 *
 * A writer takes the lowest free chunk, not the next one in a circle.  So the memory in use is only
 * what the load needs, warm and already mapped, however large the pool is.  With several memory nodes it
 * is the lowest of the CPU's node, and after the last chunk the search goes on with the first: while any
 * chunk is free, one is found.
 *
 * States of a chunk: abi/pool.h.  Model: tests/model/ring.pml.
 */
#include "ring/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "clock/clock.h"
#include "ring/drift.h"

enum { CHUNK_SHIFT = 16, BLOCK_TIMEOUT_STEP_US = 200 };

static bool is_power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

struct abi_pool pool_shape(const struct pool_request *w)
{
	struct abi_pool s = {
		.magic = ABI_POOL_MAGIC,
		.version = ABI_POOL_VERSION,
		.flags = (w->flight_recorder ? ABI_POOL_FLIGHT_RECORDER : 0) |
			 (w->without_ids ? ABI_POOL_WITHOUT_IDS : 0) |
			 (w->is_coarse ? ABI_POOL_COARSE : 0),
		.n_chunks = 4,
		.chunk_shift =
			w->chunk_bytes ? (uint32_t)__builtin_ctz(w->chunk_bytes) : CHUNK_SHIFT,
		.n_cpus = w->n_cpus,
		.n_slots = w->n_cpus + ABI_UNKNOWN_CPU_SLOTS,
		.block_timeout_us = w->block_timeout_us,
	};

	/* Every CPU needs an open chunk and a next one, whatever size was requested. */
	while (s.n_chunks < ABI_CHUNKS_MAX &&
	       (s.n_chunks < 4 * w->n_cpus ||
		((uint64_t)s.n_chunks << s.chunk_shift) < w->size_bytes))
		s.n_chunks *= 2;
	s.size = abi_pool_size(s.n_slots, s.n_chunks, s.chunk_shift);
	return s;
}

void pool_format(void *memory, const struct abi_pool *shape)
{
	struct abi_pool *p = memory;

	*p = *shape;
	p->order = 1; /* 0 is the order of chunks never closed: see pool_close */
}

static bool shape_is_sound(const struct abi_pool *s, uint64_t size)
{
	return s->magic == ABI_POOL_MAGIC && s->version == ABI_POOL_VERSION &&
	       s->chunk_shift >= ABI_CHUNK_SHIFT_MIN && s->chunk_shift <= ABI_CHUNK_SHIFT_MAX &&
	       is_power_of_two(s->n_chunks) && s->n_chunks <= ABI_CHUNKS_MAX &&
	       s->n_cpus <= ABI_CPUS_MAX && s->n_slots == s->n_cpus + ABI_UNKNOWN_CPU_SLOTS &&
	       s->block_timeout_us <= ABI_BLOCK_TIMEOUT_MAX_US && s->size <= size &&
	       s->size == abi_pool_size(s->n_slots, s->n_chunks, s->chunk_shift);
}

int pool_attach_as(struct pool *p, const struct abi_pool *header, void *memory, uint64_t size,
		   uint32_t owner)
{
	char *base = memory;
	uint32_t restart_bytes;

	if (!shape_is_sound(header, size))
		return -EPROTO;
	/* The sequences read the TSC, and multiply its halves by 32 bits. */
	restart_bytes = header->clock.kind == ABI_CLOCK_TSC && header->clock.mult <= UINT32_MAX
				? (1u << header->chunk_shift >> 2) + 1
				: 0;
	*p = (struct pool){
		.chunks = base + abi_pool_chunks_offset(header->n_slots, header->n_chunks,
							header->chunk_shift),
		.slots = base + abi_pool_slots_offset(),
		.mult = header->clock.mult,
		.offset_ns = header->clock.offset_ns,
		.chunk_mask = (uint64_t)(header->n_chunks - 1) << header->chunk_shift,
		.n_cpus = header->n_cpus,
		.chunk_size = 1u << header->chunk_shift,
		.gap_max_ns = ABI_CTF_GAP_NS - 1,
		.context_bytes =
			header->flags & ABI_POOL_WITHOUT_IDS ? 0 : sizeof(struct abi_ctf_ids),
		.shared = memory,
		.states = (uint64_t *)(base + abi_pool_states_offset(header->n_slots)),
		.schemas = (struct abi_schema *)(base + abi_pool_schemas_offset(header->n_slots,
										header->n_chunks)),
		.text = base + abi_pool_text_offset(header->n_slots, header->n_chunks),
		.n_chunks = header->n_chunks,
		.n_slots = header->n_slots,
		.chunk_shift = header->chunk_shift,
		.owner = owner,
		.restart_bytes = header->flags & ABI_POOL_COARSE ? 0 : restart_bytes,
		.coarse_bytes = header->flags & ABI_POOL_COARSE ? restart_bytes : 0,
		.block_timeout_us = header->block_timeout_us,
		.flight_recorder = header->flags & ABI_POOL_FLIGHT_RECORDER,
		.is_coarse = header->flags & ABI_POOL_COARSE,
		.clock = header->clock,
	};
	return 0;
}

int pool_attach(struct pool *p, void *memory, uint64_t size, uint32_t owner)
{
	struct abi_pool header;

	if (size < sizeof header)
		return -EPROTO;
	/* All checks use this copy, never the shared page. */
	memcpy(&header, memory, sizeof header);
	return pool_attach_as(p, &header, memory, size, owner);
}

/* Orders wrap after 2^30 closings; only chunks within one pool's span are compared. */
static bool is_older(uint64_t a, uint64_t b)
{
	return (int32_t)((uint32_t)(ABI_ORDER_OF(a) - ABI_ORDER_OF(b)) << 2) < 0;
}

/* The first FREE chunk for @slot, else the oldest FULL one in a flight recorder.  -1: none. */
static int64_t find_chunk(struct pool *p, uint32_t slot, uint64_t *state)
{
	uint32_t first = load(&pool_slot(p, slot)->first); /* any bits are safe: masked */
	int64_t oldest = -1;

	for (uint32_t k = 0; k < p->n_chunks; k++) {
		uint32_t i = (first + k) & (p->n_chunks - 1);
		uint64_t s = load(&p->states[i]);

		if (ABI_STATE_OF(s) == ABI_FREE) {
			*state = s;
			return i;
		}
		if (p->flight_recorder && ABI_STATE_OF(s) == ABI_FULL &&
		    (oldest < 0 || is_older(s, *state))) {
			oldest = i;
			*state = s;
		}
	}
	return oldest;
}

/* A chunk made BUSY for us; @state receives its state before.  -1: there is none. */
static int64_t take_chunk(struct pool *p, uint32_t slot, uint64_t *state)
{
	for (;;) {
		int64_t i = find_chunk(p, slot, state);

		/* A failed exchange means that another writer took it: progress was made. */
		if (i < 0 || compare_exchange(&p->states[i], state,
					      ABI_STATE(ABI_ORDER_OF(*state), p->owner, ABI_BUSY)))
			return i;
	}
}

/*
 * Takes a chunk and waits for one if need be: the collector's next pass frees some.  After one
 * writer has waited in vain the others do not wait until the collector shows that it is alive.
 * This is the only system call of an event, and only in a channel whose users prefer waiting to
 * losing.
 */
static int64_t wait_for_chunk(struct pool *p, uint32_t slot, uint64_t *state)
{
	const struct timespec step = { 0, BLOCK_TIMEOUT_STEP_US * 1000 };
	uint64_t until_ns = pool_now_ns(p) + p->block_timeout_us * 1000ull;
	uint32_t zero = 0;
	int saved = errno;
	int64_t i;

	if (load(&p->shared->exhausted) == ABI_POOL_GIVEN_UP || (p->may_wait && !p->may_wait()))
		return -1;
	compare_exchange(&p->shared->exhausted, &zero, ABI_POOL_EXHAUSTED);
	fetch_add(&p->shared->waited, 1);
	do {
		syscall(SYS_nanosleep, &step, NULL); /* a signal ends a step, not the wait */
		i = take_chunk(p, slot, state);
	} while (i < 0 && pool_now_ns(p) < until_ns);
	if (i < 0)
		store(&p->shared->exhausted, ABI_POOL_GIVEN_UP);
	errno = saved;
	return i;
}

/* A chunk made BUSY for us, or -1. */
static int64_t obtain_chunk(struct pool *p, uint32_t slot, uint64_t *state)
{
	int64_t i = -1;

	/* The collector clears the hint with every pass. */
	if (p->flight_recorder || !load(&p->shared->exhausted))
		i = take_chunk(p, slot, state);
	if (i < 0 && p->block_timeout_us)
		return wait_for_chunk(p, slot, state);
	if (i < 0)
		store(&p->shared->exhausted, ABI_POOL_EXHAUSTED);
	return i;
}

struct abi_chunk *pool_take(struct pool *p, uint32_t slot, uint64_t *state)
{
	int64_t i = obtain_chunk(p, slot, state);

	return i < 0 ? NULL : pool_chunk_at(p, (uint32_t)i);
}

void pool_own(struct pool *p, struct abi_chunk *c, uint64_t state)
{
	/*
	 * [C] No party reads a BUSY chunk; the word is reset before it becomes OWNED.  Pairs with
	 * [D], where the collector reads the state before the word.  The fence: no party sees our
	 * bytes before it sees BUSY; pairs with the fence of copy_chunk(),
	 * collect/drain/overwrite.c.  An exchange alone does not order this.
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store(&c->read, sizeof *c);
	store(&c->coarse_begin, 0);
	store(&c->coarse_end, 0);
	store_release(&c->word, ABI_WORD(0, sizeof *c));
	store_release(pool_state(p, c), ABI_STATE(ABI_ORDER_OF(state), p->owner, ABI_OWNED));
}

struct abi_chunk *pool_claim(struct pool *p, uint32_t slot)
{
	uint64_t state;
	struct abi_chunk *c = pool_take(p, slot, &state);

	if (c)
		pool_own(p, c, state);
	return c;
}

void pool_unclaim(struct pool *p, struct abi_chunk *c)
{
	store_release(pool_state(p, c), ABI_STATE(fetch_add(&p->shared->order, 1), 0, ABI_FREE));
}

/*
 * Each use of a chunk has its own order in the state word: the chunk keeps the order of its last
 * closing, or of its last return unused.  So the exchange fails for any use but the intended one.
 */
void pool_close(struct pool *p, struct abi_chunk *c, uint64_t state)
{
	uint64_t order = fetch_add(&p->shared->order, 1);

	if (ABI_STATE_OF(state) == ABI_OWNED)
		compare_exchange(pool_state(p, c), &state,
				 ABI_STATE(order, ABI_OWNER_OF(state), ABI_FULL));
}

static bool schema_is(const struct pool *p, uint32_t i, const char *text, size_t size)
{
	uint32_t offset;

	if (load_acquire(&p->schemas[i].size) != size) /* pairs with [S] */
		return false;
	offset = load(&p->schemas[i].offset);
	return offset <= ABI_SCHEMA_TEXT_BYTES && size <= ABI_SCHEMA_TEXT_BYTES - offset &&
	       !memcmp(p->text + offset, text, size);
}

uint32_t pool_schema(struct pool *p, const char *text, size_t size)
{
	uint32_t n = load(&p->shared->n_schemas), i, offset;

	if (!size || size > ABI_SCHEMA_MAX_BYTES)
		return 0;
	for (i = 0; i < n && i < ABI_SCHEMAS; i++)
		if (schema_is(p, i, text, size))
			return i + 1;
	/* A full registry stays full without further counting: a counter that overflows begins at
	 * 0. */
	if (n >= ABI_SCHEMAS || load(&p->shared->text_used) > ABI_SCHEMA_TEXT_BYTES - size)
		return 0;
	/* Two writers at once may register one class twice: two ids, one meaning. */
	offset = fetch_add(&p->shared->text_used, (uint32_t)size);
	if (offset > ABI_SCHEMA_TEXT_BYTES || size > ABI_SCHEMA_TEXT_BYTES - offset)
		return 0;
	i = fetch_add(&p->shared->n_schemas, 1);
	if (i >= ABI_SCHEMAS)
		return 0;
	memcpy(p->text + offset, text, size);
	store(&p->schemas[i].offset, offset);
	store_release(&p->schemas[i].size, (uint32_t)size); /* [S] text first */
	return i + 1;
}
