/* SPDX-License-Identifier: MIT */
/*
 * ring/write.h - recording one event.
 *
 * Any thread or signal handler of any process of the pool, at any time; nothing here locks, waits,
 * allocates or calls the system.  What was committed stays, whoever dies.
 */
#ifndef RING_WRITE_H
#define RING_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/pool.h"
#include "ring/write_fast.h"

enum {
	RING_HEADER_BYTES = 14, /* abi_ctf_event and the context */
	RING_EXTENDED_BYTES = 22,
};

/* ring_write when the common case does not apply; counts what it refuses. */
bool ring_write_slowly(struct pool *p, uint32_t id, ring_context context, const void *payload,
		       uint32_t size) __attribute__((cold));

/*
 * ring_write - record an event whose payload lies complete in private memory.
 *
 * @id: its class, 1..65534.
 * @context: what every event carries after its header: vpid in the low half, vtid in the high one.
 * @payload: @size bytes; readable up to the next multiple of 8.
 *
 * Returns false if it was refused (no chunk, too large) and counted as lost.
 */
static inline bool ring_write(struct pool *p, uint32_t id, ring_context context,
			      const void *payload, uint32_t size)
{
	if (likely(ring_may_restart(p, size) &&
		   ring_try(p, id, context, payload, size) == RING_DONE))
		return true;
	return ring_write_slowly(p, id, context, payload, size);
}

/* An event being written in place: the chunk is ours alone until ring_commit. */
struct ring_open {
	struct abi_chunk *chunk;
	struct abi_slot *slot;
	uint64_t *place; /* of the slot, where the chunk lies; NULL: in none yet */
	uint64_t since_ns;
	uint32_t position; /* of the payload */
	uint32_t note;	   /* the caller's own */
};

/*
 * ring_open - begin an event of at most @size payload bytes, to be written where it will stay.
 *
 * Returns where the payload goes, or NULL if it was refused and counted.  Each success needs one
 * ring_commit or ring_abandon by the same thread; a thread that dies in between leaves no trace of
 * the event.
 */
void *ring_open(struct pool *p, struct ring_open *o, uint32_t id, ring_context context,
		uint32_t size);

/* ring_commit - publish it with its first @size bytes. */
void ring_commit(struct pool *p, struct ring_open *o, uint32_t size);

/* ring_abandon - or end it without an event. */
void ring_abandon(struct pool *p, struct ring_open *o);

/* ring_release - close the chunks that ring_open keeps open for later and nobody is writing into
 * now: for the collector, when chunks run short. */
void ring_release(struct pool *p);

#endif
