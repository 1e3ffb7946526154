/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/internal.h - shared by the files of timeline.h:
 *
 *   timeline.c   the two passes, counters, losses
 *   events.c     the role of each event class
 *   slices.c     slices and instants
 *   states.c     states of threads
 *   calls.c      calls of programs
 */
#ifndef ANALYSIS_TIMELINE_INTERNAL_H
#define ANALYSIS_TIMELINE_INTERNAL_H

#include "analysis/timeline/timeline.h"

/* CPUs with a greater number share a row. */
enum { TIMELINE_CPUS_MAX = 4096 };

enum { TIMELINE_DEPTH_MAX = 256 }; /* deeper slices become instants; deeper calls are left out */
#define TIMELINE_CALL UINT32_MAX   /* the pair of calls of programs */

struct open_slice {
	uint32_t pair;
	uint8_t domain;		  /* whose losses end it; UINT8_MAX: none */
	bool is_hidden, is_early; /* not reported: too deep, or begun before the range */
	const char *name;	  /* of a call */
};

struct timeline_row {
	struct open_slice *open;
	uint32_t n_open, n_rooms;
};

struct timeline_thread {
	uint8_t state; /* enum timeline_state */
	uint32_t cpu;
	int64_t since_ns;
	uint64_t flow;
};

struct timeline_current { /* the present event */
	const struct trace_event *e;
	const struct timeline_plan *plan;
	uint32_t thread;
	bool is_chosen;
};

/* timeline_report - pass @item to the caller.  Returns its result; so do the functions below, or
 * -ENOMEM. */
int timeline_report(struct timeline *t, const struct timeline_item *item);
/* timeline_item_of - an item of the present event. */
struct timeline_item timeline_item_of(const struct timeline_current *n, enum timeline_kind kind);

/* slices.c */
int timeline_instant(struct timeline *t, const struct timeline_current *n, uint64_t flow);
int timeline_open_slice(struct timeline *t, const struct timeline_current *n);
int timeline_close_slice(struct timeline *t, const struct timeline_current *n);
/* timeline_on_exit - the thread exits: its slices end. */
int timeline_on_exit(struct timeline *t, const struct timeline_current *n);
/* timeline_close_rows - at loss @e: close the slices that lost events might have ended. */
int timeline_close_rows(struct timeline *t, struct timeline_row *rows, uint32_t n_rows,
			const struct trace_event *e, bool is_of_cpu);
/* timeline_close_above - close the slices above @keep; @event ends the lowest of them. */
int timeline_close_above(struct timeline *t, struct timeline_row *row, uint32_t keep,
			 struct timeline_item *item, const struct trace_event *event);
void timeline_free_rows(struct timeline_row *rows, uint32_t n);

/* states.c */
int timeline_on_switch(struct timeline *t, const struct timeline_current *n);
int timeline_on_waking(struct timeline *t, const struct timeline_current *n);
/* timeline_end_states - report the states that are open at the end of the recording. */
int timeline_end_states(struct timeline *t);

/* calls.c */
int timeline_open_calls(struct timeline *t, struct trace *second, struct diag *d);
void timeline_close_calls(struct timeline *t);
int timeline_on_call(struct timeline *t, const struct fcalls_item *call);
/* timeline_begin_range - the range begins: report the calls that are open. */
int timeline_begin_range(struct timeline *t);

#endif
