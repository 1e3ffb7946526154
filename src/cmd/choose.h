/* SPDX-License-Identifier: MIT */
/* cmd/choose.h - which part of a recording is wanted: moments, and events by name. */
#ifndef CMD_CHOOSE_H
#define CMD_CHOOSE_H

#include "trace/trace.h"

struct moment { /* --from, --to */
	bool is_given;
	bool is_of_day; /* ns since midnight of the day the recording begins */
	int64_t ns;
};

/* moment_parse - "14:05:09.25", "2026-11-21 14:05:09" or seconds since 1970.  False if it is none. */
bool moment_parse(const char *s, struct moment *m);
/* moment_settle - from now on @m->ns counts from the Epoch. */
void moment_settle(struct moment *m, const struct trace *t);

/* choose_like - mark the classes (by number) that @pattern means.  False if there are none. */
bool choose_like(const struct trace *t, const char *pattern, bool *is_wanted);

/* choose_is_state - whether events called so tell what was when the recording began: they name
 * threads and files for those who analyse. */
bool choose_is_state(const char *event);

#endif
