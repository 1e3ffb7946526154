/* SPDX-License-Identifier: MIT */
/* cmd/view/csv.h - events as comma-separated values (RFC 4180; lines end with LF), for `duet view`
 * and `duet export`. */
#ifndef CMD_VIEW_CSV_H
#define CMD_VIEW_CSV_H

#include "base/text.h"
#include "cmd/view/output.h"
#include "trace/names.h"
#include "trace/trace.h"

struct csv {
	struct out *o;
	struct text text;		     /* the cell in hand */
	struct out cell;		     /* that goes there */
	const struct ctf_event_class *class; /* the only one, whose fields have columns; or NULL */
};

/*
 * csv_open - write the line of names to @o, which stays the caller's.
 *
 * @is_wanted: by class number; NULL: all.  Of a trace that may grow, more classes may come: its
 * fields have one column.  0, or -ENOMEM; then nothing is to be closed.
 */
int csv_open(struct csv *c, struct out *o, const struct trace *t, const bool *is_wanted);

/* csv_event - one line.  0 or -ENOMEM. */
int csv_event(struct csv *c, const struct trace_event *e, const struct thread_identity *w);

void csv_close(struct csv *c);

#endif
