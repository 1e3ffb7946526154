/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/stack_tree.h - the call stacks that events were recorded with, as functions, in
 * one tree; or, in a recording without any, a graph of the kernel's functions: then a weight is the
 * time in nanoseconds that a call took without those it made that were recorded
 * (analysis/stacks/function_graph.h).
 *
 * Below the root stands the program's name, below that the outermost function, and so on: folded
 * stacks.  Per thread, samples say which node an event was in, and when.  An address is the
 * function it returns into, else file+offset, else a number.
 *
 * The sum of all nodes' weights is that of all samples.
 */
#ifndef ANALYSIS_STACKS_STACK_TREE_H
#define ANALYSIS_STACKS_STACK_TREE_H

#include "trace/names.h"

enum { STACKS_ROOT = 0, STACKS_NAME = 16 };

struct stacks_node {
	uint32_t parent, frame; /* a parent's number is lower */
	uint64_t self;		/* weight */
};

struct stacks_sample {
	int64_t time_ns;
	uint64_t weight;
	uint32_t node;
};

struct stacks_thread {
	int64_t pid, tid;
	char name[STACKS_NAME]; /* the last */
	uint8_t name_size;
	struct stacks_sample *samples;
	uint32_t n_samples, n_rooms;
	uint32_t last; /* node of the last event, or of the switch it waits since, for weights by
			  time; 0: none */
	int64_t last_ns;
	struct graph_thread *calls; /* under way: analysis/stacks/function_graph.h; or NULL */
};

/* STACKS_OFF_CPU: of switches alone, the time until the thread that left its CPU comes back to one.
 */
enum stacks_weight { STACKS_ONE, STACKS_FIELD, STACKS_TIME, STACKS_OFF_CPU };

struct graph_thread;
struct stacks_private;

struct stacks {
	char **frames; /* names */
	struct stacks_node *nodes;
	struct stacks_thread *threads;
	uint32_t n_frames, n_nodes, n_threads;
	uint64_t n_samples, total; /* weight */
	uint64_t n_unweighted;	   /* events without the field: left out */
	bool is_graph;
	struct stacks_private *private;
};

struct stacks_options {
	struct trace *trace;
	const char *const *paths; /* of the recordings: their maps */
	int n_paths;
	enum stacks_weight weight;
	const char *field;  /* of the payload: STACKS_FIELD; negative values count as 0 */
	bool keeps_samples; /* of each thread: memory in proportion to events */
};

/* stacks_init - returns 0; -ENODATA if no event of the trace has stacks; or another -errno. */
int stacks_init(struct stacks *s, const struct stacks_options *o, struct diag *d);
void stacks_fini(struct stacks *s);

/* stacks_on_event - an event; one without stack is passed over.  Returns 0 or -ENOMEM. */
int stacks_on_event(struct stacks *s, const struct trace_event *e, const struct thread_identity *w);

#endif
