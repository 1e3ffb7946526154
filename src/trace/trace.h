/* SPDX-License-Identifier: MIT */
/*
 * trace/trace.h - recordings read as one stream of events, ordered by time.
 *
 * Opening maps every stream file of every trace found and walks its packets' headers; events are
 * decoded as they are asked for, where they lie, and lent until the next call.  What always holds:
 *
 *   (1) items come by ascending time, those of one time in the order of streams; only a stream
 *       that is itself out of order breaks this
 *   (2) every sound event before a damaged place is given; the damage is told once, through `warn`,
 *       and counted; reading goes on with the next packet
 *   (3) whatever the files hold, memory stays in proportion to their size, and reading ends
 *
 * One thread at a time may use a trace.  A file cut while it is being read may raise SIGBUS, as
 * with any map; sizes are taken at open.
 *
 * With `follows` recordings may be open that are still written.  Then trace_next() ends where it is
 * not known yet what comes next, and goes on after trace_refresh().  (1) holds without exception;
 * what comes too late is counted.  What an index does not name is not looked at before the
 * recording's end, so that a collector that cuts back a packet it could not write does no harm.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "ctf/decode/decode.h"

struct trace;

#define TRACE_CPU_UNKNOWN UINT32_MAX

enum trace_domain { TRACE_OTHER, TRACE_UST, TRACE_KERNEL };

/* One CTF trace: a directory with a `metadata` file. */
struct trace_source {
	const char *path; /* as given, and what was found below it */
	enum trace_domain domain;
	const char *hostname; /* "" if unknown */
	int64_t shift_ns;     /* added to its times: see trace_hosts */
	const struct ctf_meta *meta;
	uint32_t number; /* 0 ... n_sources - 1 */
};

/* One stream file. */
struct trace_stream_info {
	const struct trace_source *source;
	const char *name; /* of the file */
	const char *path;
	uint32_t number; /* 0 ... n_streams - 1 */
	uint32_t n_packets;
	uint64_t size_bytes;
	int64_t begin_ns, end_ns; /* as packets claim */
};

enum trace_item {
	TRACE_END,
	TRACE_EVENT,
	TRACE_LOST, /* at this place, in this stream */
};

struct trace_event {
	int64_t time_ns; /* from the Epoch */
	uint64_t clock;	 /* the same as the trace's clock shows it */
	uint32_t cpu;
	const struct trace_stream_info *stream;
	const struct ctf_event *ctf;	    /* events: class and fields, see ctf/decode/decode.h */
	uint64_t lost_events, lost_packets; /* TRACE_LOST */
};

struct trace_options {
	/* Told of each damaged place; the first TRACE_WARNINGS_MAX of each stream. */
	void (*warn)(void *context, const char *text);
	/* Told, for each packet that reading comes to, how many bytes of the recordings that is;
	 * may be NULL. True ends everything. */
	bool (*progress)(void *context, uint64_t bytes);
	void *context;
	bool is_strict; /* a damaged place ends everything instead */
	bool follows;	/* they may be written still: see trace_refresh() */
};
enum { TRACE_WARNINGS_MAX = 8 };

/*
 * trace_open - open recordings.
 *
 * @paths: @n of them; each directory that holds a `metadata` file, at @paths[i] or below it, is a
 * trace.  Hidden directories and `index` are passed over.
 * @o: may be NULL.
 *
 * A trace whose metadata cannot be read is told and passed over, unless there is no other.
 *
 * Returns 0 and *@t, to be closed; or -errno with the reason in @d.
 */
int trace_open(struct trace **t, const char *const *paths, int n, const struct trace_options *o,
	       struct diag *d);
void trace_close(struct trace *t); /* accepts NULL */

/* trace_next - the next item of all streams.  -EINVAL only if strict: the damage is in @d; or if
 * `progress` said so. */
int trace_next(struct trace *t, struct trace_event *e, struct diag *d);

/*
 * trace_batch - the next events, in order, each with all its fields; several times as fast as one
 * by one.
 *
 * @rows: room for @n_rows.  What they lend is lent until the next call that moves the cursor.
 *
 * Returns how many there are, fewer than @n_rows at will.  0: what comes next is no event of
 * numbers and texts alone, or the end, or there is no memory, or the trace is followed:
 * trace_next() gives it.
 */
uint32_t trace_batch(struct trace *t, struct ctf_row *rows, uint32_t n_rows);

/* trace_skip_to - pass over whole packets that end before @time_ns.  Only before the first
 * trace_next(); events a little earlier than @time_ns may still come.  Streams of less than
 * @min_bytes are read whole: dumps of the state at the beginning, which name threads, are among
 * them. */
void trace_skip_to(struct trace *t, int64_t time_ns, uint64_t min_bytes);

/*
 * trace_refresh - with `follows`: look for what has been written since: packets, streams, classes,
 * traces.
 *
 * After trace_next() said TRACE_END.  What was lent by trace_next() is not valid any more; sources,
 * streams and classes are, and new ones have new numbers.  Costs a look at each file: some times a
 * second is often enough.
 *
 * Returns 1: there may be more to come; 0: all recordings have ended, or never grew, and what
 * trace_next() gives from now on is all there is; or -ENOMEM, -EINVAL (strict).
 */
int trace_refresh(struct trace *t, struct diag *d);
/* trace_read_bytes - of stream @i's file: what is before this byte is not looked at again by
 * trace_next(). */
uint64_t trace_read_bytes(const struct trace *t, uint32_t i);
/* Whether trace_refresh() may bring more. */
bool trace_may_grow(const struct trace *t);

struct trace_following {
	int64_t known_ns;   /* up to when everything is there; INT64_MIN: not known yet */
	uint64_t n_late;    /* events that came when later ones were given already: left out */
	uint64_t n_gone;    /* streams that were removed before their end was read */
	uint32_t n_cut;	    /* recordings whose recorder was killed */
	uint32_t n_sent;    /* recordings that give back what a relay has of them */
	const char *silent; /* a recording that has said nothing for some seconds and is not waited
			       for, or NULL */
};
/* trace_following - with `follows`: how it stands.  Lent until the next trace_refresh(). */
const struct trace_following *trace_following(const struct trace *t);

/*
 * trace_hosts - if recordings of several hosts are open, any through a relay: one line about what
 * their times are worth, else "".
 *
 * Times of a recording that came through a relay are then the relay's.  Those of others stay as
 * recorded.
 */
const char *trace_hosts(const struct trace *t);

/*
 * trace_previous - the item before the cursor; the cursor is then before it.
 *
 * trace_next() gives the same one again.  TRACE_END at the beginning.  Costs about twice what
 * forward does, and 400 KiB for each stream; more where packets have above 16384 events.
 */
int trace_previous(struct trace *t, struct trace_event *e, struct diag *d);

/* trace_seek - move the cursor before the first item of @time_ns or later.  Whole packets are
 * passed over by their headers.  Any time, any direction; damage on the way is told once. */
void trace_seek(struct trace *t, int64_t time_ns);

/* trace_hold - from now on, or no more, texts of all events stay valid, not only those of the
 * newest event: what is decompressed is kept then. */
void trace_hold(struct trace *t, bool holds);

/*
 * trace_part - one stream of @t, or TRACE_ALL_STREAMS, as a trace of its own, from the beginning.
 *
 * It shares @t's metadata and maps: close it before @t.  Different threads may use parts, and @t,
 * at the same time; @warn is called by the thread that reads.
 *
 * -EINVAL: no such stream; -ENOMEM.
 */
#define TRACE_ALL_STREAMS UINT32_MAX
int trace_part(const struct trace *t, uint32_t stream,
	       void (*warn)(void *context, const char *text), void *context, struct trace **part);

uint32_t trace_n_sources(const struct trace *t);
const struct trace_source *trace_source(const struct trace *t, uint32_t i);
uint32_t trace_n_streams(const struct trace *t);
const struct trace_stream_info *trace_stream(const struct trace *t, uint32_t i);
uint32_t trace_n_classes(const struct trace *t); /* of events, of all sources */
uint64_t trace_n_damages(const struct trace *t); /* so far */

/* The class's number among those of all sources: an index for per-class arrays. */
static inline uint32_t trace_class_number(const struct trace_event *e)
{
	return e->ctf->class->number;
}

#endif
