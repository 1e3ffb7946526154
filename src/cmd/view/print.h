/* SPDX-License-Identifier: MIT */
/* cmd/view/print.h - prints one event as a line: for people, and as JSON. */
#ifndef CMD_VIEW_PRINT_H
#define CMD_VIEW_PRINT_H

#include "cmd/view/style.h"
#include "trace/text/public.h"
#include "cmd/view/template.h"
#include "trace/public.h"

struct view_clock {	   /* the text of the current second, so that it is formatted once */
	int64_t second_ns; /* the beginning of that second, from the Epoch */
	char text[32];	   /* up to the decimal point */
	size_t size;
	int64_t first_ns, last_ns; /* of the first line, and of the line before */
	bool has_last;
	bool has_second;
};

struct addresses;

struct view_texts {		   /* state shared by all lines for people */
	struct addresses *symbols; /* NULL: addresses are not resolved */
	struct view_style style;
	struct view_clock clock;
	struct view_templates templates;
};

void view_text(struct out *o, struct view_texts *t, const struct trace_event *e,
	       const struct thread_identity *w);
void view_text_lost(struct out *o, const struct view_texts *t, const struct trace_event *e);
void view_json(struct out *o, const struct trace_event *e, const struct thread_identity *w);
void view_json_lost(struct out *o, const struct trace_event *e);

/*
 * A call of a function of a program, shown like an event: "call" if it is one line, else "call_entry"
 * and "call_exit".  Its trace_event has time, CPU and stream, and no fields.
 */
struct view_call {
	const char *event;
	const char *function, *object;
	uint32_t depth;
	int64_t duration_ns; /* -1: not known here */
	const char *mark;    /* "", "unwound", "open" */
};
void view_text_call(struct out *o, struct view_texts *t, const struct trace_event *e,
		    const struct thread_identity *w, const struct view_call *c);
void view_json_call(struct out *o, const struct trace_event *e, const struct thread_identity *w,
		    const struct view_call *c);
/* view_call_members - the fields of @c as members of a JSON object, without the braces. */
void view_call_members(struct out *o, const struct view_call *c);

/* view_json_scope - print @before and an object of the fields of @scope.  If there are none, print
 * nothing and return false. */
bool view_json_scope(struct out *o, const struct trace_event *e, enum ctf_scope scope,
		     const char *before);

#endif
