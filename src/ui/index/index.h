/* SPDX-License-Identifier: MIT */
/*
 * ui/index/index.h - recordings as rows of intervals with prefix sums: exact answers for any span of
 * time, at any zoom, in microseconds.
 *
 * A thread of its own builds the index from the events, in their order; readers see what is ready.
 * It is kept beside the recording and used again while the recording's files are the same.
 *
 * A row is a line of the picture: a CPU, a process, a thread, an interrupt, a disk, a counter.  A row
 * has tracks.  A track is a sequence of intervals that do not overlap, in ascending order, with sums
 * every 64 of them (so a sum over any time is two look-ups and at most 128 steps); or of points.
 *
 * Invariants:
 *   (1) intervals are only appended; an index of an interval never changes its meaning
 *   (2) times are nanoseconds since the index's begin_ns; a reader sees whole intervals only
 *   (3) states add up as `duet report why` adds them (analysis/wait): their sum over a row's life is
 *       its life; time that is not known is UI_UNKNOWN
 *   (4) nothing is joined over a loss; losses are gaps of their own
 *   (5) memory is bounded by `most_bytes`; beyond it the index ends early, and reports that
 */
#ifndef UI_INDEX_INDEX_H
#define UI_INDEX_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include <stddef.h>

#include "base/diag.h"

enum ui_row_kind {
	UI_ROW_HOST,  /* parents of the rows of a machine, if there are several host names */
	UI_ROW_GROUP, /* "CPUs", "Interrupts", "Disks", "Counters" */
	UI_ROW_CPU,
	UI_ROW_PROCESS,
	UI_ROW_THREAD,
	UI_ROW_IRQ,
	UI_ROW_DISK,
	UI_ROW_COUNTER,
};

/* Values of intervals of UI_TRACK_STATES: as enum wait_state. */
enum ui_state {
	UI_UNKNOWN,
	UI_USER,
	UI_KERNEL,
	UI_IRQ,
	UI_PREEMPTED,
	UI_RUNNABLE,
	UI_BLOCKED,
	UI_STATES,
	UI_GONE = UI_STATES, /* not born yet, or dead: no interval is stored */
};

enum ui_track_kind {
	UI_TRACK_STATES,  /* threads: enum ui_state */
	UI_TRACK_RUNNING, /* CPUs: `what` is the row of the thread; no interval: idle */
	UI_TRACK_SPANS,	  /* pairs of an application's events; `what` is a name */
	UI_TRACK_SYSCALLS, /* `what` is a name; `aux` is the result, cut to 32 bits, or UI_CALL_CUT */
	UI_TRACK_CALLS,	   /* functions; `what` is a name */
	UI_TRACK_BUSY,	   /* interrupts, requests of disks: `what` is a name */
	UI_TRACK_EVENTS,   /* points: `what` is a name of an event class */
	UI_TRACK_SAMPLES, /* points */
	UI_TRACK_COUNTER, /* points with values */
};

struct ui_track_info {
	uint32_t row;
	uint8_t kind;
	uint8_t depth; /* SPANS, CALLS: nesting, from 0 */
};

struct ui_row {
	uint8_t kind;
	uint32_t parent;  /* row, plus 1; 0: none */
	const char *name; /* untrusted text */
	int64_t pid, tid; /* -1: none */
	int32_t cpu;
	uint32_t recording;	   /* of several hosts: which */
	int64_t first_ns, last_ns; /* its life, as far as seen */
	bool is_partial;	   /* a thread that was not followed: its states are fragments */
	uint32_t first_track, n_tracks; /* via ui_row_track() */
};

struct ui_interval {
	int64_t begin_ns, end_ns; /* points: the same */
	uint32_t what;
	int64_t aux;  /* COUNTER: the value */
	bool is_open; /* it goes on at the end of what is known */
	bool is_cut;  /* a system call whose exit was not recorded: it has no duration */
};

/* Instead of a call's result.  A result that is the same number is kept as the next one. */
#define UI_CALL_CUT (INT32_MIN + 1)

struct ui_sums {
	uint64_t ns[UI_STATES + 1]; /* STATES; others: ns[0] is the covered time */
	uint64_t n;		    /* intervals that begin in the span; points in it */
};

struct ui_gap { /* lost events */
	int64_t begin_ns, end_ns;
	uint64_t lost;
	int32_t cpu; /* -1: unknown */
	uint32_t recording;
};

struct ui_wake {		  /* a wakeup that ended a wait */
	int64_t time_ns, runs_ns; /* woken; on a CPU again */
	uint32_t waker, woken;	  /* rows; waker plus 1, 0: an interrupt or unknown */
};

struct ui_index_options {
	const char *const *paths;
	int n_paths;
	bool follows; /* recordings that are still written */
	bool no_cache;
	uint64_t cache_from; /* events from which on an index is kept in a file; 0: 65536 */
	uint64_t most_bytes; /* 0: 1.25 GiB */
};

struct ui_index;

/* ui_index_open - begin to index.  Returns 0 or -errno, reason in @d: no recording there. */
int ui_index_open(struct ui_index **x, const struct ui_index_options *o, struct diag *d);
void ui_index_close(struct ui_index *x); /* ends the thread; accepts NULL */

struct ui_index_status {
	int64_t begin_ns; /* from the Epoch: zero of all other times */
	int64_t end_ns;	  /* of the recording, as its packets claim; grows while it is followed */
	int64_t ready_ns; /* everything before is in the index */
	bool is_done, is_cut; /* complete; cut at most_bytes */
	uint64_t n_events, lost_events, lost_packets, n_damages;
	double progress;   /* 0 to 1 */
	char failure[256]; /* "" or why the index ended early */
	char damage[512];  /* "" or the first damaged places, a line each */
	char note[256];	   /* "" or what became of a file with the index */
	uint64_t version;  /* changes when rows or names were added */
};
/* All functions from here on may be called from any thread. */
void ui_index_status(struct ui_index *x, struct ui_index_status *s);

uint32_t ui_index_n_rows(struct ui_index *x);
bool ui_index_row(struct ui_index *x, uint32_t row, struct ui_row *r); /* texts stay valid */
/* ui_row_track - the number of track @i of @row. */
uint32_t ui_row_track(struct ui_index *x, uint32_t row, uint32_t i);
bool ui_track_info(struct ui_index *x, uint32_t track, struct ui_track_info *info);
uint32_t ui_index_n_names(struct ui_index *x);
const char *ui_index_name(struct ui_index *x, uint32_t name); /* untrusted text */

uint32_t ui_track_n(struct ui_index *x, uint32_t track);
bool ui_track_get(struct ui_index *x, uint32_t track, uint32_t i, struct ui_interval *v);
/* ui_track_read - intervals from @i on, at most @most; returns their number.  Several times as fast as
 * ui_track_get() for each. */
uint32_t ui_track_read(struct ui_index *x, uint32_t track, uint32_t i, struct ui_interval *v,
		       uint32_t most);
/* ui_track_find - the first interval that ends after @ns (points: at or after); ui_track_n(): none. */
uint32_t ui_track_find(struct ui_index *x, uint32_t track, int64_t ns);
/* ui_track_sums - exact sums over [@from, @to). */
void ui_track_sums(struct ui_index *x, uint32_t track, int64_t from, int64_t to, struct ui_sums *s);

/*
 * A track as pixels, or as cells of several: what lies before each of their boundaries, and the intervals
 * that are long enough to be drawn one by one.  Pixel x begins at from_ns + x * (to_ns - from_ns) / width.
 */
struct ui_scan {
	int64_t from_ns, to_ns;
	uint32_t width, grain; /* pixels; of a cell.  The last cell may be smaller */
	int64_t least_ns;      /* the length of items, at least that of a cell */
	/* Results, which the next scan overwrites. */
	uint32_t n_cells;
	int64_t *at;	   /* n_cells + 1: the boundaries */
	uint32_t *before;  /* n_cells + 1: entries that begin before boundary x */
	uint64_t *covered; /* (n_cells + 1) * n_sums, intervals: time covered before it */
	int64_t *values;   /* n_cells * 3, counters: least, greatest and last value of a cell */
	uint32_t n_sums;   /* UI_STATES for states; 1 */
	struct ui_scan_item {
		int64_t begin_ns, end_ns;
		uint32_t index, what;
	} * items; /* in order; points: those that are alone in their cell */
	uint32_t n_items;
	uint32_t room;		      /* boundaries that the results have room for */
	int64_t at_from_ns, at_to_ns; /* `at` is of these: */
	uint32_t at_width, at_grain;
};

/* ui_track_scan - fill in @s.  The cost is proportional to cells, not to intervals.  0 or -ENOMEM. */
int ui_track_scan(struct ui_index *x, uint32_t track, struct ui_scan *s);
void ui_scan_fini(struct ui_scan *s);

/* ui_index_gaps - gaps that touch [@from, @to), at most @most; returns their number.  ui_index_wakes:
 * wakeups of thread row @row (or by it, if @by) in that time. */
uint32_t ui_index_gaps(struct ui_index *x, int64_t from, int64_t to, struct ui_gap *gaps,
		       uint32_t most);
uint32_t ui_index_wakes(struct ui_index *x, uint32_t row, bool by, int64_t from, int64_t to,
			struct ui_wake *wakes, uint32_t most);

/*
 * ui_index_keep - data of a query that lives as long as the index: tables, open recordings.
 *
 * The first call with @key (an address) calls @make, which gets @context; later ones return the same.
 * @destroy is called by ui_index_close(), in the reverse order.  NULL: no memory, or @make failed.
 */
void *ui_index_keep(struct ui_index *x, const void *key, void *(*make)(void *context),
		    void *context, void (*destroy)(void *kept));

#endif
