/* SPDX-License-Identifier: MIT */
/* cmd/view_print.h - one event as a line: for people, and as JSON. */
#ifndef CMD_VIEW_PRINT_H
#define CMD_VIEW_PRINT_H

#include "cmd/view_out.h"
#include "trace/names.h"
#include "trace/trace.h"

struct view_clock { /* the wall clock's text of one second is made once */
	int64_t second;
	char text[12]; /* HH:MM:SS */
	int64_t last_ns; /* of the line before */
	bool has_last;
	bool has_second;
};

void view_text(struct out *o, struct view_clock *c, const struct trace_event *e, const struct who *w,
	       bool shows_host);
void view_text_lost(struct out *o, const struct trace_event *e);
void view_json(struct out *o, const struct trace_event *e, const struct who *w);
void view_json_lost(struct out *o, const struct trace_event *e);

/* view_is_told_elsewhere - a context that process:thread already shows. */
bool view_is_told_elsewhere(const char *name);

#endif
