/* SPDX-License-Identifier: MIT */
/*
 * cmd/graph/graph.h - the options of `duet graph`, shared by its files:
 *
 *   graph.c    the command line
 *   replay.c   calls and events as indented lines, in the order of time
 *   lines.c    one thread's lines, held until they are certain
 *   tree.c     --tree, --callers, --callees: sums by path
 *   notes.c    the hook's cost, elided functions and losses
 */
#ifndef CMD_GRAPH_GRAPH_H
#define CMD_GRAPH_GRAPH_H

#include "analysis/calls/calls.h"
#include "cmd/report/table.h"
#include "cmd/selection.h"
#include "cmd/view/print.h"

enum { GRAPH_PATTERNS_MAX = 64 };

struct graph {
	const char *const *paths;
	int n_paths;
	struct trace *trace;
	struct fcalls *calls;
	enum { GRAPH_REPLAY, GRAPH_TREE, GRAPH_CALLERS, GRAPH_CALLEES } form;
	const char *function; /* of --callers, --callees */
	bool is_json, shows_all, has_no_events, has_columns, has_no_pager;
	uint64_t over_ns, limit;
	uint32_t depth;	     /* 0: all */
	int64_t tid, pid;    /* 0: all */
	const char *program; /* a glob; NULL: all */
	const char *patterns[GRAPH_PATTERNS_MAX];
	int n_patterns;
	const char *filter;
	struct moment from, to;
	const char *color;
};

/* Each returns the exit status. */
int graph_replay(struct graph *g);
int graph_tree(struct graph *g);

/* graph_selection - the selection of @g. */
struct fcalls_options graph_selection(const struct graph *g);

/* notes.c */
/* graph_hook_ns_x256 - the largest calibrated cost of one recorded call, in 1/256 ns; 0: unknown. */
uint64_t graph_hook_ns_x256(const struct fcalls *c);
/* graph_notes_text - after everything was read: one line for each finding, on standard error. */
void graph_notes_text(const struct graph *g);
/* graph_notes_page - the same on a page, with a table of elided functions. */
void graph_notes_page(struct page *p, const struct graph *g);

#endif
