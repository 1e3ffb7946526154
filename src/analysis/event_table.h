/* SPDX-License-Identifier: MIT */
/*
 * analysis/event_table.h - which events an analysis reads, and which of their fields.
 *
 * An analysis has one table of names; reading then costs an index by class number.
 */
#ifndef ANALYSIS_EVENT_TABLE_H
#define ANALYSIS_EVENT_TABLE_H

#include "analysis/pass.h"

enum { EVENT_TABLE_FIELDS = 6 };

struct event_table_kind {
	const char *event; /* a kernel event; may be a glob; the first kind that matches counts */
	int role;	   /* not 0 */
	const char *fields[EVENT_TABLE_FIELDS];
};

struct event_table {
	int role; /* 0: not read */
	const struct trace_source *source;
	const struct ctf_event_class *class;
	const struct ctf_op *field[EVENT_TABLE_FIELDS]; /* NULL: the event does not have it */
};

/* event_table_make - an array indexed by class number (trace_class_number). The caller frees it.
 * NULL: no memory. */
struct event_table *event_table_make(const struct pass *r, const struct event_table_kind *kinds,
				     size_t n);

/* event_table_has - whether the recording has a class of this role. */
bool event_table_has(const struct pass *r, const struct event_table *plans, int role);

#endif
