/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/function_graph.h - calls of the kernel's functions under way on a thread, each to
 * have its own time at its end.
 *
 * A call's end may come without its begin: of one that was under way when the recording began, and
 * of all where only long calls are recorded.  Then it stands below what is under way, and what
 * ended just before it, one level deeper, is taken for what it called.  A begin without an end is
 * forgotten when something around it ends.
 */
#ifndef ANALYSIS_STACKS_FUNCTION_GRAPH_H
#define ANALYSIS_STACKS_FUNCTION_GRAPH_H

#include <stdint.h>

enum { GRAPH_DEPTH_MAX = 256 }; /* calls deeper than that are not told apart */

struct graph_call {
	uint64_t function;
	uint32_t node;	   /* its own */
	uint64_t inner_ns; /* of calls that it made */
};

struct graph_thread {
	struct graph_call open[GRAPH_DEPTH_MAX];
	uint32_t n_open;
	uint64_t ended_ns[GRAPH_DEPTH_MAX]; /* without a begin, by depth, since one less deep ended
					     */
};

/* graph_enter - @node is the call's own. */
void graph_enter(struct graph_thread *t, uint64_t function, uint32_t node);
/* graph_node - what a call made now stands below; @root: nothing is under way. */
uint32_t graph_node(const struct graph_thread *t, uint32_t root);
/*
 * graph_leave - @function ends, which took @duration_ns.
 *
 * Returns its own time.  *@node: its own, UINT32_MAX if its begin was not seen.
 */
uint64_t graph_leave(struct graph_thread *t, uint64_t function, int64_t depth, uint64_t duration_ns,
		     uint32_t *node);

#endif
