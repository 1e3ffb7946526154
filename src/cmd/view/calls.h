/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/calls.h - a recording's items with the calls of programs among them, for displays of
 * single events.
 *
 * The events that hold batches of calls come too; displays leave them out by default
 * (trace_is_batch()).  A recording without calls is read as trace_next() reads it.
 */
#ifndef CMD_VIEW_CALLS_H
#define CMD_VIEW_CALLS_H

#include "analysis/calls/calls.h"
#include "cmd/view/print.h"

enum view_calls_form {
	VIEW_CALLS_LINE, /* one line for each call, at its end */
	VIEW_CALLS_BOTH, /* one for its entry, one for its exit */
	VIEW_CALLS_NONE,
};
enum { VIEW_CALL = 100 }; /* beside TRACE_EVENT, .. */

struct view_calls {
	struct trace *trace; /* borrowed */
	enum view_calls_form form;
	struct fcalls *calls;		 /* NULL: none are shown */
	struct fcalls_walk *walk;	 /* of `calls` */
	struct trace_stream_info stream; /* of the call shown last: its source */
	uint32_t last_thread;
};

/* One call, as its lines show it.  Valid until the next item. */
struct view_call_item {
	struct trace_event event; /* time and stream only */
	struct thread_identity who;
	struct view_call call;
};

/* view_calls_form - parse "line", "both" or "none".  Returns false if it is none of them. */
bool view_calls_form(const char *text, enum view_calls_form *form);

/* view_calls_open - @t is borrowed; what was read of it already does not come again.  Returns 0 or
 * -errno; view_calls_close() in either case. */
int view_calls_open(struct view_calls *v, struct trace *t, enum view_calls_form form,
		    struct diag *d);
void view_calls_close(struct view_calls *v);

/* view_calls_next - like trace_next(); VIEW_CALL: @c is a call to show. */
int view_calls_next(struct view_calls *v, struct trace_event *e, struct view_call_item *c,
		    struct diag *d);

#endif
