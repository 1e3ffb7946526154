/* SPDX-License-Identifier: MIT */
/*
 * analysis/calls/walk.h - what the files of a walk have in common: edges.c, walk.c, spans.c, kernel.c.
 *
 * Of each thread of a program one batch is decoded, as entries and exits by time.  A heap of threads
 * and the events of the recording are merged.  Each step makes items, which wait in a queue.
 */
#ifndef ANALYSIS_CALLS_WALK_H
#define ANALYSIS_CALLS_WALK_H

#include "analysis/calls/internal.h"
#include "analysis/wait/follow.h"
#include "base/text.h"
#include "trace/symbols/public.h"

struct edge {
	int64_t time_ns;
	int64_t other_ns; /* of an entry: the exit, INT64_MAX if it is not known; of an exit: the
			     entry */
	uint32_t function, caller;
	uint32_t stack;
	uint32_t place; /* in the order of making */
	bool is_leave, is_recursive;
	uint8_t flags;
};

struct pending;

struct edges {
	struct edge *at;
	uint32_t n, n_rooms, next;
	struct pending *pending; /* scratch */
	uint32_t n_pending_rooms;
	uint32_t n_bent; /* times that were beyond their caller's */
};

/* edges_make - after block_resolve.  0 or -ENOMEM. */
int edges_make(struct edges *to, const struct block *b, const struct batch_thread *t,
	       struct fcalls *c, uint32_t process);
/* edges_add_cuts - at the end: exits of the block's cut calls.  0 or -ENOMEM. */
int edges_add_cuts(struct edges *to, const struct block *b, const struct batch_thread *t);
void edges_fini(struct edges *e);

/* A thread of a program. */
struct cursor {
	uint32_t thread;
	int64_t number; /* in the pass; -1: not asked yet */
	uint32_t next;	/* batch */
	bool is_loaded, has_ended;
	int64_t time_ns; /* of its next edge; not loaded: not before it */
	struct batch_thread state;
	struct edges edges;
};

struct span {
	enum fcalls_kind kind;
	uint32_t id;
	const char *name;
	uint64_t address;
	int64_t begin_ns;
	int64_t enter_ns;	   /* when it was entered in the walk: not before begin_ns */
	struct fcalls_split begin; /* the thread's sums then */
	struct fcalls_split inner; /* of functions called directly */
	uint64_t inner_ns;	   /* of spans directly inside; of a function: of functions */
};

/* The spans of one stack of a thread. */
struct span_lane {
	uint32_t stack;
	struct span *at;
	uint32_t n, n_rooms;
};

/* A thread of the recording. */
struct span_thread {
	struct span_lane *lanes;
	uint32_t n_lanes, n_lane_rooms, lane; /* the lane that ran last */
	struct fcalls_split sums;
	int64_t last_ns; /* up to there they are summed */
	bool has_begun;
	uint8_t part;		     /* enum fcalls_part since then */
	uint8_t state;		     /* enum wait_state, as it was handled last */
	uint32_t n_kernel_functions; /* open */
	uint32_t n_irqs;	     /* open */
	bool in_call;
	bool is_dead;
	bool is_checked, is_wanted; /* by the options */
};

struct fcalls_walk {
	struct fcalls *c;
	struct fcalls_options o;
	struct trace *part;
	struct wait_follow *follow;
	struct pass *run;
	struct kallsyms *kernel;
	struct cursor *cursors;
	struct cursor **heap;
	uint32_t n_cursors, n_heap;
	struct block block;	     /* scratch of all cursors */
	struct span_thread *threads; /* by number in the pass */
	uint32_t n_threads;
	struct fcalls_item *queue;
	uint32_t n_queue, n_queue_rooms, next;
	struct trace_event event;
	uint32_t event_thread;
	int event_is;	/* TRACE_...; -1: ask for it */
	bool is_spent;	/* the event was handled */
	bool is_inside; /* the range has begun */
	bool is_over;
	int64_t now_ns;
	struct text why, cause;
	const struct ctf_op **functions, **durations; /* by class, of kernel functions */
	uint64_t *addresses; /* of kernel functions met: an index is an id */
	uint32_t n_addresses, n_address_rooms;
	uint32_t *by_address;
	uint32_t n_by_address;
	const char **irq_names; /* by source */
	uint32_t n_irq_names;
	struct fcalls_item dropped;
};

/* spans.c */
struct span_thread *span_thread_of(struct fcalls_walk *w, uint32_t thread);
/* span_charge - the time up to @time_ns belongs to the thread's present part. */
void span_charge(struct span_thread *t, int64_t time_ns);
/* span_enter - a span begins on the lane that ran last.  It and span_leave return 0 or -ENOMEM. */
int span_enter(struct fcalls_walk *w, uint32_t thread, const struct span *like);
/* span_leave - the innermost span ends. */
int span_leave(struct fcalls_walk *w, uint32_t thread, int64_t time_ns, uint8_t flags,
	       const struct edge *edge);
/* span_leave_kind - the innermost span of @kind ends, and all inside it; those are crossings unless
 * @is_cut.  @address: of kernel functions, else 0.  Returns 1 if there is none; 0 or -ENOMEM. */
int span_leave_kind(struct fcalls_walk *w, uint32_t thread, enum fcalls_kind kind, uint64_t address,
		    int64_t time_ns);
/* span_edge - an entry or exit of a function of the program. */
int span_edge(struct fcalls_walk *w, uint32_t thread, const struct edge *e);
/* span_leave_all - what is open ends at @time_ns. */
int span_leave_all(struct fcalls_walk *w, uint32_t thread, int64_t time_ns);
/* span_part - set the part to which time from now on belongs. */
void span_part(struct span_thread *t);

/* walk.c */
/* walk_item - a new item of @thread, now.  NULL: no memory.  Before the range: one that is dropped. */
struct fcalls_item *walk_item(struct fcalls_walk *w, enum fcalls_is is, uint32_t thread);

/* kernel.c */
int walk_kernel_open(struct fcalls_walk *w);
void walk_kernel_close(struct fcalls_walk *w);
/* walk_kernel_event - spans that the event of the kernel begins and ends.  0 or -ENOMEM. */
int walk_kernel_event(struct fcalls_walk *w);
int walk_kernel_lost(struct fcalls_walk *w);

#endif
