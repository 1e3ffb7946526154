/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/function_graph.h - open calls of kernel functions on a thread, to compute the own
 * time of each.
 *
 * The end of a call may come without its begin: if the call was in progress when the recording
 * began, and for every call if only long calls are recorded. Such a call is placed below the open
 * calls, and calls that ended just before it, one level deeper, count as its callees. A begin
 * without an end is dropped when a call around it ends.
 */
#ifndef ANALYSIS_STACKS_FUNCTION_GRAPH_H
#define ANALYSIS_STACKS_FUNCTION_GRAPH_H

#include <stdint.h>

enum { GRAPH_DEPTH_MAX = 256 }; /* deeper calls are not distinguished */

struct graph_call {
	uint64_t function;
	uint32_t node;	   /* the node of this call */
	uint64_t inner_ns; /* the time of its callees */
};

struct graph_thread {
	struct graph_call open[GRAPH_DEPTH_MAX];
	uint32_t n_open;
	uint64_t ended_ns[GRAPH_DEPTH_MAX]; /* time of calls without a begin, by depth, since a
					     * less deep call ended */
};

/* graph_enter - @function begins; @node is its node. */
void graph_enter(struct graph_thread *t, uint64_t function, uint32_t node);
/* graph_node - the node that is the parent of a call made now; @root if no call is open. */
uint32_t graph_node(const struct graph_thread *t, uint32_t root);
/*
 * graph_leave - @function ends after @duration_ns.
 *
 * Returns its own time. Sets *@node to its node, or to UINT32_MAX if its begin was not recorded.
 */
uint64_t graph_leave(struct graph_thread *t, uint64_t function, int64_t depth, uint64_t duration_ns,
		     uint32_t *node);

#endif
