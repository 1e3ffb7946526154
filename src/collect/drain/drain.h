/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/drain.h - move one channel's pool into stream files of the trace.
 *
 * Bytes go from the chunks to the file unchanged, up to the first that are no event.  A chunk, or the part added to it since the last
 * pass, becomes one packet.  The chunks of one CPU form one stream, in the order of their sequence
 * numbers.  Chunks of the exclusive path have no order among each other: they are distributed over
 * exclusive-path streams, where a chunk begins after the one before has ended.
 *
 * Invariants:
 *
 *   (1) a chunk is freed only when all of it is in the file and no writer can write to it any more
 *   (2) a packet's classes are in the metadata before the packet is in the file
 *   (3) nothing read from the pool is used before it is bounded; a corrupted pool can cause wrong
 *       events, never more
 *
 * The way of a packet, from the timer to the file.  A pass has two halves, because it describes all
 * classes that it found before it writes (invariant 2) and because a slow disk may interrupt it:
 *
 *   collector_pass            events.c         the period is over: begin a pass, continue it
 *     streams_scan            streams.c        for each channel:
 *       drain_scan            drain.c            list the chunks with data, describe their classes
 *     continue_pass           events.c         continue it for a slice of 10 ms; collector_work too
 *       streams_write         streams.c        for each channel, until the slice is over:
 *         drain_write         drain.c            write and free the listed chunks
 *           write_cpu         drain.c              the chunks of one CPU, in order
 *             write_several   drain.c                up to four whole ones at once, where possible
 *               drain_put_packets   packet.c           their packets, through ctf/write
 *           write_exclusive   drain.c              one chunk of the exclusive path
 *             write_chunk     drain.c                once, with marks for a successor
 *               drain_check_packet  packet.c           copied, bounded, cut to whole events
 *               drain_put_packet    packet.c           one packet, through ctf/write
 *
 * overwrite.c replaces this for pools in overwrite mode: it copies chunks, and writes the copies
 * with the same two.
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_DRAIN_H
#define COLLECT_DRAIN_DRAIN_H

#include <stdint.h>

#include "base/atomic.h"
#include "collect/drain/bounds.h"
#include "ctf/write/public.h"
#include "ring/pool.h"

/* A snapshot of a chunk's header, bounded. */
struct drain_chunk {
	uint32_t index;
	uint32_t cpu;
	uint32_t path;
	bool is_final;
	bool has_no_begin; /* an impossible one: begin_ns is assumed, see drain_bound_begin */
	uint64_t state;
	uint64_t sequence;
	uint64_t begin_ns;
	uint64_t since_ns; /* from begin_ns to the last event */
	uint32_t read, position;
	const char *bytes; /* of the chunk, or of a copy of it */
};

/*
 * drain_inspect - read and bound the header of chunk @i.
 *
 * False if it has nothing to read.
 */
bool drain_inspect(const struct pool *pool, uint32_t i, struct drain_chunk *s);

/* The number of lost events of a CPU that closed traces report, and the incarnation (its lower 16
 * bits) of the collector that closed the last of them.  One store writes both. */
#define DRAIN_REPORTED(incarnation, n) ((uint64_t)(incarnation) << 48 | (n))
#define DRAIN_REPORTED_LOST(word) ((word) & ((1ull << 48) - 1))
#define DRAIN_REPORTED_INCARNATION(word) ((uint32_t)((word) >> 48))

/*
 * Trace @number is closed and reports @n events as lost: adds them to *@reported (DRAIN_REPORTED),
 * once however often it is called.  *@reported lies in memory of the collectors alone.
 */
static inline void drain_add_reported(uint64_t *reported, uint32_t number, uint64_t n)
{
	uint64_t before = load(reported);

	if (DRAIN_REPORTED_INCARNATION(before) != (number & 0xffff))
		store(reported, DRAIN_REPORTED(number, DRAIN_REPORTED_LOST(before) + n));
}

struct drain;

struct drain_options {
	struct pool *pool;	 /* borrowed */
	struct ctf_writer *sink; /* borrowed; its metadata defines struct event_header_compact */
	uint32_t class_id;	 /* of the stream class */
	const char *name;	 /* prefix of the file names; "": none */
	uint64_t contexts;	 /* of the events: abi/context.h */
	struct bounds *bounds;	 /* borrowed; NULL: counters and bytes are taken as they are */
};

/*
 * drain_open - prepare a drain; files and the stream class are written with the first events.
 * Returns 0 or -errno.
 */
int drain_open(struct drain **d, const struct drain_options *o, struct diag *diag);
void drain_close(struct drain *d);

/*
 * drain_scan - begin a pass: list the chunks that have data to write, and describe their classes.
 *
 * Drops the rest of an earlier pass.
 *
 * @partial: also include the data of open chunks.  Without it the call is nearly free if no chunk
 *   was closed since the last pass.
 *
 * Returns 0 or -errno.
 */
int drain_scan(struct drain *d, bool partial, struct diag *diag);

/*
 * drain_write - write the chunks that the pass listed, and free them.
 *
 * @until_ns: of monotonic_ns.  A packet begun before is written to its end, which may take
 *   long on a slow disk.  UINT64_MAX: no limit.
 *
 * Returns 1 if there is more to write; 0 at the end of the pass; or -errno, which also ends the
 * pass. If the disk is full, no partial packet is written and unwritten data stays in the pool.
 */
int drain_write(struct drain *d, uint64_t until_ns, struct diag *diag);

/*
 * drain_poll_interval - after a pass: milliseconds until the pool needs the next one
 * (collect/drain/interval.h).
 */
uint32_t drain_poll_interval(struct drain *d, uint64_t now_ns);
/*
 * drain_look - bound the error of a coarse pool's times: ring/write_coarse.h, (4).  In any pool: publish
 * the drift of the clock, some times a second.
 *
 * drain_look_ms - milliseconds until the next look is needed; UINT32_MAX: none is.
 */
void drain_look(struct drain *d);
uint32_t drain_look_ms(const struct drain *d);
/* drain_expect - a program joined that may begin to write. */
void drain_expect(struct drain *d, uint64_t now_ns);

/*
 * drain_reclaim - free what dead writers held and, if nothing was free, chunks kept open idly.
 *
 * A partial pass and drain_copy include it.  Call it regularly for a pool in overwrite mode.
 */
void drain_reclaim(struct drain *d);

struct drain_limits {
	uint64_t last_ns;   /* only chunks with events this recent; UINT64_MAX: all */
	uint64_t max_bytes; /* only the newest whole chunks, up to this size in the file;
			     * UINT64_MAX: all */
};

/*
 * drain_copy - copy the contents of a pool in overwrite mode at one moment; once per drain.
 *
 * Nothing in the pool changes: writers continue, and other drains may copy it later.  The copy
 * holds everything recorded before *@cut_ns and not overwritten, and some later events.
 */
int drain_copy(struct drain *d, const struct drain_limits *limits, uint64_t *cut_ns,
	       struct diag *diag);
/* drain_each_copied - call @each with begin, end and size of each copied chunk, in no order. */
void drain_each_copied(const struct drain *d,
		       void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
		       void *arg);
/*
 * drain_write_copied - write the copied chunks that end at @from_ns or later, until the writer has
 * taken @until_bytes.
 *
 * Returns 1 if there is more to write, 0 at the end, or -errno.
 */
int drain_write_copied(struct drain *d, uint64_t from_ns, uint64_t until_bytes, struct diag *diag);
/* drain_count_uncopied - after a failure: add the unwritten part of the copy to `unwritten`. */
void drain_count_uncopied(struct drain *d);
/*
 * drain_drop_rest - give up the data that the last pass, or the copy, could not write: its events count as lost.
 *
 * For the end of a recording: what its disk, or its disk budget, did not take is not tried again.
 */
void drain_drop_rest(struct drain *d);

/*
 * drain_finish - write last packets for losses that no packet reports yet.
 *
 * In overwrite mode they follow the copy; without drain_copy none are written, because a trace
 * chunk that ends has no files of such a pool.  Losses not reported here are reported the next
 * time.
 */
int drain_finish(struct drain *d, struct diag *diag);
/* The events refused to writers that did not know their CPU, and those of drain_drop_rest. */
uint64_t drain_lost_nowhere(struct drain *d);

/* Begin of the oldest chunk; UINT64_MAX if there is none. */
uint64_t drain_oldest_ns(struct drain *d);
/*
 * Time of the last event in the exclusive-path chunk that has been held longest; UINT64_MAX if no
 * writer holds one.
 */
uint64_t drain_held_ns(const struct drain *d);
/* Events refused so far, over all slots, and dropped. */
uint64_t drain_lost(const struct drain *d);
/* The part of them that was larger than a chunk. */
uint64_t drain_too_large(const struct drain *d);
/* Events that had to wait for a chunk. */
uint64_t drain_waited(const struct drain *d);

#endif
