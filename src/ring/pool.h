/* SPDX-License-Identifier: MIT */
/*
 * ring/pool.h - one party's checked view of a pool, and how chunks change hands.
 *
 * A view holds private copies of the pool's constants; whatever is read from shared memory later is
 * bounded by them, so that a hostile or broken writer can spoil events but no address.
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
	/* The write path's asm reads these by offset: see ring/write_x86.h. */
	char *chunks;
	char *slots;
	uint64_t mult;
	uint64_t offset_ns;
	uint64_t chunk_mask; /* valid bits of a chunk's byte offset */
	uint32_t n_cpus;
	uint32_t chunk_size;

	struct abi_pool *shared;
	uint64_t *states;
	struct abi_schema *schemas;
	char *text;
	uint32_t n_chunks;
	uint32_t n_slots;
	uint32_t chunk_shift;
	uint32_t owner;		/* who we are in state words: our host pid */
	uint32_t restart_bytes; /* the largest event for a restartable sequence; 0: the clock is not
				   for one */
	uint32_t block_timeout_us; /* 0: a writer without a free chunk loses its event at once */
	bool flight_recorder;
	struct abi_clock clock;
	/* Asked before a writer waits, which is a system call that the process may have forbidden
	 * itself; NULL: it may. */
	bool (*may_wait)(void);
	/* A word that a forked child finds changed; NULL where nobody forks. */
	const uint32_t *incarnation;
	uint32_t generation; /* what it was when we attached */
};

struct pool_request {
	uint64_t size_bytes;  /* of all chunks; at least a few for each CPU, whatever is wished */
	uint32_t chunk_bytes; /* a power of two; 0: 64 KiB */
	uint32_t n_cpus;
	uint32_t block_timeout_us;
	bool flight_recorder;
};

/* pool_shape - what a new pool looks like. */
struct abi_pool pool_shape(const struct pool_request *w);

/* pool_format - make zeroed memory of shape->size bytes a pool. */
void pool_format(void *memory, const struct abi_pool *shape);

/* pool_attach - check the pool mapped at @memory (@size bytes) and make a view of it.
 * Returns 0, or -EPROTO if it is not a pool of this version or does not fit its size. */
int pool_attach(struct pool *p, void *memory, uint64_t size, uint32_t owner);

/*
 * Whether this process attached the view.  A child forked by a handler in the middle of an event
 * comes back to that event; the chunk is not its own, and neither is the name in it.
 */
static inline bool pool_is_ours(const struct pool *p)
{
	return !p->incarnation || load(p->incarnation) == p->generation;
}

/* The chunk a slot's reference means, or NULL for none.  Any bits are safe. */
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

/* pool_claim - take a chunk: a FREE one, else (flight recorder) the one closed longest ago.
 * Its header is reset and it is OWNED; the caller fills in the rest.  NULL if there is none. */
struct abi_chunk *pool_claim(struct pool *p);

/* pool_unclaim - give back a claimed chunk that was never installed. */
void pool_unclaim(struct pool *p, struct abi_chunk *c);

/* pool_close - OWNED becomes FULL, if its state still is @state (read while the chunk was certainly
 * in use); a late call for a chunk that was reused does nothing. */
void pool_close(struct pool *p, struct abi_chunk *c, uint64_t state);

/* pool_schema - the id (1..ABI_SCHEMAS) of the event class described by @text, registering it if it
 * is new.  0 if the registry is full or the text too long. */
uint32_t pool_schema(struct pool *p, const char *text, size_t size);

#endif
