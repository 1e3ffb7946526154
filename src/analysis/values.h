/* SPDX-License-Identifier: MIT */
/*
 * analysis/values.h - the different values of a context or field, numbered.
 *
 * A report groups by these numbers. Texts with equal hashes and sizes count as one value.
 */
#ifndef ANALYSIS_VALUES_H
#define ANALYSIS_VALUES_H

#include "trace/filter/match.h"

enum { VALUE_NONE = 0 }; /* for events without the field */

struct values;

/* values_open - @name: as match_value_open() accepts it. Returns 0; -ENOENT if no event can have
 * it; -ENOMEM. */
int values_open(struct values **v, const struct trace *t, const char *name);
void values_close(struct values *v); /* accepts NULL */

/* values_of - the number of @e's value: dense, from 1; or VALUE_NONE, or -ENOMEM. */
int64_t values_of(struct values *v, const struct trace_event *e, const struct thread_identity *w);

/* values_text - a value as text, borrowed until values_close(); NULL for VALUE_NONE. */
const char *values_text(const struct values *v, uint32_t number);

#endif
