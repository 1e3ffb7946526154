/* SPDX-License-Identifier: MIT */
/*
 * trace/filter/match.h - evaluates a filter over the events of recordings.
 *
 * The expression (duet-filter(7)) is linked to each event class.  A class that lacks a field of the
 * expression, or has it with another type, has no matching events.  An expression that fits no
 * class at all is an error.
 */
#ifndef TRACE_FILTER_MATCH_H
#define TRACE_FILTER_MATCH_H

#include "filter/filter.h"
#include "trace/filter/match_field.h"
#include "trace/names.h"
#include "trace/trace.h"

struct match;

/*
 * match_open - prepare @expression for the events of @t.
 *
 * @is_wanted: by class number, the classes to use; NULL: all.
 *
 * Returns 0 and *@m, to be closed before @t; -EINVAL, -E2BIG or -ENOENT with the reason in @d if
 * the expression is wrong or no class fits it.
 */
int match_open(struct match **m, const struct trace *t, const char *expression,
	       const bool *is_wanted, struct diag *d);
void match_close(struct match *m); /* accepts NULL */
/* match_update - after trace_refresh(): link the new classes.  While @t may grow, no class need
 * fit. */
int match_update(struct match *m, const struct trace *t, const bool *is_wanted, struct diag *d);

/* match_uses_process - whether the process of an event's thread may count. */
bool match_uses_process(const struct match *m);

/* match_may - whether events of class @number may match: the others need not be given to match_event(). */
bool match_may(const struct match *m, uint32_t number);

/* match_event - whether event @e matches.  @w: its thread, from names_on_event().  One thread at a
 * time. */
bool match_event(const struct match *m, const struct trace_event *e,
		 const struct thread_identity *w);

/*
 * match_value_open - prepare one context or field, by its name in expressions.
 *
 * @name: "ctx.uid" or "$ctx.uid" is a context.  "uid" is a context, or if no class has it, a field.
 *
 * Returns 0 and *@v, to be closed before @t; -ENOENT if no class has it, -ENOMEM.
 */
struct match_value;
int match_value_open(struct match_value **v, const struct trace *t, const char *name);
void match_value_close(struct match_value *v); /* accepts NULL */

/* match_value_get - store the value of event @e.  Returns its type: FILTER_INTEGER, FILTER_F64 or
 * FILTER_STRING (valid as long as the event); -1 if the event has no such value. */
int match_value_get(const struct match_value *v, const struct trace_event *e,
		    const struct thread_identity *w, struct filter_value *value);

#endif
