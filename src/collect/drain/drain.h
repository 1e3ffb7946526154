/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/drain.h - from one channel's pool into streams of the trace.
 *
 * Bytes go from the chunks to the file as they lie there; a chunk, or what was added to it since it
 * was last looked at, becomes a packet.  Chunks of one CPU are one stream, in their order; chunks
 * of the X path have no order among each other and are laid into lanes, streams in which each
 * begins after the one before has ended.
 *
 * Invariants:
 *
 *   (1) a chunk is freed only when all of it is in the file and nobody can write to it any more
 *   (2) a packet's classes are in the metadata before the packet is in the file
 *   (3) nothing read from the pool is used before it is bounded; a pool full of garbage costs
 * garbage events, never more
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_DRAIN_H
#define COLLECT_DRAIN_DRAIN_H

#include <stdint.h>

#include "ctf/write/writer.h"
#include "ring/pool.h"

struct drain;

struct drain_options {
	struct pool *pool;	 /* lent */
	struct ctf_writer *sink; /* lent; struct event_header_large is described */
	uint32_t class_id;	 /* of the stream class */
	const char *name;	 /* before the files' names; "": none */
	uint64_t contexts;	 /* that the events carry: abi/context.h */
};

/* drain_open - describe the stream class; files come with the first events.  Returns 0 or -errno.
 */
int drain_open(struct drain **d, const struct drain_options *o, struct diag *diag);
void drain_close(struct drain *d);

/*
 * drain_begin - begin a pass: see what there is to write, and describe its classes.  A pass that
 *was not brought to its end is forgotten.
 *
 * @partial: also what open chunks hold so far; else it costs nearly nothing if no chunk was closed
 *since the last pass.  Returns 0 or -errno.
 */
int drain_begin(struct drain *d, bool partial, struct diag *diag);

/*
 * drain_write - write what the pass has seen, and free it.
 *
 * @until_ns: of monotonic_ns; a packet that is begun before is written to its end, which on a
 *slow disk may take as long as it likes; UINT64_MAX: all.
 *
 * Returns 1 if there is more to write, 0 at the pass's end, or -errno, which is also its end (disk
 *full: nothing half-written; what could not be written stays in the pool).
 */
int drain_write(struct drain *d, uint64_t until_ns, struct diag *diag);

/* drain_poll_interval - after a pass: for how many milliseconds the pool may be left alone
 * (collect/drain/interval.h). */
uint32_t drain_poll_interval(struct drain *d, uint64_t now_ns);
/* drain_expect - somebody may begin to write. */
void drain_expect(struct drain *d, uint64_t now_ns);

/* drain_reclaim - take back what dead writers held and, if nothing was free, what is kept open
 * idly.  A partial pass and drain_copy do it; while a flight recorder runs, call it now and then.
 */
void drain_reclaim(struct drain *d);

struct drain_limits {
	uint64_t last_ns;   /* only chunks with events this young; UINT64_MAX: all */
	uint64_t max_bytes; /* in the file, of whole chunks, the newest; UINT64_MAX: all */
};

/*
 * drain_copy - copy what a flight-recorder pool holds now, in one go; once per drain.
 *
 * It changes nothing in the pool: writers go on, and other drains may do the same later. Everything
 * that was recorded before *@cut_ns and not overwritten is in it, and some of what came after.
 */
int drain_copy(struct drain *d, const struct drain_limits *limits, uint64_t *cut_ns,
	       struct diag *diag);
/* drain_each_copied - tell begin, end and size of each chunk copied, in no order. */
void drain_each_copied(const struct drain *d,
		       void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
		       void *arg);
/* drain_write_copied - write the copied chunks that end at @from_ns or later, until the sink has
 * taken
 * @until_bytes.  Returns 1 if there is more to write, 0 at the end, or -errno. */
int drain_write_copied(struct drain *d, uint64_t from_ns, uint64_t until_bytes, struct diag *diag);
/* drain_count_uncopied - after a failure: what is not written of the copy. */
void drain_count_uncopied(struct drain *d);

/* drain_finish - last packets, for losses nothing else has told yet; of a flight recorder behind
 * its copy, and without drain_copy none: a piece that ends has no files of it.  What is not told is
 * told the next time. */
int drain_finish(struct drain *d, struct diag *diag);
/* The events that were refused to writers who did not know their CPU. */
uint64_t drain_lost_nowhere(struct drain *d);

/* When the oldest chunk began; UINT64_MAX if there is none. */
uint64_t drain_oldest_ns(struct drain *d);
/* Of the chunks that somebody is writing into, on the X path: when the last event of one was;
 * UINT64_MAX if nobody is. */
uint64_t drain_held_ns(const struct drain *d);
/* Events refused so far, over all slots. */
uint64_t drain_lost(const struct drain *d);

#endif
