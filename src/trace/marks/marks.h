/* SPDX-License-Identifier: MIT */
/*
 * trace/marks/marks.h - checkpoints in a recording: a reader begins at one instead of the first event.
 *
 * The name of an event's thread depends on earlier events (trace/names.h), so the last microseconds of a
 * recording need all of it.  A mark has the names at one time, and the open packet of each stream.  A reader
 * that reads a large recording from its begin writes marks to a file; the next reader begins at the last mark
 * before the time that it wants.
 *
 * Invariants:
 *   (1) from a mark on a reader returns the same items as one from the begin, with the same names
 *   (2) the file is used only if it is the user's own and was made for these files as they are mapped; every
 *       number of it is checked, so the worst effect of a forged file is a wrong name
 *   (3) the file has at most a 32nd of the recording's bytes, and 1 to 64 MiB
 *   (4) a recording in which damage was found gets no marks: all of it is read, so all is reported
 *   (5) marks of other readers stay: a reader adds its own later ones to them
 *
 * Format: docs/formats/names-index.md.  Why: docs/design/reading/far.md.
 */
#ifndef TRACE_MARKS_MARKS_H
#define TRACE_MARKS_MARKS_H

#include "trace/names.h"
#include "trace/trace.h"

/* Smaller recordings are read faster than marks are made. */
enum { MARKS_RECORDING_MIN = 16 << 20, MARKS_EVERY = 1 << 18 };

struct marks_file {
	int fd;		 /* -1: there is none */
	char path[4096]; /* for messages */
};
#define MARKS_NO_FILE ((struct marks_file){ .fd = -1 })

/*
 * marks_find - open the file of the recordings @paths: in the first one's .duet, or in the user's cache.
 *
 * It is made, empty, if it is missing.  No file if the recordings are small, or where it cannot be
 * written.  Call it before the sandbox: afterwards the open file is all that is needed.
 */
void marks_find(struct marks_file *f, const char *const *paths, int n);

struct marks {
	uint64_t left;	 /* items until the next mark */
	int64_t last_ns; /* the latest item so far */
	struct marks_made *made;
};

/*
 * marks_open - @t is before its first item, @n has learned nothing; both are lent.  @f: closed with the
 * marks; a file that is no good is reported in @note, "" otherwise.  Returns 0 or -ENOMEM.
 */
int marks_open(struct marks *m, const struct marks_file *f, struct trace *t, struct names *n,
	       struct diag *note);

/* marks_go - begin at the last mark at @time_ns or before; without one nothing happens.  Returns 0, or
 * -ENOMEM with the reason in @d; a mark that is no good is reported in @note. */
int marks_go(struct marks *m, int64_t time_ns, struct diag *note, struct diag *d);

/* marks_are_near - whether little is read from the last mark at @time_ns or before. */
bool marks_are_near(const struct marks *m, int64_t time_ns);

/* marks_pause, marks_begin_anew - make no marks while a reader skips; begin again with the first item: marks_go()
 * may follow. */
void marks_pause(struct marks *m);
void marks_begin_anew(struct marks *m);

/* marks_make - see marks_on_item */
void marks_make(struct marks *m, int64_t time_ns);

/* marks_on_item - the item of @time_ns was read from the trace, and is not learned from yet. */
static inline void marks_on_item(struct marks *m, int64_t time_ns)
{
	if (likely(!m->made))
		return;
	if (unlikely(!m->left))
		marks_make(m, time_ns);
	m->left--;
	m->last_ns = time_ns > m->last_ns ? time_ns : m->last_ns;
}

/* marks_close - write the new marks to the file.  Accepts zeroes. */
void marks_close(struct marks *m);

/* For tests: a mark every @every items, in recordings of any size. */
int marks_open_every(struct marks *m, const struct marks_file *f, struct trace *t, struct names *n,
		     uint64_t every, struct diag *note);

#endif
