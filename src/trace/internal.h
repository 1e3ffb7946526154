/* SPDX-License-Identifier: MIT */
/*
 * trace/internal.h - a trace's insides, for trace.c (open, forward) and seek.c (seek, backward).
 *
 * | mode | streams stand on |
 * |---|---|
 * | START | nothing yet |
 * | FRESH | the items after the cursor, in the heap; none of them given |
 * | FORWARD | the same, but heap[0] is what was given last |
 * | ROWS | as FRESH; but if is_spent heap[0] stands on what was given last |
 * | BACKWARD | the items before the cursor, but `given`, which gave its own |
 *
 * From ROWS on streams may have rows_left, in FORWARD all but heap[0].
 */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include "base/text.h"
#include "trace/stream/stream.h"

enum trace_mode { TRACE_START, TRACE_FRESH, TRACE_FORWARD, TRACE_ROWS, TRACE_BACKWARD };

struct recording; /* refresh.c: that a source belongs to */

struct source {
	struct trace_source public;
	struct ctf_meta meta;
	uint32_t recording; /* while the trace may grow: its number in follow->recordings;
			       UINT32_MAX: none */
	bool is_stuck;	    /* its metadata made no sense: what it has is all it gets */
};

struct trace {
	struct trace_options options;
	struct source **sources;
	uint32_t n_sources;
	struct stream **streams; /* all */
	uint32_t n_streams;
	struct stream **heap; /* those not at their end */
	uint32_t n_heap;
	struct stream *next; /* what heap[0] must stay before; NULL: it is alone */
	uint32_t n_classes;
	uint64_t n_damages;	/* of metadata */
	struct diag unreadable; /* why the first trace that is none was passed over */
	enum trace_mode mode;
	bool is_spent;		/* ROWS */
	struct text hosts;	/* what is said about their clocks */
	struct stream *given;	/* BACKWARD */
	bool is_part;		/* of another trace, whose sources and maps it uses */
	struct refresh *follow; /* NULL: it is read as it was at open */
};

static inline bool trace_is_before(const struct stream *a, const struct stream *b)
{
	return a->time_ns < b->time_ns ||
	       (a->time_ns == b->time_ns && a->info.number < b->info.number);
}

/* The streams not at their end into the heap. */
void trace_heap(struct trace *t);

/* The stream at the top of the heap, FORWARD, moves on. */
void trace_advance(struct trace *t);

/* find.c */
void trace_source_close(struct source *s);
/* Moves times as the source's are. */
void trace_shift_stream(struct stream *s);
/* The traces at @path or below it; an error if there are none. */
int trace_open_path(struct trace *t, const char *path, struct diag *d);
/* What is at @path or below it and not known yet becomes sources and streams. */
int trace_find(struct trace *t, const char *path, struct diag *d);

/* refresh.c */
int refresh_open(struct trace *t, const char *const *paths, int n, struct diag *d);
void refresh_close(struct refresh *f);
/* A new source: which recording it is of, and whether that grows. */
int refresh_adopt(struct trace *t, struct source *s);
/* A recording whose traces may come.  0 or -ENOMEM. */
int refresh_expect(struct trace *t, const char *path);
bool refresh_grows(const struct trace *t, const struct source *s);
/* Whether heap[0] may be given now.  Passes over what comes too late. */
bool refresh_admits(struct trace *t);

/* heap[@i], whose time may be later now, to its place among those below it. */
void trace_sink(struct trace *t, uint32_t i);

/* heap[0] to its place, after its time has changed. */
void trace_heap_sift(struct trace *t);

/* batch.c: what was decoded ahead and not given is not read yet, of a stream; of all, and from ROWS
 * to FRESH. */
void trace_unread(struct stream *s);
void trace_leave_batch(struct trace *t);

/* From any other mode to FORWARD, so that heap[0] is what to give. */
void trace_turn_forward(struct trace *t);

/* What @s stands on, told. */
static inline int trace_report(const struct stream *s, struct trace_event *e)
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
