/* SPDX-License-Identifier: MIT */
/* cmd/session/enable_graph.c - options and request about functions of running programs. */
#include "cmd/session/enable_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/client.h"
#include "cmd/print/print.h"
#include "cmd/record/options.h"
#include "cmd/record/recording.h"
#include "cmd/session/tenant_sessions.h"
#include "collect/calls/public.h"

enum { PLAN_TIMEOUT_S = 60 }; /* large libraries are planned first */

/* ---------------------------------------------------------------- options */

static int take_mode(const struct option_value *v)
{
	struct graph_change *g = v->part;

	return recording_graph_mode(v->verb, v->text, &g->mode) ? 0 : CMD_FAILED;
}

static int take_depth(const struct option_value *v)
{
	struct graph_change *g = v->part;
	char *end;
	unsigned long depth = strtoul(v->text, &end, 10);

	if (*v->text < '0' || *v->text > '9' || *end || !depth || depth > CALLS_DEPTH_MAX)
		return cmd_error(v->verb, "--graph-depth %s: 1 to %d levels", v->text,
				 CALLS_DEPTH_MAX);
	g->depth = (uint32_t)depth;
	return 0;
}

static const struct option_row rows[] = {
	{ .name = "graph",
	  .argument = "FUNCTIONS",
	  .verbs = VERB_ENABLE | VERB_DISABLE,
	  .help = "calls of functions of programs: FILE:FUNCTION,... (duet record --graph)",
	  OPTION_FIELD(OPTION_TEXT, GRAPH_PART, const char *, graph_change, functions) },
	{ .name = "graph-mode",
	  .argument = "MODE",
	  .verbs = VERB_ENABLE,
	  .help = "how they are recorded: governed, exact, profile",
	  OPTION_CALL(GRAPH_PART, take_mode, 0) },
	{ .name = "graph-elide-under",
	  .argument = "TIME",
	  .verbs = VERB_ENABLE,
	  .help = "leave out functions shorter than this",
	  OPTION_FIELD(OPTION_TIME, GRAPH_PART, uint64_t, graph_change, elide_under_ns) },
	{ .name = "graph-within",
	  .argument = "FILE:FUNCTION",
	  .verbs = VERB_ENABLE,
	  .help = "only while this function runs",
	  OPTION_FIELD(OPTION_TEXT, GRAPH_PART, const char *, graph_change, within) },
	{ .name = "graph-over",
	  .argument = "TIME",
	  .verbs = VERB_ENABLE,
	  .help = "only calls that last longer",
	  OPTION_FIELD(OPTION_TIME, GRAPH_PART, uint64_t, graph_change, over_ns) },
	{ .name = "graph-depth",
	  .argument = "N",
	  .verbs = VERB_ENABLE,
	  .help = "only calls down to depth N",
	  OPTION_CALL(GRAPH_PART, take_depth, 0) },
};
const struct option_table graph_options = { rows, sizeof rows / sizeof *rows };

bool enable_graph_has(const struct graph_change *g)
{
	return g->functions || g->mode || g->within || g->over_ns || g->elide_under_ns || g->depth;
}

/* ---------------------------------------------------------------- the request */

/* A request to all collectors of a session, and the sums of their answers. */
struct asking {
	const char *verb;
	int dir;
	pid_t pid;
	const struct graph_change *g;
	uint64_t functions, files, programs, waiting;
	char why[1024], unmatched[2048];
};

static void add_members(const struct asking *q, struct text *t)
{
	const struct graph_change *g = q->g;
	const char *mode = g->mode ? g->mode : g->over_ns ? "over" : NULL;

	json_line_add_text(t, "verb", q->verb);
	json_line_add_text(t, "graph", g->functions ? g->functions : "");
	if (q->pid)
		json_line_add_number(t, "pid", (uint64_t)q->pid);
	if (mode)
		json_line_add_text(t, "graph_mode", mode);
	if (g->over_ns)
		json_line_add_number(t, "graph_over_ns", g->over_ns);
	if (g->elide_under_ns)
		json_line_add_number(t, "graph_elide_ns", g->elide_under_ns);
	if (g->depth)
		json_line_add_number(t, "graph_depth", g->depth);
	if (g->within)
		json_line_add_text(t, "graph_within", g->within);
}

static void add_answer(struct asking *q, const struct json_line *l)
{
	uint64_t n;

	q->functions += json_line_number(l, "functions", &n) ? n : 0;
	q->files += json_line_number(l, "files", &n) ? n : 0;
	q->programs += json_line_number(l, "programs", &n) ? n : 0;
	q->waiting += json_line_number(l, "waiting", &n) ? n : 0;
	if (!*q->why)
		json_line_text(l, "why", q->why, sizeof q->why);
	if (!*q->unmatched)
		json_line_text(l, "unmatched", q->unmatched, sizeof q->unmatched);
}

static int ask(void *arg, const char *session)
{
	const struct cmd_asking how = { .passed = -1,
					.timeout_s = PLAN_TIMEOUT_S,
					.may_end = tenant_session_label(session) };
	struct asking *q = arg;
	struct cmd_answer answer;
	struct text t = { 0 };
	int status;

	add_members(q, &t);
	status = cmd_ask(q->verb, session, &t, &how, &answer);
	if (status == CMD_ENDED)
		return 0;
	if (!status)
		status = cmd_refused(q->verb, session, &answer);
	if (!status)
		add_answer(q, &answer.line);
	return status;
}

static int report(const struct asking *q)
{
	print_out("%" PRIu64 " function%s of %" PRIu64 " file%s recorded, in %" PRIu64
		  " program%s that run%s\n",
		  q->functions, q->functions == 1 ? "" : "s", q->files, q->files == 1 ? "" : "s",
		  q->programs, q->programs == 1 ? "" : "s", q->programs == 1 ? "s" : "");
	if (q->waiting)
		cmd_error(q->verb, "%" PRIu64 " program%s not changed yet%s%s", q->waiting,
			  q->waiting == 1 ? " has" : "s have", *q->why ? ": " : "", q->why);
	if (*q->unmatched && q->g->functions)
		return cmd_error(q->verb, "--graph %s", q->unmatched);
	return q->waiting ? 1 : 0;
}

int enable_graph(const char *verb, int dir, const char *session, pid_t pid,
		 const struct graph_change *g)
{
	struct asking q = { .verb = verb, .dir = dir, .pid = pid, .g = g };
	int status = ask(&q, session), others;

	if (status)
		return status;
	others = tenant_sessions_each_other(dir, session, ask, &q);
	status = report(&q);
	return others > status ? others : status;
}
