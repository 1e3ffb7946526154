/* SPDX-License-Identifier: MIT */
/* cmd/selection.h - which part of a recording is wanted: moments, and events by name. */
#ifndef CMD_SELECTION_H
#define CMD_SELECTION_H

#include "trace/public.h"

struct moment { /* --from, --to */
	bool is_given;
	bool is_of_day; /* ns since midnight of the day the recording begins */
	bool is_behind; /* ns behind its beginning; --to: behind --from, if there is one */
	int64_t ns;
};

/* moment_parse - "14:05:09.25", "2026-11-21 14:05:09", seconds since 1970; "+2.5s", "+300ms". False
 * if it is none. */
bool moment_parse(const char *s, struct moment *m);
/* moments_resolve - from now on both count from the Epoch. */
void moments_resolve(struct moment *from, struct moment *to, const struct trace *t);

/* selection_mark - mark the classes (by number) that @pattern means.  False if there are none. */
bool selection_mark(const struct trace *t, const char *pattern, bool *is_wanted);

/* selection_refuse - there are none: says so, and what may have been meant.  Returns -ENOENT. */
int selection_refuse(const struct trace *t, const char *pattern, struct diag *d);

/* selection_is_state_event - whether events called so tell what was when the recording began: they
 * name threads and files for those who analyse. */
bool selection_is_state_event(const char *event);
/* selection_mark_default - mark the classes (by number) of all other events, and unmark these. */
void selection_mark_default(const struct trace *t, bool *is_wanted);

#endif
