/* SPDX-License-Identifier: MIT */
/*
 * trace/match.h - a filter over the events of recordings.
 *
 * The expression (duet-filter(7)) is linked to each event class.  A class it does not fit, for want
 * of a field or because of its type, has no event that matches; one that fits no class at all is an
 * error.
 */
#ifndef TRACE_MATCH_H
#define TRACE_MATCH_H

#include "trace/names.h"
#include "trace/trace.h"

struct match;

/*
 * match_open - make @expression ready for the events of @t.
 *
 * @is_wanted: by class number, which classes count; NULL: all.
 *
 * Returns 0 and *@m, to be closed before @t; -EINVAL, -E2BIG or -ENOENT with the reason in @d if
 * the expression is wrong or no class fits it.
 */
int match_open(struct match **m, const struct trace *t, const char *expression,
	       const bool *is_wanted, struct diag *d);
void match_close(struct match *m); /* accepts NULL */
/* match_update - after trace_refresh(): the new classes.  While @t may grow no class need fit. */
int match_update(struct match *m, const struct trace *t, const bool *is_wanted, struct diag *d);

/* match_event - whether @e, an event, matches.  @w: whose it is, from names_see().  One thread at a
 * time. */
bool match_event(const struct match *m, const struct trace_event *e, const struct who *w);

#endif
