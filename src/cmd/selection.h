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

/* selection_mark - mark the event classes, by number, that match @pattern.  False if none does. */
bool selection_mark(const struct trace *t, const char *pattern, bool *is_wanted);

/*
 * selection_refuse - report that no event matches, with a name that may have been meant. Returns
 * -ENOENT.
 */
int selection_refuse(const struct trace *t, const char *pattern, struct diag *d);

/*
 * selection_is_state_event - whether the event belongs to the state dump at the begin of the
 * recording.  Such events name threads and files for reports.
 */
bool selection_is_state_event(const char *event);
/* selection_is_batch - whether the event holds calls of programs, as bytes. */
bool selection_is_batch(const char *event);
/* selection_mark_default - mark the classes (by number) of all other events, and unmark these. */
void selection_mark_default(const struct trace *t, bool *is_wanted);

#endif
