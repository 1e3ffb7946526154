/* SPDX-License-Identifier: MIT */
/*
 * trace/internal.h - struct trace and its modes, shared by the files of this directory.
 *
 * | mode     | position of the streams | |----------|---| | START    | not positioned yet | | FRESH
 * | on the items after the cursor, in the heap; none of them returned | | FORWARD  | the same, but
 * heap[0] is on the item returned last | | ROWS     | as FRESH; but if is_spent, heap[0] is on the
 * event returned last | | BACKWARD | on the items before the cursor; `given` is on the item
 * returned last |
 *
 * From ROWS on streams may have events decoded ahead (has_rows); in FORWARD all but heap[0] may.
 */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include "base/text.h"
#include "trace/stream/stream.h"
#include "trace/trace.h"

enum trace_mode { TRACE_START, TRACE_FRESH, TRACE_FORWARD, TRACE_ROWS, TRACE_BACKWARD };

struct recording; /* refresh.c: the recording of a source */

struct source {
	struct trace_source public;
	struct ctf_meta meta;
	uint32_t recording; /* with `follows`: index in follow->recordings, UINT32_MAX: none */
	bool is_stuck;	    /* its metadata could not be parsed further: it keeps what it has */
};

struct trace {
	struct trace_options options;
	struct source **sources;
	uint32_t n_sources;
	struct stream **streams; /* all */
	uint32_t n_streams;
	struct stream **heap; /* the streams not at their end */
	uint32_t n_heap;
	struct stream *next; /* the second stream by time; NULL: heap[0] is alone */
	uint32_t n_classes;
	uint64_t n_damages;	/* of metadata */
	struct diag unreadable; /* why the first unreadable trace was skipped */
	enum trace_mode mode;
	bool is_spent;	      /* ROWS */
	struct text hosts;    /* the line that trace_hosts() returns */
	struct stream *given; /* BACKWARD */
	/* opened by trace_part(): sources and maps belong to another trace */
	bool is_part;
	bool has_link;		/* one was found, and reported */
	bool has_vanished;	/* something was removed between listing and opening it */
	struct refresh *follow; /* NULL: not followed */
};

static inline bool trace_is_before(const struct stream *a, const struct stream *b)
{
	return a->time_ns < b->time_ns ||
	       (a->time_ns == b->time_ns && a->info.number < b->info.number);
}

/* Builds the heap from the streams that are not at their end. */
void trace_build_heap(struct trace *t);

/* Advances the stream at the top of the heap. */
void trace_advance(struct trace *t);

/* find.c */
void trace_source_close(struct source *s);
/* Adds the shift of the stream's source to its times. */
void trace_shift_stream(struct stream *s);
/* Opens the traces at @path or below it.  Without one, -ENOENT. */
int trace_open_path(struct trace *t, const char *path, struct diag *d);
/* Adds traces and streams at @path or below it that are not known yet. */
int trace_find(struct trace *t, const char *path, struct diag *d);

/* refresh.c */
int refresh_open(struct trace *t, const char *const *paths, int n, struct diag *d);
void refresh_close(struct refresh *f);
/* Finds the recording of a new source, which may grow. */
int refresh_adopt(struct trace *t, struct source *s);
/* Adds a recording; its traces may come later.  0 or -ENOMEM. */
int refresh_expect(struct trace *t, const char *path);
bool refresh_grows(const struct trace *t, const struct source *s);
/* Whether heap[0] may be returned now.  Skips and counts events that come too late. */
bool refresh_admits(struct trace *t);
/* forget.c: whether directory @name in @path is a trace chunk that was read and forgotten. */
bool refresh_is_forgotten(const struct trace *t, const char *path, const char *name);

/* Moves heap[@i], whose time may have increased, down to its place. */
void trace_sink(struct trace *t, uint32_t i);

/* Moves heap[0] to its place after its time has changed. */
void trace_heap_sift(struct trace *t);

/* batch.c: undo decoding ahead, for one stream; for all, and from ROWS to FRESH. */
void trace_unread(struct stream *s);
void trace_leave_batch(struct trace *t);

/* From any other mode to FORWARD, so that heap[0] is the next to return. */
void trace_turn_forward(struct trace *t);

/* Describes the current item of @s in @e. */
static inline int trace_describe_item(const struct stream *s, struct trace_event *e)
{
	e->time_ns = s->time_ns;
	e->clock = s->reader.clock;
	e->cpu = s->cpu;
	e->stream = &s->info;
	if (likely(s->item == TRACE_EVENT)) {
		e->ctf = &s->event;
		return TRACE_EVENT;
	}
	e->lost_events = s->lost_events;
	e->lost_packets = s->lost_packets;
	return TRACE_LOST;
}

#endif
