/* SPDX-License-Identifier: MIT */
/*
 * cmd/graph/graph.c - `duet graph`: calls of programs and of the kernel, as they happened or as sums
 * by path.  Its options.
 */
#include "cmd/graph/graph.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/once.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"

static const char usage[] =
	"usage: duet graph [OPTIONS] RECORDING...\n"
	"       duet graph [OPTIONS] -- COMMAND [ARGUMENTS]    records it, and only for this\n\n"
	"Prints calls of functions with their durations, of programs and of the kernel below "
	"them:\n"
	"each call as it happened, or sums.\n\n"
	"  --tree       sums by path of callers: calls, total time, time in the function itself\n"
	"  --callers F  which functions call F, and how much of its time each accounts for\n"
	"  --callees F  what F calls; F is FUNCTION or FILE:FUNCTION, globs as in 'lua*:luaV_*'\n"
	"  --over TIME  only calls of at least this duration, 10us; with --tree: paths\n"
	"  --depth N    the outer N calls of each thread\n"
	"  -t, --tid N  this thread;  -p, --pid N: the threads of this process\n"
	"  --program P  threads of programs with a name like P, a glob\n"
	"  -e PATTERN   of the events inside only these (may be repeated)\n"
	"  -f EXPR      of the events inside only those for which this is true (duet-filter(7))\n"
	"  --no-events  calls alone\n"
	"  --from T     from this time on; --to T: up to this time; as in duet view\n"
	"  --columns    each thread in a column of its own\n"
	"  --limit N    at most N lines\n"
	"  --all        with --tree: also paths with less than 0.1 % of the time\n"
	"  --json       with --tree, --callers, --callees: one JSON object, for programs\n"
	"  --color WHEN auto (the default), always, never\n"
	"  --no-pager   on a terminal, do not show it page by page\n";

enum {
	OPT_TREE = 256,
	OPT_CALLERS,
	OPT_CALLEES,
	OPT_OVER,
	OPT_DEPTH,
	OPT_PROGRAM,
	OPT_NO_EVENTS,
	OPT_FROM,
	OPT_TO,
	OPT_COLUMNS,
	OPT_LIMIT,
	OPT_ALL,
	OPT_JSON,
	OPT_COLOR,
	OPT_NO_PAGER
};

static int take_number(const char *option, uint64_t least, uint64_t most, uint64_t *n)
{
	char *end;

	*n = strtoull(optarg, &end, 10);
	if (end == optarg || *end || *optarg == '-' || *n < least || *n > most)
		return cmd_error("graph", "%s takes a number", option);
	return 0;
}

/* "10us", "500ns"; also what cmd_parse_time() takes. */
static int take_over(uint64_t *ns)
{
	struct moment m;
	char text[64];

	snprintf(text, sizeof text, "+%s", optarg);
	if (*optarg == '-' || *optarg == '+' || !moment_parse(text, &m) || !m.is_behind || m.ns < 0)
		return cmd_error("graph", "--over takes a duration, as in 10us or 1.5ms");
	*ns = (uint64_t)m.ns;
	return 0;
}

static int take_moment(struct moment *m, const char *option)
{
	return moment_parse(optarg, m)
		       ? 0
		       : cmd_error("graph", "%s takes a time, as in 14:05:09.25 or +2.5s", option);
}

static int take_form(struct graph *g, int form)
{
	if (g->form != GRAPH_REPLAY)
		return cmd_usage("graph", "--tree, --callers and --callees exclude each other");
	g->form = form;
	g->function = form == GRAPH_TREE ? NULL : optarg;
	return 0;
}

static int take_selection(struct graph *g, int c)
{
	int count;
	uint64_t n = 0;
	int status;

	switch (c) {
	case 't':
		status = take_number("--tid", 1, INT32_MAX, &n);
		g->tid = (int64_t)n;
		return status;
	case 'p':
		status = take_number("--pid", 1, INT32_MAX, &n);
		g->pid = (int64_t)n;
		return status;
	case OPT_DEPTH:
		status = take_number("--depth", 1, INT32_MAX, &n);
		g->depth = (uint32_t)n;
		return status;
	case OPT_LIMIT:
		return take_number("--limit", 0, UINT64_MAX, &g->limit);
	case OPT_OVER:
		return take_over(&g->over_ns);
	case OPT_FROM:
		return take_moment(&g->from, "--from");
	case OPT_TO:
		return take_moment(&g->to, "--to");
	case OPT_PROGRAM:
		g->program = optarg;
		return 0;
	case 'e':
		count = selection_add(g->patterns, g->n_patterns, GRAPH_PATTERNS_MAX, optarg);
		if (count == -EINVAL)
			return cmd_error("graph", "-e: empty pattern");
		if (count < 0)
			return cmd_error("graph", "more than 64 patterns; join some with *");
		g->n_patterns = count;
		return 0;
	case 'f':
		if (g->filter)
			return cmd_error("graph", "more than one -f; join them with && or ||");
		g->filter = optarg;
		return 0;
	}
	return 0;
}

static int take_option(struct graph *g, int c)
{
	switch (c) {
	case OPT_TREE:
		return take_form(g, GRAPH_TREE);
	case OPT_CALLERS:
		return take_form(g, GRAPH_CALLERS);
	case OPT_CALLEES:
		return take_form(g, GRAPH_CALLEES);
	case OPT_NO_EVENTS:
		g->has_no_events = true;
		return 0;
	case OPT_COLUMNS:
		g->has_columns = true;
		return 0;
	case OPT_ALL:
		g->shows_all = true;
		return 0;
	case OPT_JSON:
		g->is_json = true;
		return 0;
	case OPT_COLOR:
		g->color = optarg;
		return 0;
	case OPT_NO_PAGER:
		g->has_no_pager = true;
		pager_disable();
		return 0;
	}
	return take_selection(g, c);
}

static int take_options(struct graph *g, int argc, char **argv)
{
	static const struct option options[] = {
		{ "tree", no_argument, NULL, OPT_TREE },
		{ "callers", required_argument, NULL, OPT_CALLERS },
		{ "callees", required_argument, NULL, OPT_CALLEES },
		{ "over", required_argument, NULL, OPT_OVER },
		{ "depth", required_argument, NULL, OPT_DEPTH },
		{ "tid", required_argument, NULL, 't' },
		{ "pid", required_argument, NULL, 'p' },
		{ "program", required_argument, NULL, OPT_PROGRAM },
		{ "no-events", no_argument, NULL, OPT_NO_EVENTS },
		{ "from", required_argument, NULL, OPT_FROM },
		{ "to", required_argument, NULL, OPT_TO },
		{ "columns", no_argument, NULL, OPT_COLUMNS },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "all", no_argument, NULL, OPT_ALL },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "color", required_argument, NULL, OPT_COLOR },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":e:f:t:p:h", options, NULL)) >= 0) {
		if (c == ':' || c == '?')
			return options_refuse("graph", c, options, argv);
		if (c == 'h') {
			print_own(usage);
			exit(cmd_written("graph", 0));
		}
		status = take_option(g, c);
		if (status)
			return status;
	}
	return 0;
}

struct fcalls_options graph_selection(const struct graph *g)
{
	return (struct fcalls_options){
		.range = { .from_ns = g->from.is_given ? g->from.ns : INT64_MIN,
			   .to_ns = g->to.is_given ? g->to.ns : INT64_MAX },
		.pid = g->pid,
		.tid = g->tid,
	};
}

static bool is_profile(const struct fcalls *c)
{
	bool has_nodes = false, has_batches = false;

	for (uint32_t i = 0; i < fcalls_n_threads(c); i++) {
		has_nodes |= fcalls_thread(c, i)->n_nodes > 0;
		has_batches |= !fcalls_thread(c, i)->n_nodes;
	}
	return has_nodes && !has_batches;
}

static int show(struct graph *g)
{
	if (!fcalls_has_calls(g->calls) && !fcalls_has_kernel(g->calls))
		return cmd_error("graph",
				 "no calls in this recording, and no events of the kernel\n"
				 "  `duet record --graph '*:*' -- ./program` records calls of a "
				 "program, --graph 'ext4_*' those of the kernel");
	if (g->form != GRAPH_REPLAY)
		return graph_tree(g);
	if (g->is_json)
		return cmd_usage("graph",
				 "--json goes with --tree, --callers or --callees; for single "
				 "calls: duet view --json");
	if (is_profile(g->calls))
		return cmd_error("graph",
				 "this recording is a profile: it has sums of calls, not each "
				 "of them\n  --tree shows them");
	return graph_replay(g);
}

static void warn(void *context, const char *text)
{
	(void)context;
	cmd_error("graph", "%s", text);
}

static int run_graph(int argc, char **argv)
{
	struct graph g = { .limit = UINT64_MAX, .color = "auto" };
	struct trace_options o = { .warn = warn };
	struct diag d = { "" };
	int status = take_options(&g, argc, argv), err;

	if (status)
		return status;
	if (optind == argc)
		return cmd_usage("graph", "no recording given");
	g.paths = (const char *const *)argv + optind;
	g.n_paths = argc - optind;
	signal(SIGPIPE, SIG_IGN);
	pager_prepare();
	if (reader_confine(&(struct reader){ .verb = "graph" }))
		return CMD_FAILED;
	progress_hook(&o);
	err = trace_open(&g.trace, g.paths, g.n_paths, &o, &d);
	if (!err)
		cmd_report_hosts("graph", trace_hosts(g.trace));
	if (!err)
		err = fcalls_open(&g.calls, g.trace, &d);
	if (err) {
		status = cmd_error("graph", "%s", d.text);
	} else {
		moments_resolve(&g.from, &g.to, g.trace);
		status = moments_check(&g.from, &g.to, g.trace, &d)
				 ? cmd_error("graph", "%s", d.text)
				 : show(&g);
	}
	fcalls_close(g.calls);
	trace_close(g.trace);
	return status;
}

int cmd_graph(int argc, char **argv)
{
	return once_run("graph", run_graph, argc, argv);
}
