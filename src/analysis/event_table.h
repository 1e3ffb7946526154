/* SPDX-License-Identifier: MIT */
/*
 * analysis/event_table.h - which events an analysis reads, and which of their fields.
 *
 * An analysis has one table of names; reading then costs an index by class number.
 */
#ifndef ANALYSIS_EVENT_TABLE_H
#define ANALYSIS_EVENT_TABLE_H

#include "analysis/pass.h"

enum { PLAN_FIELDS = 6 };

struct plan_kind {
	const char *event; /* of the kernel; may be a glob; the first that fits counts */
	int role; /* not 0 */
	const char *fields[PLAN_FIELDS];
};

struct plan {
	int role; /* 0: not read */
	const struct trace_source *source;
	const struct ctf_event_class *class;
	const struct ctf_op *field[PLAN_FIELDS]; /* NULL: the event does not have it */
};

/* plan_make - an array by class number (trace_class_number), to be freed; NULL: no memory. */
struct plan *plan_make(const struct run *r, const struct plan_kind *kinds, size_t n);

/* plan_has - whether the recording has a class of this role. */
bool plan_has(const struct run *r, const struct plan *plans, int role);

#endif
