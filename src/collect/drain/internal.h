/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/internal.h - what the two ways of reading a pool share: drain.c, which frees what
 * it has written, and overwrite.c, which leaves it where it is; and drain_files.c and reclaim.c,
 * which both call.
 */
#ifndef COLLECT_DRAIN_INTERNAL_H
#define COLLECT_DRAIN_INTERNAL_H

#include <stdbool.h>

#include "abi/session.h"
#include "base/text.h"
#include "collect/drain/drain.h"
#include "collect/drain/procnames.h"
#include "collect/drain/interval.h"

enum { DRAIN_LANES = 1024 };

/* One file of the trace, for a CPU or a lane. */
struct output {
	struct ctf_stream stream;
	bool is_open;
	uint64_t end_ns; /* of its last packet */
	uint64_t next;	 /* CPU: number of the chunk to come */
	uint32_t stuck;	 /* CPU: passes in which only later ones came */
	uint64_t lost;	 /* told so far */
	uint32_t chunk;	 /* lane: index + 1 of the chunk it belongs to, 0 free */
};

/* What we keep about a chunk between passes. */
struct mark {
	uint64_t cut_ns;	   /* time of the last event already written */
	uint32_t exclusive_stream; /* + 1 */
};

/* A chunk as one pass saw it: copied, bounded. */
struct seen {
	uint32_t index;
	uint32_t cpu;
	uint32_t path;
	bool is_final;
	uint64_t state;
	uint64_t sequence;
	uint64_t begin_ns;
	uint64_t since_ns; /* from then to the last event */
	uint32_t read, position;
	const char *bytes; /* of the chunk, or of a copy of it */
};

struct drain {
	struct pool *pool;
	struct ctf_writer *sink;
	uint32_t class_id;
	uint64_t contexts;
	bool is_stream_described;
	char prefix[ABI_CHANNEL_NAME_BYTES + 2]; /* of its files' names */
	struct output *cpus;
	struct output *exclusive_streams;
	uint32_t n_exclusive_streams;
	struct mark *marks;
	struct seen *seen;
	struct seen *at, *end; /* what the pass has yet to write of it */
	bool partial;	       /* the pass: also what open chunks hold */
	uint64_t until_ns;     /* of monotonic_ns: then others have their turn */
	uint32_t n_described;
	uint8_t *is_described; /* DESCRIBED_... of each class */
	bool is_behind;	       /* the last pass had no lane for some chunk */
	uint64_t n_freed;  /* chunks, by us: each counted in the pool's order, as each closed one is
			    */
	uint64_t n_closed; /* so far, when the last pass looked */
	uint64_t n_polled; /* and when drain_poll_interval did */
	uint64_t free_bytes; /* when the last pass looked */
	bool is_calm;	     /* it saw nothing that was complete */
	struct poll_interval poll_interval;
	uint64_t unwritten; /* bytes that the last pass, or drain_count_uncopied, found not written
			     */
	char *copies;	    /* overwrite.c: of the first n_copied of seen */
	uint32_t n_copied, n_written;
};

/* collect/drain/streams.h: all channels. */
struct streams {
	struct ctf_writer sink;
	struct procnames procnames;
	const struct abi_clock *clock;
	struct drain *drains[ABI_CHANNELS];
	uint32_t n;
	uint64_t bytes_before, lost_before; /* as in streams_options */
};

/* The trace of this number is closed, and tells @n events as lost: they go to *@told (ABI_REPORTED),
 * once however often this is called. */
static inline void drain_add_reported(uint64_t *reported, uint32_t number, uint64_t n)
{
	uint64_t before = load(reported);

	if (ABI_REPORTED_INCARNATION(before) != (number & 0xffff))
		store(reported, ABI_REPORTED(number, ABI_REPORTED_LOST(before) + n));
}

/* After drain_open: the pool was drained by another one before, which died. */
void drain_resume(struct drain *d);
/* A stream class, in TSDL. */
void drain_add_stream(struct text *t, uint32_t class_id, uint64_t contexts);
/* Whether the host pid @pid names nobody; false for 0 and for who has none here. */
bool drain_is_dead(uint32_t pid);
/* Lets writers look for a free chunk again, if there is one. */
void drain_report_room(struct drain *d);
/* Copies and bounds what chunk @i says of itself.  False if there is nothing to read. */
bool drain_inspect(struct drain *d, uint32_t i, struct seen *s);
/* For qsort: CPU chunks by CPU and number, then the others by time. */
int drain_compare(const void *a, const void *b);
/* Describes the classes registered since, in one write: after looking, see (2) of drain.h.  What
 * could not be written is tried again. */
int drain_describe(struct drain *d, struct diag *diag);
/* The stream class, with its first event class or the first packet: Babeltrace 2.0 aborts over one
 * that has a sequence in its context and no event. */
int drain_describe_stream(struct drain *d, struct diag *diag);
/* So many chunks were closed, in the pool's life; and some given back unused. */
uint64_t drain_count_closed(const struct drain *d);
/* The chunk's lane, found for it if it has none: free, and ended before the chunk begins; or NULL.
 */
struct output *drain_exclusive_stream_of(struct drain *d, const struct seen *s);
/* Makes the file KIND_NUMBER if there is none yet. */
int drain_ready(struct drain *d, struct output *o, const char *kind, uint32_t number,
		struct diag *diag);
int drain_packet(struct drain *d, struct output *o, const struct seen *s, uint64_t lost,
		 struct diag *diag);
/* Gives the memory of drain_copy back. */
void drain_forget_copy(struct drain *d);
uint64_t drain_slot_lost(const struct drain *d, uint32_t slot);

#endif
