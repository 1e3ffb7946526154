/* SPDX-License-Identifier: MIT */
/*
 * cmd/graph/tree.c - `duet graph --tree`, `--callers F`, `--callees F`: sums by path of calls.
 *
 * Children of a path are shown below it, most time first.  For people, paths with less than a
 * thousandth of all time are left out unless --all; their number is printed.  In JSON they are all
 * there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/graph/graph.h"
#include "cmd/nearest.h"
#include "cmd/progress.h"

enum { INDENT = 2, INDENT_MAX = 60, SHARE = 1000 };

struct printing {
	const struct graph *g;
	const struct fcalls_tree *tree;
	struct table table;
	uint64_t all_ns, hook_ns_x256;
	uint64_t n_small, n_heavy;
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t all_ns(const struct fcalls_tree *tree)
{
	uint64_t sum = 0;

	for (uint32_t i = tree->at[0].child; i && !tree->is_estimated; i = tree->at[i].next)
		sum += tree->at[i].total_ns;
	/* the outermost functions of a profile may have no sample */
	for (uint32_t i = 1; i < tree->n && tree->is_estimated; i++)
		sum += tree->at[i].self_ns;
	return sum;
}

static const char *kind_name(enum fcalls_kind kind)
{
	static const char *const names[] = {
		[FCALLS_FUNCTION] = "function",
		[FCALLS_SYSCALL] = "system call",
		[FCALLS_KERNEL_FUNCTION] = "kernel",
		[FCALLS_IRQ] = "interrupt",
		[FCALLS_WAIT] = "wait",
		[FCALLS_DELAY] = "delay",
	};

	return kind < FCALLS_KINDS ? names[kind] : "?";
}

/* Whether recording costs more than 30 % of a call's mean time. */
static bool is_heavy(const struct printing *p, const struct fcalls_node *n)
{
	return n->kind == FCALLS_FUNCTION && n->calls && n->total_ns &&
	       (double)p->hook_ns_x256 / 256 * (double)n->calls > 0.3 * (double)n->total_ns;
}

static const char *remark(enum fcalls_kind kind)
{
	return kind == FCALLS_SYSCALL ? " (system call)"
	       : kind == FCALLS_IRQ   ? " (interrupt)"
	       : kind == FCALLS_DELAY ? " (without a CPU)"
				      : "";
}

static void add_path(struct printing *p, const struct fcalls_node *n, uint32_t depth)
{
	const struct fcalls_function *f =
		n->kind == FCALLS_FUNCTION ? fcalls_function(p->g->calls, n->id) : NULL;
	struct table *t = &p->table;
	char indented[640];
	bool heavy = is_heavy(p, n), is_unsampled = p->tree->is_estimated && !n->total_ns;
	int indent = (int)(depth * INDENT < INDENT_MAX ? depth * INDENT : INDENT_MAX);

	p->n_heavy += heavy;
	table_number(t, depth);
	table_text(t, kind_name(n->kind));
	table_text(t, n->name);
	table_text(t, f ? f->object : "");
	if (is_unsampled) {
		for (int i = 0; i < 3; i++)
			table_nothing(t);
	} else {
		table_number(t, (int64_t)n->total_ns);
		table_real(t, percent(n->total_ns, p->all_ns));
		table_number(t, (int64_t)n->self_ns);
	}
	for (int i = 0; i < FCALLS_PARTS; i++)
		table_number_or_nothing(t, p->tree->has_split && n->kind == FCALLS_FUNCTION,
					(int64_t)n->total.ns[i]);
	for (int i = 0; i < FCALLS_PARTS; i++)
		table_number_or_nothing(t, p->tree->has_split && n->kind == FCALLS_FUNCTION,
					(int64_t)n->self.ns[i]);
	table_number(t, (int64_t)n->calls);
	table_number(t, (int64_t)n->n_open);
	table_number(t, n->calls ? (int64_t)n->min_ns : 0);
	table_number(t, (int64_t)n->max_ns);
	table_text(t, heavy ? "~" : "");
	snprintf(indented, sizeof indented, "%*s%s%s", indent, "", n->name, remark(n->kind));
	table_text(t, indented);
}

static bool is_left_out(const struct printing *p, const struct fcalls_node *n, uint32_t depth)
{
	if (p->g->depth && depth >= p->g->depth)
		return true;
	if (p->tree->is_estimated) /* a function without a sample may call others that have some */
		return n->total_ns && n->total_ns < p->g->over_ns;
	if (n->total_ns < p->g->over_ns)
		return true;
	return !p->g->is_json && !p->g->shows_all && n->total_ns < p->all_ns / SHARE;
}

/* Walks down and along the links; a tree may be deeper than a stack of this program. */
static void add_paths(struct printing *p)
{
	const struct fcalls_node *nodes = p->tree->at;
	uint32_t i = nodes[0].child, depth = 0;

	while (i) {
		bool goes_down = !is_left_out(p, &nodes[i], depth);

		if (goes_down)
			add_path(p, &nodes[i], depth);
		else
			p->n_small++;
		if (goes_down && nodes[i].child) {
			i = nodes[i].child;
			depth++;
			continue;
		}
		while (i && !nodes[i].next) {
			i = nodes[i].parent;
			depth--;
		}
		i = i ? nodes[i].next : 0;
	}
}

static void print_paths(struct page *page, struct printing *p)
{
	bool has_split = p->tree->has_split;
	const struct column columns[] = {
		{ "depth", NULL, CELL_COUNT },
		{ "kind", NULL, CELL_TEXT },
		{ "function", NULL, CELL_TEXT },
		{ "object", NULL, CELL_TEXT },
		{ "total_ns", "total", CELL_NS },
		{ "percent", "", CELL_PERCENT },
		{ "self_ns", "self", CELL_NS },
		{ "user_ns", has_split ? "user" : NULL, CELL_NS },
		{ "kernel_ns", has_split ? "kernel" : NULL, CELL_NS },
		{ "blocked_ns", has_split ? "blocked" : NULL, CELL_NS },
		{ "runnable_ns", has_split ? "runnable" : NULL, CELL_NS },
		{ "interrupted_ns", has_split ? "interrupted" : NULL, CELL_NS },
		{ "self_user_ns", NULL, CELL_NS },
		{ "self_kernel_ns", NULL, CELL_NS },
		{ "self_blocked_ns", NULL, CELL_NS },
		{ "self_runnable_ns", NULL, CELL_NS },
		{ "self_interrupted_ns", NULL, CELL_NS },
		{ "calls", "calls", CELL_COUNT },
		{ "n_open", NULL, CELL_COUNT },
		{ "min_ns", NULL, CELL_NS },
		{ "max_ns", NULL, CELL_NS },
		{ "hook", p->hook_ns_x256 ? "" : NULL, CELL_TEXT },
		{ "path", "function", CELL_TEXT },
	};

	p->table = (struct table)TABLE(columns);
	add_paths(p);
	page_table(page, "paths", NULL, &p->table, p->g->limit);
	page_number(page, "n_left_out", (int64_t)p->n_small);
	if (p->n_small)
		page_line(page,
			  "%" PRIu64
			  " paths with little time, and all below them, are not shown (--all)",
			  p->n_small);
	if (p->n_heavy)
		page_line(page,
			  "~ recording costs more than 30 %% of the mean time of these calls");
}

static int refuse_function(const struct graph *g, const struct fcalls_tree *tree)
{
	const char *colon = strrchr(g->function, ':');
	struct nearest near = { .wanted = colon ? colon + 1 : g->function };
	char text[NEAREST_MAX + 32];

	for (uint32_t i = 1; i <= fcalls_n_functions(g->calls); i++) {
		nearest_try(&near, fcalls_function(g->calls, i)->shown);
		nearest_try(&near, fcalls_function(g->calls, i)->name);
	}
	for (uint32_t i = 1; i < tree->n; i++)
		nearest_try(&near, tree->at[i].name);
	return cmd_error("graph", "no recorded function matches %s%s", g->function,
			 *near.best ? nearest_text(&near, text)
				    : "; `duet graph --tree` shows all of them");
}

static int print_tree(const struct graph *g, const struct fcalls_tree *tree)
{
	struct printing p = { .g = g,
			      .tree = tree,
			      .all_ns = all_ns(tree),
			      .hook_ns_x256 = graph_hook_ns_x256(g->calls) };
	struct page page;
	int status = page_open(&page, "graph", g->is_json);

	if (status)
		return status;
	page_number(&page, "all_ns", (int64_t)p.all_ns);
	page_number(&page, "has_split", tree->has_split);
	page_number(&page, "is_estimated", tree->is_estimated);
	page_number(&page, "n_beyond", (int64_t)tree->n_beyond);
	if (g->form == GRAPH_CALLERS)
		page_line(&page,
			  "callers of %s: each line is called by the one above it reversed; "
			  "the share of the time is that under this path",
			  g->function);
	if (tree->is_estimated)
		page_line(&page, "counts are exact; times are scaled samples of a profile");
	if (tree->n_beyond)
		page_line(&page, "%" PRIu64 " calls on further paths count for their callers",
			  tree->n_beyond);
	print_paths(&page, &p);
	graph_notes_page(&page, g);
	return page_close(&page);
}

int graph_tree(struct graph *g)
{
	struct fcalls_options o = graph_selection(g);
	struct fcalls_tree *all = NULL, *tree = NULL;
	struct diag d = { "no memory" };
	int err, status;

	o.pattern = g->form == GRAPH_CALLEES ? g->function : NULL;
	progress_begin("graph", g->trace);
	err = fcalls_tree_open(&all, g->calls, &o, &d);
	if (!err && g->form == GRAPH_CALLERS)
		err = fcalls_tree_callers(&tree, all, g->calls, g->function, &d);
	progress_end();
	if (err)
		status = cmd_error("graph", "%s", d.text);
	else if (g->form == GRAPH_TREE && !all->at[0].child)
		status = cmd_error("graph", "no call of a function in this recording%s",
				   g->pid || g->tid || g->from.is_given || g->to.is_given
					   ? " is selected"
					   : "; system calls: `duet report syscalls`");
	else if (g->form != GRAPH_TREE && !(tree ? tree : all)->at[0].child)
		status = refuse_function(g, all);
	else
		status = print_tree(g, tree ? tree : all);
	fcalls_tree_close(tree);
	fcalls_tree_close(all);
	return status;
}
