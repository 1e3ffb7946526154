/* SPDX-License-Identifier: MIT */
/*
 * analysis/stacks/function_graph.c - a stack of open calls for each thread, and times of ended
 * calls by depth.
 */
#include "analysis/stacks/function_graph.h"

#include <assert.h>

void graph_enter(struct graph_thread *t, uint64_t function, uint32_t node)
{
	assert(t->n_open <= GRAPH_DEPTH_MAX);
	if (t->n_open < GRAPH_DEPTH_MAX)
		t->open[t->n_open++] = (struct graph_call){ .function = function, .node = node };
}

uint32_t graph_node(const struct graph_thread *t, uint32_t root)
{
	return t->n_open ? t->open[t->n_open - 1].node : root;
}

static uint64_t own(uint64_t duration_ns, uint64_t inner_ns)
{
	return duration_ns > inner_ns ? duration_ns - inner_ns : 0;
}

static uint64_t leave_unseen(struct graph_thread *t, int64_t depth, uint64_t duration_ns)
{
	uint32_t at = depth < 0			    ? 0
		      : depth < GRAPH_DEPTH_MAX - 1 ? (uint32_t)depth
						    : GRAPH_DEPTH_MAX - 2;
	uint64_t inner_ns = t->ended_ns[at + 1];

	for (uint32_t i = at + 1; i < GRAPH_DEPTH_MAX; i++)
		t->ended_ns[i] = 0;
	t->ended_ns[at] += duration_ns;
	return own(duration_ns, inner_ns);
}

uint64_t graph_leave(struct graph_thread *t, uint64_t function, int64_t depth, uint64_t duration_ns,
		     uint32_t *node)
{
	uint32_t i = t->n_open;
	uint64_t own_ns;

	while (i && t->open[i - 1].function != function)
		i--;
	*node = i ? t->open[i - 1].node : UINT32_MAX;
	own_ns =
		i ? own(duration_ns, t->open[i - 1].inner_ns) : leave_unseen(t, depth, duration_ns);
	if (i)
		t->n_open = i - 1;
	if (i > 1)
		t->open[i - 2].inner_ns += duration_ns;
	else if (!i && t->n_open)
		t->open[t->n_open - 1].inner_ns += duration_ns;
	assert(own_ns <= duration_ns);
	return own_ns;
}
