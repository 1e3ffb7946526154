/* SPDX-License-Identifier: MIT */
/*
 * ring/pool.h - a process's checked view of a pool, and how it claims and closes chunks.
 *
 * A view holds private copies of the pool's constants.  They bound all values that are read from
 * shared memory later, so a hostile or broken writer can spoil events but no address.
 *
 * Concurrency: every function here may run in any thread or signal handler of any process at once.
 */
#ifndef RING_POOL_H
#define RING_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/pool.h"
#include "base/atomic.h"

struct pool {
	/* The sequences read these by offset: see the assertions in ring/write_fast.h. */
	char *chunks;
	char *slots;
	uint64_t mult;
	uint64_t offset_ns;
	uint64_t chunk_mask; /* valid bits of a chunk's byte offset */
	uint32_t n_cpus;
	uint32_t chunk_size;
	uint64_t gap_max_ns;	/* between two events, for the time in a short header */
	uint64_t context_bytes; /* of the threads in each event: sizeof(struct abi_ctf_ids) or 0 */

	struct abi_pool *shared;
	uint64_t *states;
	struct abi_schema *schemas;
	char *text;
	uint32_t n_chunks;
	uint32_t n_slots;
	uint32_t chunk_shift;
	uint32_t owner;		   /* our host pid, stored in state words */
	uint32_t restart_bytes;	   /* an event of fewer bytes may be a restartable sequence; 0: the
				   clock does not allow one, or the pool is coarse */
	uint32_t coarse_bytes;	   /* the same for the sequences of a coarse pool */
	uint32_t block_timeout_us; /* 0: a writer without a free chunk loses its event at once */
	bool flight_recorder;
	bool is_coarse;
	/* Events carry the time of CLOCK_MONOTONIC_COARSE, plus this; 0: that of `clock`. */
	uint64_t coarse_offset_ns;
	uint64_t stopped_ns;	   /* when that began, by CLOCK_MONOTONIC: no event is earlier */
	uint64_t stopped_drift_ns; /* drift_at() of then, .. */
	bool follows_drift;	   /* .. if the collector publishes the drift */
	struct abi_clock clock;
	/* Called before a writer waits.  Waiting is a system call, which the process may have
	 * forbidden itself.  NULL: it may wait. */
	bool (*may_wait)(void);
	/* A word that changes in a forked child; NULL if the process never forks. */
	const uint32_t *incarnation;
	uint32_t generation; /* its value when we attached */
};

struct pool_request {
	uint64_t size_bytes;  /* of all chunks; each CPU gets a few in any case */
	uint32_t chunk_bytes; /* a power of two; 0: 64 KiB */
	uint32_t n_cpus;
	uint32_t block_timeout_us;
	bool flight_recorder;
	bool without_ids;
	bool is_coarse;
};

/* pool_shape - the constants of a new pool. */
struct abi_pool pool_shape(const struct pool_request *w);

/* pool_format - turn zeroed memory of shape->size bytes into a pool. */
void pool_format(void *memory, const struct abi_pool *shape);

/*
 * pool_attach - check the pool mapped at @memory (@size bytes) and make a view of it.
 *
 * @owner: our host pid, for state words; 0: unknown.
 *
 * Returns 0; -EPROTO if it is not a pool of this version or does not fit its size.
 */
int pool_attach(struct pool *p, void *memory, uint64_t size, uint32_t owner);
/* pool_attach_as - the same with the pool's header as it was read: no page of @memory is touched. */
int pool_attach_as(struct pool *p, const struct abi_pool *header, void *memory, uint64_t size,
		   uint32_t owner);

/*
 * Whether this process attached the view.  If a handler forks in the middle of an event, the child
 * returns to that event; but the chunk, and the owner named in it, are its parent's.
 */
static inline bool pool_is_ours(const struct pool *p)
{
	return !p->incarnation || load(p->incarnation) == p->generation;
}

/* The chunk of a slot's reference, or NULL for none.  Any bits are safe. */
static inline struct abi_chunk *pool_chunk(const struct pool *p, uint64_t ref)
{
	return ref & 1 ? (struct abi_chunk *)(p->chunks + (ref & p->chunk_mask)) : NULL;
}

static inline uint64_t pool_ref(const struct pool *p, const struct abi_chunk *c)
{
	return ABI_CHUNK_REF((const char *)c - p->chunks);
}

static inline uint32_t pool_index(const struct pool *p, const struct abi_chunk *c)
{
	return (uint32_t)(((const char *)c - p->chunks) >> p->chunk_shift);
}

static inline struct abi_chunk *pool_chunk_at(const struct pool *p, uint32_t index)
{
	return (struct abi_chunk *)(p->chunks + ((uint64_t)index << p->chunk_shift));
}

static inline struct abi_slot *pool_slot(const struct pool *p, uint32_t i)
{
	return (struct abi_slot *)p->slots + i;
}

static inline uint64_t *pool_state(const struct pool *p, const struct abi_chunk *c)
{
	return &p->states[pool_index(p, c)];
}

/*
 * pool_claim - take a chunk: a FREE one, else (flight recorder) the one closed longest ago.
 *
 * @slot: of the writer, below n_slots; the search begins on its memory node.
 *
 * Its header is reset and it is OWNED; the caller fills in the rest.  NULL if there is none.
 */
struct abi_chunk *pool_claim(struct pool *p, uint32_t slot);

/*
 * pool_take, pool_own - the two halves of pool_claim: make a chunk BUSY for us; reset its header and
 * make it OWNED.
 *
 * @state: the chunk's state before.  Its order stays with the chunk for this use of it.  The first
 * half touches no memory of the chunk, which may cause a page fault.
 */
struct abi_chunk *pool_take(struct pool *p, uint32_t slot, uint64_t *state);
void pool_own(struct pool *p, struct abi_chunk *c, uint64_t state);

/* pool_unclaim - return a claimed chunk that was never installed. */
void pool_unclaim(struct pool *p, struct abi_chunk *c);

/*
 * pool_close - change OWNED to FULL, if the state still is @state.
 *
 * @state: read while the chunk was certainly in use.  A late call for a reused chunk does nothing.
 */
void pool_close(struct pool *p, struct abi_chunk *c, uint64_t state);

/*
 * pool_schema - the id (1..ABI_SCHEMAS) of the event class described by @text; registers a new one.
 *
 * 0 if the registry is full or the text is too long.
 */
uint32_t pool_schema(struct pool *p, const char *text, size_t size);

#endif
