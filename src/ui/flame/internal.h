/* SPDX-License-Identifier: MIT */
/*
 * ui/flame/internal.h - shared by the files of flame.h:
 *
 *   tree.c    nodes and names
 *   rows.c    which threads are meant; the row of an event
 *   tracks.c  times by spans, functions and system calls, from the index alone
 *   reading.c a part of the recording read: call stacks, objects of system calls
 *   stacks.c  times by call stacks
 *   flame.c   which of them
 */
#ifndef UI_FLAME_INTERNAL_H
#define UI_FLAME_INTERNAL_H

#include "analysis/stacks/public.h"
#include "trace/public.h"
#include "ui/flame/flame.h"

enum { NO_ROW = UINT32_MAX, SECONDS_MOST = 10, OBJECTS_SECONDS_MOST = 4 };

struct flame_tables {
	struct table names;    /* (hash, nth): name */
	struct table by_index; /* (name of the index, 0): name */
	struct table children; /* (parent, what and name): node */
	uint32_t n_node_rooms, n_name_rooms;
	bool failed; /* no memory */
};

/* A thread that is meant. */
struct flame_thread {
	uint32_t row, states; /* states: its track, plus 1; 0: none */
	uint32_t node;	      /* plus 1; 0: not made yet */
	uint64_t charged[2];  /* of its time off a CPU: blocked, waiting for one */
};

struct flame_work {
	struct flame *f;
	const struct flame_options *o;
	struct flame_thread *threads;
	uint32_t n_threads;
	uint32_t *thread_of; /* by row: index in `threads`, plus 1 */
	uint32_t n_rows;
	uint32_t *cpus; /* tracks of the CPUs that are meant, if no threads are */
	int32_t *cpu_numbers;
	uint32_t n_cpus;
	bool is_by_cpu, has_states;
	struct table by_tid;  /* (tid, 0): the newest row with it; then `before` */
	uint32_t *before;     /* by row, plus 1 */
	struct table objects; /* (row, begin): name; of system calls */
	int64_t begin_ns;     /* of the index */
	uint64_t deadline_ns;
};

/* tree.c.  Without memory these mark the tables as failed and return 0. */
int flame_tree_init(struct flame *f);
uint32_t flame_name(struct flame *f, const char *text);
uint32_t flame_index_name(struct flame_work *w, uint32_t name);
uint32_t flame_child(struct flame *f, uint32_t parent, enum flame_what what, uint32_t name);
/* flame_state - add @ns to the child of @node for a state. */
void flame_state(struct flame *f, uint32_t node, const char *state, uint64_t ns);
/* flame_thread_node - the node of a thread, below its process. */
uint32_t flame_thread_node(struct flame_work *w, struct flame_thread *t);
void flame_totals(struct flame *f);

/* rows.c.  0 or -ENOMEM. */
int flame_select(struct flame_work *w);
void flame_unselect(struct flame_work *w);
/* flame_row_of - the thread with @tid at that time; NULL: none that is meant. */
struct flame_thread *flame_thread_of(struct flame_work *w, int64_t tid, int64_t at);
bool flame_is_of_cpus(const struct flame_work *w, int32_t cpu);

/* flame.c */
bool flame_is_over(struct flame_work *w); /* cancelled, or no time left */
void flame_note(struct flame *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* tracks.c */
int flame_by_tracks(struct flame_work *w);

/* reading.c: called for each event of the time asked about whose class @is_wanted, with its thread.  0
 * or -errno. */
typedef int flame_on_event(void *context, struct flame_work *w, const struct trace_event *e,
			   const struct thread_identity *i);
int flame_read(struct flame_work *w, struct trace *t, const bool *is_wanted,
	       flame_on_event *on_event, void *context, struct diag *d);
/* Objects of system calls in `objects`. */
int flame_read_objects(struct flame_work *w, struct diag *d);

/* stacks.c */
bool flame_has_switch_stacks(const struct trace *t);
int flame_by_samples(struct flame_work *w, struct diag *d);
int flame_by_switches(struct flame_work *w, struct diag *d);

#endif
