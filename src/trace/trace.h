/* SPDX-License-Identifier: MIT */
/*
 * trace/trace.h - reads recordings as one stream of events, ordered by time.
 *
 * Opening maps every stream file of every trace found and reads the headers of its packets.  Events
 * are decoded on demand, in place, and are valid until the next call.  What always holds:
 *
 *   (1) items come in ascending time, items of one time in the order of streams; only a stream
 *       that is itself out of order breaks this
 *   (2) every sound event before a damaged place is returned; the damage is reported once, through
 *       `warn`, and counted; reading continues with the next packet
 *   (3) whatever the files hold, memory stays proportional to their size, and reading ends
 *
 * One thread at a time may use a trace.  A file that is cut while it is read may raise SIGBUS, as
 * with any map; sizes are taken at open.  A handler that puts zeros there lets reading go on.
 *
 * With `follows`, recordings may be open that are still written.  Then trace_next() ends where the
 * next item is not known yet, and continues after trace_refresh().  (1) holds without exception;
 * events that come too late are counted.  Bytes that an index does not name are not read before the
 * recording's end, so that a collector may cut back a packet it could not write.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "ctf/decode/public.h"
#include "trace/stream/info.h"

struct trace;
struct stream;

struct trace_event {
	int64_t time_ns; /* from the Epoch */
	uint64_t clock;	 /* the same time in units of the trace's clock */
	uint32_t cpu;
	const struct trace_stream_info *stream;
	const struct ctf_event *ctf;	    /* events: class and fields, see ctf/decode/decode.h */
	uint64_t lost_events, lost_packets; /* TRACE_LOST */
};

/*
 * trace_open - open recordings.
 *
 * @paths: @n of them; each directory that holds a `metadata` file, at @paths[i] or below it, is a
 * trace.  Hidden directories and `index` are skipped.
 * @o: may be NULL; copied.
 *
 * A trace with unreadable metadata is reported and skipped, unless there is no other.
 *
 * Returns 0 and *@t, to be closed; or -errno with the reason in @d.
 */
int trace_open(struct trace **t, const char *const *paths, int n, const struct trace_options *o,
	       struct diag *d);
void trace_close(struct trace *t); /* accepts NULL */

/* trace_next - return the next item of all streams, or TRACE_END.  -EINVAL with the reason in @d:
 * damage if is_strict, or `progress` returned true. */
int trace_next(struct trace *t, struct trace_event *e, struct diag *d);

/*
 * trace_batch - return the next events in order, each with all its fields.  Several times as fast
 * as trace_next().
 *
 * @rows: room for @n_rows.  Their content is valid until the next call that moves the cursor.
 *
 * Returns the number of rows, which may be fewer than @n_rows.  0: the next item is not an event of
 * numbers and texts alone, or it is the end, or there is no memory, or the trace is followed.  Then
 * trace_next() returns the item.
 */
uint32_t trace_batch(struct trace *t, struct ctf_row *rows, uint32_t n_rows);

/* trace_skip_to - skip whole packets that end before @time_ns.  Only before the first trace_next();
 * events a little earlier than @time_ns may still come.  Streams of less than @min_bytes are not
 * skipped: the state dumps, which name threads, are among them. */
void trace_skip_to(struct trace *t, int64_t time_ns, uint64_t min_bytes);

/* trace_skip_stream - the same for one stream, of any size. */
void trace_skip_stream(struct trace *t, uint32_t stream, int64_t time_ns);
/* trace_stream_is_of - whether all packets of a stream are of stream class @class_id, as its index says, and
 * ascend in time; then a far packet can be opened alone. */
bool trace_stream_is_of(const struct trace *t, uint32_t stream, uint32_t *class_id);
/* trace_stream_has_index - whether its packets are listed by its index, and ascend in time. */
bool trace_stream_has_index(const struct trace *t, uint32_t stream);

/*
 * trace_refresh - with `follows`: look for new packets, streams, classes and traces.
 *
 * Call it after trace_next() returned TRACE_END.  It invalidates the last item.  Sources, streams
 * and classes stay valid, until trace_forget(); new ones get new numbers.  It costs one stat() for each file: a few calls
 * per second are enough.
 *
 * Returns 1: there may be more to come; 0: all recordings have ended, or never grew, and
 * trace_next() now returns all that is left; or -ENOMEM, -EINVAL (strict).
 */
int trace_refresh(struct trace *t, struct diag *d);
/*
 * trace_forget - right after trace_refresh(): free the trace chunks that were read to their ends, if they are
 * many.  Without it a reader of a session that rotates grows with each chunk.
 *
 * NULL: nothing has changed.  Else sources, streams and classes have new numbers, in the same order, and
 * pointers to those that are gone are invalid: also to the names, programs and operations of classes.  The
 * result has the number that each source had before, and is valid until the next call.
 */
const uint32_t *trace_forget(struct trace *t);
/* trace_read_bytes - byte of stream @i's file before which trace_next() will not read again. */
uint64_t trace_read_bytes(const struct trace *t, uint32_t i);
/* trace_chunks_read - the number up to which the trace chunks of recording @path were read to their
 * ends; their reader needs them no more.  Less than the newest: that one may grow. */
uint32_t trace_chunks_read(const struct trace *t, const char *path);
/* Whether trace_refresh() may bring more. */
bool trace_may_grow(const struct trace *t);

struct trace_following {
	/* everything up to this time is in the files; INT64_MIN: not known yet */
	int64_t known_ns;
	uint64_t n_late; /* events left out because later ones were already returned */
	uint64_t n_gone; /* streams that were removed before their end was read */
	uint32_t n_cut;	 /* recordings with a killed recorder */
	uint32_t n_sent; /* recordings sent to a relay, which may remove data here */
	/* a recording that has been silent for seconds and is not waited for; NULL: none */
	const char *silent;
};
/* trace_following - with `follows`: the current state.  Valid until the next trace_refresh(). */
const struct trace_following *trace_following(const struct trace *t);

/*
 * trace_hosts - if recordings of several hosts are open, any of them through a relay: one line
 * about the precision of their times, else "".
 *
 * Times of a recording that came through a relay are moved to the relay's clock.  Those of others
 * stay as recorded.
 */
const char *trace_hosts(const struct trace *t);

/*
 * trace_previous - return the item before the cursor, and move the cursor before it.
 *
 * trace_next() returns the same item again.  TRACE_END at the beginning; -ENOTSUP with `follows`;
 * -ENOMEM.  Costs about twice as much as forward, and 400 KiB for each stream; more where packets
 * have above 16384 events.
 */
int trace_previous(struct trace *t, struct trace_event *e, struct diag *d);

/* trace_seek - move the cursor before the first item of @time_ns or later.  Whole packets are
 * skipped by their headers.  Any time, any direction; damage on the way is reported once. */
void trace_seek(struct trace *t, int64_t time_ns);

/*
 * trace_places - where every stream stands, for trace_resume(): the byte of its packet.
 *
 * Call it between two trace_next().  @places has room for all streams.  False if reading cannot go on from
 * there: damage was reported, or a packet has no time of its begin.
 */
bool trace_places(const struct trace *t, uint64_t *places);
/*
 * trace_resume - move the cursor to the first item at @time_ns or later; each stream is read from its place
 * on.  Only before the first trace_next(), or after trace_seek().
 *
 * If no item before trace_places() was at @time_ns or later, the items are those that came behind it.
 * False if a place is none; then the cursor has not moved.
 */
bool trace_resume(struct trace *t, int64_t time_ns, const uint64_t *places);

/* trace_hold - with @holds, texts of all events stay valid, not only those of the newest event:
 * decompressed bytes are kept.  Without, this ends. */
void trace_hold(struct trace *t, bool holds);

/*
 * trace_part - open one stream of @t, or TRACE_ALL_STREAMS, as a trace of its own, from the
 * beginning.
 *
 * It shares @t's metadata and maps: close it before @t.  Different threads may use parts, and @t,
 * at the same time; @warn is called by the thread that reads.
 *
 * Returns 0; -EINVAL: no such stream, or @t is followed; -ENOMEM.
 */
#define TRACE_ALL_STREAMS UINT32_MAX
int trace_part(const struct trace *t, uint32_t stream,
	       void (*warn)(void *context, const char *text), void *context, struct trace **part);
/* trace_part_of - the same for the streams that are @wanted, by number.  Nothing is reported. */
int trace_part_of(const struct trace *t, const bool *wanted, struct trace **part);
/*
 * trace_births_of - the same without the packets that have no births of threads and no state dump, as the
 * index shows.  To be read forward.
 * trace_stream_knows_births - whether the index of a stream shows that.
 */
int trace_births_of(const struct trace *t, const bool *wanted, struct trace **part);
/* trace_stream_is_complete - whether it lacks no packet and no event, as its index shows. */
bool trace_stream_is_complete(const struct trace *t, uint32_t stream);
bool trace_stream_knows_births(const struct trace *t, uint32_t stream);

uint32_t trace_n_sources(const struct trace *t);
const struct trace_source *trace_source(const struct trace *t, uint32_t i);
uint32_t trace_n_streams(const struct trace *t);
const struct trace_stream_info *trace_stream(const struct trace *t, uint32_t i);
/* trace_stream_file - the packets of stream @i: trace/stream/stream.h.  For readers of packets, not
 * of events; valid until trace_close().  Do not move its cursor. */
struct stream *trace_stream_file(const struct trace *t, uint32_t i);
uint32_t trace_n_classes(const struct trace *t); /* event classes of all sources */
uint64_t trace_n_damages(const struct trace *t); /* so far */

/* trace_class_number - the class's number among those of all sources: an index for per-class
 * arrays. */
static inline uint32_t trace_class_number(const struct trace_event *e)
{
	return e->ctf->class->number;
}

#endif
