/* SPDX-License-Identifier: MIT */
/*
 * collect/drain.h - from the shared pool into the trace.
 *
 * Bytes go from the chunks to the file as they lie there; a chunk, or what was added to it since it
 * was last looked at, becomes a packet.  Chunks of one CPU are one stream, in their order; chunks of
 * the X path have no order among each other and are laid into lanes, streams in which each begins
 * after the one before has ended.
 *
 * Invariants:
 *
 *   (1) a chunk is freed only when all of it is in the file and nobody can write to it any more
 *   (2) a packet's classes are in the metadata before the packet is in the file
 *   (3) nothing read from the pool is used before it is bounded; a pool full of garbage costs garbage
 *       events, never more
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

#include <stdint.h>

#include "ctf/sink.h"
#include "ring/pool.h"

struct drain;

/*
 * drain_open - read @pool (lent) into the trace at @path.
 *
 * Returns 0 or -errno.
 */
int drain_open(struct drain **d, struct pool *pool, const char *path, uint64_t clock_offset_ns,
	       struct diag *diag);
void drain_close(struct drain *d);

/*
 * drain_pass - write what is complete and free it; with @partial also what open chunks hold so far.
 *
 * Returns how full the pool is, in percent, or -errno (disk full: nothing half-written; what could not
 * be written stays in the pool).
 */
int drain_pass(struct drain *d, bool partial, struct diag *diag);

/* drain_reclaim - take back what dead writers held and, if nothing was free, what is kept open idly.  A partial pass and drain_flight do it; while a
 * flight recorder runs, call it now and then. */
void drain_reclaim(struct drain *d);

/* drain_flight - write the newest that a flight-recorder pool holds, oldest first; once per trace.  It
 * changes nothing in the pool: writers may go on, and another trace may be taken later. */
int drain_flight(struct drain *d, struct diag *diag);

/* drain_process - note who joined, before it could record: programs' names travel in the trace.
 * @at_ns: session time, not earlier than at the last call. */
void drain_process(struct drain *d, uint64_t at_ns, uint32_t vpid, const char *program);

/* drain_finish - last packets, for losses nothing else has told yet; @lost_outside are events that
 * never found the pool. */
int drain_finish(struct drain *d, uint64_t lost_outside, struct diag *diag);

/* Bytes in the file so far. */
uint64_t drain_bytes(const struct drain *d);
/* Events refused so far, over all slots. */
uint64_t drain_lost(const struct drain *d);

#endif
