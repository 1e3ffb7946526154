/* SPDX-License-Identifier: MIT */
/* cmd/view/csv.h - events as comma-separated values (RFC 4180; lines end with LF), for `duet view`
 * and `duet export`. */
#ifndef CMD_VIEW_CSV_H
#define CMD_VIEW_CSV_H

#include "base/text.h"
#include "trace/text/public.h"
#include "trace/public.h"

struct csv {
	struct out *o;
	struct text text; /* of the current cell */
	struct out cell;  /* writes to `text` */
	/* the only one, with a column for each field; or NULL */
	const struct ctf_event_class *class;
};

/*
 * csv_open - write the line of names to @o, which the caller keeps open.
 *
 * @is_wanted: by class number; NULL: all.  @has_calls: csv_call() may follow, so fields have one
 * column.  A trace that may grow can get more classes: its fields
 * have one column.  Returns 0; or -ENOMEM, then there is nothing to close.
 */
int csv_open(struct csv *c, struct out *o, const struct trace *t, const bool *is_wanted,
	     bool has_calls);

/* csv_event - write one line.  0 or -ENOMEM. */
int csv_event(struct csv *c, const struct trace_event *e, const struct thread_identity *w);

/* csv_call - the same for a call, after csv_open() with has_calls. */
struct view_call;
int csv_call(struct csv *c, const struct trace_event *e, const struct thread_identity *w,
	     const struct view_call *call);

void csv_close(struct csv *c);

#endif
