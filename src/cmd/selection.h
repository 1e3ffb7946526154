/* SPDX-License-Identifier: MIT */
/* cmd/selection.h - the part of a recording that is selected: a period, and events by name. */
#ifndef CMD_SELECTION_H
#define CMD_SELECTION_H

#include "trace/public.h"

struct moment { /* --from, --to */
	bool is_given;
	bool is_of_day; /* ns since midnight of the day the recording begins */
	bool is_behind; /* ns after its beginning; --to: after --from, if given */
	int64_t ns;
};

/*
 * moment_parse - parse "14:05:09.25", "2026-11-21 14:05:09", seconds since 1970, "+2.5s" or
 * "+300ms".  False if it is none of these.
 */
bool moment_parse(const char *s, struct moment *m);
/* moments_resolve - make both nanoseconds since the Epoch. */
void moments_resolve(struct moment *from, struct moment *to, const struct trace *t);

/*
 * moments_check - after moments_resolve: refuse a period that lies outside of the recording or ends
 * before it begins.  0; -EINVAL, or -ENODATA if nothing was recorded then.
 */
int moments_check(const struct moment *from, const struct moment *to, const struct trace *t,
		  struct diag *d);

/* selection_mark - mark the event classes, by number, that match @pattern.  False if none does. */
bool selection_mark(const struct trace *t, const char *pattern, bool *is_wanted);

/*
 * selection_mark_all - mark by patterns in their order; "!PATTERN" unmarks, and one that comes first
 * leaves out of all events but those of the state dump.
 *
 * Returns the first pattern that no event class matches, or NULL.
 */
const char *selection_mark_all(const struct trace *t, const char *const *patterns, int n,
			       bool *is_wanted);

/*
 * selection_add - cut "a,b" into patterns behind the @n that are there.
 *
 * Returns how many there are now; -EINVAL for an empty one, -E2BIG if they are more than @most.
 */
int selection_add(const char **patterns, int n, int most, char *list);

/*
 * selection_explain_none - @text says why nothing was selected: the filter, the patterns, the period,
 * or a recording without events.  Each may be NULL or not given.
 */
void selection_explain_none(const struct trace *t, const struct moment *from,
			    const struct moment *to, const char *const *patterns, int n_patterns,
			    const char *filter, struct diag *text);

/*
 * selection_refuse - report that no event matches, with a name that may have been meant. Returns
 * -ENOENT.
 */
int selection_refuse(const struct trace *t, const char *pattern, struct diag *d);

/* selection_mark_default - mark the classes (by number) of all other events, and unmark these. */
void selection_mark_default(const struct trace *t, bool *is_wanted);

#endif
