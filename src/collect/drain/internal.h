/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/internal.h - state shared by the files of this room that read a pool.
 *
 * drain.c frees what it has written; overwrite.c leaves the pool unchanged; stream_files.c and
 * reclaim.c serve both.
 */
#ifndef COLLECT_DRAIN_INTERNAL_H
#define COLLECT_DRAIN_INTERNAL_H

#include <stdbool.h>

#include "abi/session.h"
#include "base/text.h"
#include "collect/drain/bounds.h"
#include "collect/drain/count.h"
#include "collect/drain/drain.h"
#include "collect/drain/procnames.h"
#include "collect/drain/interval.h"

enum { DRAIN_EXCLUSIVE_STREAMS = 1024 };

/* One file of the trace, for a CPU or an exclusive-path stream. */
struct output {
	struct ctf_stream stream;
	bool is_open;
	uint64_t end_ns; /* of its last packet */
	uint64_t next;	 /* CPU: sequence number of the next chunk */
	uint32_t stuck;	 /* CPU: passes that saw only later chunks */
	uint64_t lost;	 /* losses reported so far */
	uint32_t chunk;	 /* exclusive path: index + 1 of the chunk assigned to it; 0: free */
};

/* State of a chunk that is kept between passes. */
struct mark {
	uint64_t cut_ns;	   /* time of the last event already written */
	uint32_t exclusive_stream; /* index + 1 */
};

struct drain {
	struct pool *pool;
	struct ctf_writer *sink;
	uint32_t class_id;
	uint64_t contexts;
	bool is_stream_described;
	char prefix[ABI_CHANNEL_NAME_BYTES + 2]; /* of its file names */
	struct output *cpus;
	struct output *exclusive_streams;
	uint32_t n_exclusive_streams;
	struct counter *counter;
	struct bounds *bounds; /* borrowed; NULL: nothing is bounded */
	uint64_t begin_ns;     /* no event is older; 0 without bounds */
	char *scratch;	       /* of n_at_once chunks, for packet.c; NULL: not needed yet */
	uint32_t n_at_once;    /* packets in one write */
	struct mark *marks;
	struct drain_chunk *seen;
	struct drain_chunk *at, *end; /* the part of `seen` that this pass has yet to write */
	bool partial;		      /* this pass includes the data of open chunks */
	uint64_t until_ns;	      /* of monotonic_ns: end of this time slice */
	bool is_slow; /* several packets in a write would take too long: note_speed() */
	uint32_t n_described;
	uint8_t *is_described; /* DESCRIBED_... of each class */
	bool is_behind;	       /* the last pass had no exclusive-path stream for some chunk */
	uint64_t n_freed;      /* chunks freed by this drain; the pool's order counts each of them,
				* and each closed one */
	uint64_t n_closed;     /* closed so far, at the last scan */
	uint64_t n_looked;     /* closed so far, at the last drain_look */
	uint64_t drift_ns;     /* of monotonic_ns: when the clock's drift was published */
	uint64_t n_polled;     /* closed so far, at the last drain_poll_interval */
	uint64_t free_bytes;   /* at the last scan */
	bool is_calm;	       /* the last scan found no closed chunk */
	struct poll_interval poll_interval;
	uint64_t unwritten; /* bytes that the last pass, or drain_count_uncopied, could not write */
	uint64_t dropped;   /* events in them, once they are given up: drain_drop_rest */
	char *copies;	    /* overwrite.c: copies of the first n_copied of `seen` */
	uint32_t n_copied, n_written;
};

/* All channels of a trace: collect/drain/streams.h. */
struct streams {
	struct ctf_writer sink;
	struct procnames procnames;
	const struct abi_clock *clock;
	struct bounds *bounds; /* from streams_options */
	struct drain *drains[ABI_CHANNELS];
	uint32_t n;
	uint64_t bytes_before, lost_before; /* from streams_options */
};

/* drain_publish_drift - how far the pool's clock is from CLOCK_MONOTONIC now (ring/drift.h). */
void drain_publish_drift(struct drain *d);

/* Call it after drain_open if an earlier drain of this pool died. */
void drain_resume(struct drain *d);
/* Appends a stream class in TSDL. */
void drain_add_stream(struct text *t, uint32_t class_id, uint64_t contexts, bool has_ids);
/* Whether no process has the pid @pid.  False for 0 and for a process outside our pid namespace. */
bool drain_is_dead(uint32_t pid);
/* Clears the pool's `exhausted` flag if a chunk is free, so that writers search again. */
void drain_clear_exhausted(struct drain *d);
/* For qsort: CPU chunks by CPU and sequence number, then the others by time. */
int drain_compare(const void *a, const void *b);
/*
 * Describes the classes registered since, in one write; call it after a scan: (2) of drain.h. After
 * a failure the next call tries again.
 */
int drain_describe(struct drain *d, struct diag *diag);
/*
 * Writes the stream class together with its first event class or first packet.  Babeltrace 2.0
 * aborts on a stream class that has a sequence in its context and no event class.
 */
int drain_describe_stream(struct drain *d, struct diag *diag);
/* Chunks closed, and chunks returned unused, since the pool was made. */
uint64_t drain_count_closed(const struct drain *d);
/*
 * The exclusive-path stream of a chunk.  Assigns one if it has none: a free one that ended before
 * the chunk begins.  NULL if there is none.
 */
struct output *drain_exclusive_stream_of(struct drain *d, const struct drain_chunk *s);
/* Opens the file KIND_NUMBER unless it is open. */
int drain_open_stream(struct drain *d, struct output *o, const char *kind, uint32_t number,
		      struct diag *diag);

/* A packet that may be written, and the rest of its chunk, which may not: packet.c. */
struct drain_packet {
	struct ctf_packet packet;
	struct iovec body; /* empty: there is nothing to write */
	uint32_t owner;	   /* of the chunk, as it says */
	struct bounds_kinds found;
};
/* drain_bound_begin - replace an impossible begin; @now_ns was read after it. */
void drain_bound_begin(const struct drain *d, struct drain_chunk *s, uint64_t now_ns);
/* The end of a stream, in the file or behind packets that are to be written with the next one. */
struct drain_place {
	uint64_t end_ns, lost, sequence; /* sequence: of the next packet */
	uint32_t part;			 /* of the scratch memory, below n_at_once */
	const char *next;		 /* bytes that are checked next: counter_copy(); or NULL */
};
static inline struct drain_place drain_place_of(const struct output *o)
{
	return (struct drain_place){ o->end_ns, o->lost, o->stream.sequence, 0, NULL };
}
/*
 * drain_check_packet - the packet @k of the unread bytes of @s, at @at.
 *
 * @k points to the part of memory of @d that @at names.  Returns 0 or -ENOMEM.
 *
 * drain_put_packet - write it, and note `found`.  Returns 0 or -errno: nothing was written.
 *
 * drain_put_packets - the same for @n packets in which nothing was found, none of them empty.
 *
 * drain_packet_begin - where it would begin, as its chunk says.
 *
 * drain_skip - chunks of a CPU before @s are missing: count them as lost packets, if they can have
 * existed.
 */
int drain_check_packet(struct drain *d, const struct drain_place *at, const struct drain_chunk *s,
		       uint64_t lost, struct drain_packet *k, struct diag *diag);
int drain_put_packet(struct drain *d, struct output *o, struct drain_packet *k, struct diag *diag);
int drain_put_packets(struct drain *d, struct output *o, struct drain_packet *k, uint32_t n,
		      struct diag *diag);
uint64_t drain_packet_begin(const struct drain *d, const struct drain_chunk *s);
void drain_skip(struct drain *d, struct output *o, const struct drain_chunk *s);
/*
 * drain_output_of - the stream for the next packet of @s, a chunk of the CPU of @cpu.
 *
 * It is @cpu, unless that has a packet which ends later: then the chunk goes to an exclusive-path
 * stream, so that a forged or late chunk costs no other chunk its place.
 */
struct output *drain_output_of(struct drain *d, struct output *cpu, const struct drain_chunk *s,
			       struct diag *diag);
/* Frees the memory of drain_copy. */
void drain_forget_copy(struct drain *d);
uint64_t drain_slot_lost(const struct drain *d, uint32_t slot);

#endif
