/* SPDX-License-Identifier: MIT */
/*
 * cmd/graph/lines.h - the lines of a replay: calls of threads, nested, with their durations.
 *
 * A call is one line if nothing happens in it, else a line for its begin and one for its end.  So a
 * line of a thread is held until the thread's next: lines of one thread are in order, lines of
 * different threads are nearly so.  With a threshold, lines in a call of unknown duration are held
 * until the call ends.  Invariants:
 *
 *   (1) at most LINES_HELD_MAX bytes of a thread are held, and one line more
 *   (2) a call that is shorter than `over_ns` is not shown, nor is anything that happens in it
 *   (3) lines_begin() and lines_end() of one thread pair: an end closes the innermost call
 */
#ifndef CMD_GRAPH_LINES_H
#define CMD_GRAPH_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "trace/text/public.h"

enum { LINES_HELD_MAX = 1 << 16, LINES_DEPTH_MAX = 1 << 16 };

/* bits */
enum lines_mark {
	LINES_BEFORE = 1,  /* it had begun before the recording */
	LINES_UNWOUND = 2, /* it did not return: longjmp or an exception */
	LINES_OPEN = 4,	   /* it had not returned at the end of the recording */
};

enum lines_kind { LINES_FUNCTION, LINES_SYSCALL, LINES_IRQ };

struct lines_call {
	const char *name; /* borrowed until the call has ended */
	uint32_t name_size;
	enum lines_kind kind;
	unsigned marks;	     /* enum lines_mark */
	int64_t time_ns;     /* of its begin */
	int64_t duration_ns; /* -1: not known yet */
};

struct lines_open {
	const char *name;
	uint32_t name_size;
	uint8_t kind, marks;
	bool is_hidden, is_unsure; /* unsure: it may be too short */
	int64_t begin_ns;
	size_t at, end; /* its line in `held`; at SIZE_MAX: it is printed */
};

/* A call whose begin was not recorded, and which may have a caller like it. */
struct lines_tail {
	int64_t depth;
	size_t at;
};

struct lines_thread {
	char who[48];	/* "[pid.tid]" */
	uint32_t color; /* number of the task */
	struct text held;
	struct lines_open *open;
	uint32_t n_open, n_rooms, n_unsure;
	struct lines_tail *tails;
	uint32_t n_tails, n_tail_rooms;
};

struct lines {
	struct out *out;
	uint64_t over_ns;
	uint32_t depth; /* deeper calls are not shown; 0: all are */
	bool has_colors, has_columns;
	uint64_t limit, n_lines; /* `is_full` is set when they are equal */
	bool is_full;
	uint64_t n_short; /* calls that were not shown */
};

/* These return 0 or -ENOMEM. */
int lines_begin(struct lines *l, struct lines_thread *t, const struct lines_call *c);
/* lines_end - the innermost call ends.  @marks: more of enum lines_mark. */
int lines_end(struct lines *l, struct lines_thread *t, int64_t time_ns, unsigned marks);
/* lines_ended - a call ends whose begin was not recorded.  @depth: its depth among such calls. */
int lines_ended(struct lines *l, struct lines_thread *t, const struct lines_call *c, int64_t depth);
/* lines_note - something that happens in the innermost call: one line, in a comment.
 * @duration_ns: -1 if it has none. */
int lines_note(struct lines *l, struct lines_thread *t, int64_t duration_ns, const char *text,
	       size_t size);
/* lines_finish - the end of the recording: ends the calls that are open, and prints what is held. */
int lines_finish(struct lines *l, struct lines_thread *t);
void lines_free(struct lines_thread *t);

#endif
