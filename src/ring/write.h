/* SPDX-License-Identifier: MIT */
/*
 * ring/write.h - record one event in a pool.
 *
 * Any thread or signal handler of any process of the pool, at any time.  No function here locks,
 * allocates or makes a system call; only on a channel with a block timeout a writer waits for a
 * free chunk.  A committed event stays, whichever process dies.
 */
#ifndef RING_WRITE_H
#define RING_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/ctf.h"
#include "ring/pool.h"
#include "ring/write_fast.h"

/* The most bytes before an event's payload. */
enum {
	RING_HEADER_BYTES_MAX = sizeof(struct abi_ctf_event_extended) + sizeof(struct abi_ctf_ids),
};

/* ring_write() when the common case does not apply; counts the events that it refuses. */
bool ring_write_slow(struct pool *p, uint32_t id, ring_context context, const void *payload,
		     uint32_t size) __attribute__((cold));

/*
 * ring_write - record an event whose payload is complete in private memory.
 *
 * @id: its class, 1..65535.
 * @context: follows the header of each event, if the pool has it: struct abi_ctf_ids.
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
	return ring_write_slow(p, id, context, payload, size);
}

/* An event being written in place: its writer owns the chunk until ring_commit(). */
struct ring_open {
	struct abi_chunk *chunk;
	struct abi_slot *slot;
	uint64_t *place; /* the chunk's place in the slot; NULL: in none yet */
	void *live;	 /* ring_open_on_stack(); NULL: not listed */
	uint64_t since_ns;
	uint32_t position;	 /* of the payload */
	uint32_t payload_offset; /* for the caller */
};

/*
 * ring_open - begin an event of at most @size payload bytes, to be written in place.
 *
 * Returns the address of the payload, or NULL if the event was refused and counted.  Each success
 * needs one ring_commit or ring_abandon by the same thread.  If the thread dies before, the event
 * leaves no trace.
 */
void *ring_open(struct pool *p, struct ring_open *o, uint32_t id, ring_context context,
		uint32_t size);

/*
 * ring_open_on_stack - ring_open() for an event that a signal handler may leave by siglongjmp().
 *
 * @live: an object on this stack, in the caller's frame or in one that called it, that exists until
 * ring_commit() or ring_abandon(), as @o usually does.
 *
 * If the event is left, its chunk is given back by a later event of this thread: ring/held.h.
 */
void *ring_open_on_stack(struct pool *p, struct ring_open *o, void *live, uint32_t id,
			 ring_context context, uint32_t size);

/* ring_commit - publish the event with its first @size payload bytes. */
void ring_commit(struct pool *p, struct ring_open *o, uint32_t size);

/* ring_abandon - end it without an event. */
void ring_abandon(struct pool *p, struct ring_open *o);

/* ring_release - close the chunks in the places of the exclusive path that no writer holds, so that
 * the collector can free them when chunks run short. */
void ring_release(struct pool *p);

#endif
