/* SPDX-License-Identifier: MIT */
/* cmd/view/print.h - one event as a line: for people, and as JSON. */
#ifndef CMD_VIEW_PRINT_H
#define CMD_VIEW_PRINT_H

#include "cmd/view/style.h"
#include "cmd/view/output.h"
#include "cmd/view/template.h"
#include "trace/names.h"
#include "trace/trace.h"

struct view_clock {	   /* the wall clock's text of one second is made once */
	int64_t second_ns; /* when that second began, from the Epoch */
	char text[32];	   /* up to the point */
	size_t size;
	int64_t first_ns, last_ns; /* of the first line, and of the one before */
	bool has_last;
	bool has_second;
};

struct view_where;

struct view_texts {		  /* what lines for people share */
	struct view_where *where; /* NULL: addresses stay numbers */
	struct view_style look;
	struct view_clock clock;
	struct view_templates templates;
};

void view_text(struct out *o, struct view_texts *t, const struct trace_event *e,
	       const struct thread_identity *w);
void view_text_lost(struct out *o, const struct view_texts *t, const struct trace_event *e);
void view_json(struct out *o, const struct trace_event *e, const struct thread_identity *w);
void view_json_lost(struct out *o, const struct trace_event *e);

/* view_json_scope - @before and an object of the fields of @scope; nothing, and false, if there are
 * none. */
bool view_json_scope(struct out *o, const struct trace_event *e, enum ctf_scope scope,
		     const char *before);

/* view_is_shown_elsewhere - a context that process:thread already shows. */
bool view_is_shown_elsewhere(const char *name);

/* view_is_left_out - a context (enum ctf_scope) only the tracer needs, or that stands elsewhere in
 * the line.  @name: NULL for an element. */
bool view_is_left_out(int scope, const char *name);

#endif
