/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/stack_tree.h - the call stacks of events, as functions, in one tree. In a
 * recording without call stacks the tree is built from a graph of kernel functions; then a weight
 * is the own time of a call in nanoseconds: without the recorded calls that it made
 * (analysis/stacks/function_graph.h).
 *
 * Below the root is the name of the program, below that the outermost function, and so on: folded
 * stacks. For each thread, samples hold the node of an event and its time. An address is shown as
 * the function it returns into, else as file+offset, else as a number.
 *
 * A stack that does not end, because its frame pointers point in a circle, is cut: the first round
 * is kept, with the frame "[repeats]" as its outermost function.
 *
 * The sum of the weights of all nodes is that of all samples.
 */
#ifndef ANALYSIS_STACKS_STACK_TREE_H
#define ANALYSIS_STACKS_STACK_TREE_H

#include "analysis/stacks/callstack.h"
#include "trace/public.h"

enum { STACKS_ROOT = 0, STACKS_NAME = 16 };

struct stacks_node {
	uint32_t parent, frame; /* a parent's index is lower */
	uint64_t self;		/* weight */
};

struct stacks_sample {
	int64_t time_ns;
	uint64_t weight;
	uint32_t node;
};

struct stacks_thread {
	int64_t pid, tid;
	char name[STACKS_NAME]; /* the last name */
	uint8_t name_size;
	struct stacks_sample *samples;
	uint32_t n_samples, n_rooms;
	uint32_t last; /* for weights by time: the node of the last event, or of the switch since
		        * which it waits; 0: none */
	int64_t last_ns;
	struct graph_thread *calls; /* open calls: analysis/stacks/function_graph.h; or NULL */
};

/* STACKS_OFF_CPU: the time from a switch that takes a thread off its CPU until it comes back to
 * one. */
enum stacks_weight { STACKS_ONE, STACKS_FIELD, STACKS_TIME, STACKS_OFF_CPU };

struct graph_thread;
struct stacks_own;
struct stacks_private;

struct stacks {
	char **frames; /* names */
	struct stacks_node *nodes;
	struct stacks_thread *threads;
	uint32_t n_frames, n_nodes, n_threads;
	uint64_t n_samples, total;    /* weight */
	uint64_t n_unweighted;	      /* events without the field; they are not in the tree */
	uint64_t n_foreign;	      /* events of threads that are not followed; nor are they */
	uint64_t n_repeating;	      /* stacks that were cut */
	bool has_samples, has_others; /* classes with stacks: of samples, of other events */
	uint32_t newest; /* the node of the last event with a call stack; 0: none yet */
	bool is_graph;
	struct stacks_private *private;
};

struct stacks_options {
	struct trace *trace;
	const char *const *paths; /* directories of the recordings, for their maps */
	int n_paths;
	enum stacks_weight weight;
	const char *field;  /* STACKS_FIELD: a field of the payload; negative values count as 0 */
	bool keeps_samples; /* keep the samples of each thread: memory in proportion to events */
	bool samples_alone; /* STACKS_ONE: if there are samples, leave out the other events */
	const struct stacks_own *own; /* borrowed: only the stacks of its threads; NULL: all */
};

/* stacks_init - returns 0; -ENODATA if no event of the trace has a call stack; or another
 * -errno. */
int stacks_init(struct stacks *s, const struct stacks_options *o, struct diag *d);
/* stacks_init_empty - a tree that the caller fills: stacks_child(), stacks_add().  0 or -ENOMEM. */
int stacks_init_empty(struct stacks *s);
void stacks_fini(struct stacks *s);

/* stacks_child - the node of function @name below @parent; or -ENOMEM. */
int64_t stacks_child(struct stacks *s, uint32_t parent, const char *name);
/* stacks_add - add @weight to @node.  @w: the thread, whose sample is kept; or NULL.  0 or -ENOMEM. */
int stacks_add(struct stacks *s, uint32_t node, uint64_t weight, int64_t time_ns,
	       const struct thread_identity *w);

/* stacks_on_event - feed an event; one without a call stack is ignored. Returns 0 or -ENOMEM. */
int stacks_on_event(struct stacks *s, const struct trace_event *e, const struct thread_identity *w);

#endif
