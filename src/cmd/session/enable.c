/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/enable.c - duet enable and duet disable: change the events of running programs.
 *
 * The programs need not cooperate.  The collector does it (collect/dispatch.h).  Where
 * nothing records, duet disable itself switches off the events that a dead session left enabled.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/cmd.h"
#include "cmd/doctor/explain.h"
#include "cmd/print/print.h"
#include "cmd/record/options.h"
#include "cmd/session/enable_graph.h"
#include "cmd/session/tenant_sessions.h"
#include "collect/session/public.h"
#include "collect/tenant/public.h"

static const char usage[] =
	"usage: duet enable [-p PID]... [-s SESSION] [-f EXPR] [--channel NAME] [--program "
	"GLOB]... PATTERN...\n"
	"       duet disable [-p PID]... [-s SESSION] PATTERN...\n"
	"       duet enable|disable --graph FILE:FUNCTION,... [OPTIONS]\n\n"
	"Switches events on, or off, in running programs, at once; without -p also in those that "
	"start later.\n\n"
	"  PATTERN               a glob on \"channel:name\", a channel, or a name (duet list)\n";

struct arguments {
	const char *verb;
	bool enable;
	const char *session_wanted, *filter, *channel;
	struct text target[N_SELECTOR_KINDS]; /* as given, with commas */
	struct graph_change graph;
	struct cmd_pids pids;
	int dir;
	struct abi_session session; /* epoch 0: none */
};

static int select_session(struct arguments *a)
{
	int status = cmd_select_session(a->verb, a->dir, a->session_wanted, &a->session);

	if (status == 1 && a->enable)
		return cmd_error(a->verb,
				 "nothing records: start `duet collect` or `duet record` first");
	return status == 1 ? 0 : status;
}

static uint32_t number_in(const struct cmd_answer *answer, const char *key)
{
	uint64_t n = 0;

	json_line_number(&answer->line, key, &n);
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* A request to all collectors of a session, and the result so far. */
struct switch_request {
	const struct arguments *a;
	const char *pattern;
	pid_t pid; /* 0: all */
	struct enable_result *total;
};

/* Ask one collector.  Returns 1 if no event can pass the filter. */
static int ask_collector(void *arg, const char *session)
{
	const struct switch_request *q = arg;
	const struct arguments *a = q->a;
	struct cmd_answer answer;
	struct text t = { 0 };
	char filter_mismatch[4096];
	int status;

	json_line_add_text(&t, "verb", a->verb);
	json_line_add_text(&t, "pattern", q->pattern);
	if (q->pid)
		json_line_add_number(&t, "pid", (uint64_t)q->pid);
	if (a->filter)
		json_line_add_text(&t, "filter", a->filter);
	if (a->channel)
		json_line_add_text(&t, "channel", a->channel);
	for (int i = 0; i < N_SELECTOR_KINDS; i++)
		if (a->target[i].size)
			json_line_add_text(&t, selector_keys[i], a->target[i].bytes);
	status = tenant_session_request(a->verb, a->dir, session, &t, &answer);
	if (status == CMD_ENDED)
		return 0;
	if (!status)
		status = cmd_refused(a->verb, session, &answer);
	if (status)
		return status;
	q->total->events += number_in(&answer, "events");
	q->total->programs += number_in(&answer, "programs");
	q->total->other_session += number_in(&answer, "elsewhere");
	q->total->strict += number_in(&answer, "strict");
	if (!json_line_text(&answer.line, "unfit", filter_mismatch, sizeof filter_mismatch))
		return 0;
	cmd_error(a->verb, "%s", filter_mismatch);
	return 1;
}

/*
 * Other users' programs belong to tenant collectors.  If the main collector refuses, no tenant
 * collector is asked.  @parts_failed: whether one of these did not do it.
 */
static int ask(struct switch_request *q, bool *parts_failed)
{
	const struct arguments *a = q->a;
	int status = ask_collector(q, a->session.name), others;

	if (status == CMD_FAILED)
		return status;
	others = tenant_sessions_each_other(a->dir, a->session.name, ask_collector, q);
	*parts_failed |= others == CMD_FAILED;
	return others == 1 ? others : status;
}

/* No session records: switch off events that dead sessions left enabled, without a collector. */
static void switch_off(const struct arguments *a, const char *pattern, pid_t pid,
		       struct enable_result *total)
{
	struct enable_result s = programs_switch(a->dir, pid, "", pattern, false, &a->session, 0);

	total->events += s.events;
	total->programs += s.programs;
}

static int report(const struct arguments *a, const char *pattern, const struct enable_result *total)
{
	if (total->other_session)
		cmd_error(a->verb,
			  "%u program%s left alone: by DUET_SESSION %s to other sessions only",
			  total->other_session, total->other_session == 1 ? "" : "s",
			  total->other_session == 1 ? "it belongs" : "they belong");
	if (total->strict)
		cmd_error(
			a->verb,
			"%u program%s left alone: in seccomp's strict mode an event would kill %s",
			total->strict, total->strict == 1 ? "" : "s",
			total->strict == 1 ? "it" : "them");
	for (int i = 0; i < a->pids.n && !total->events; i++)
		if (explain_process(a->verb, a->pids.at[i], true) != FIND_RECORDABLE)
			return CMD_FAILED;
	if (!total->events)
		return cmd_error(
			a->verb, "%s: no running program has such an event (duet list)%s", pattern,
			a->pids.n || !a->session.epoch ? ""
						       : "; kept for programs that start later");
	print_out("%s: %s %u event%s in %u program%s\n", pattern,
		  a->enable ? "enabled" : "disabled", total->events, total->events == 1 ? "" : "s",
		  total->programs, total->programs == 1 ? "" : "s");
	return 0;
}

static int switch_pattern(const struct arguments *a, const char *pattern)
{
	struct enable_result total = { 0 };
	int filter_mismatch = 0, status = 0;
	bool parts_failed = false;

	for (int i = 0; i < (a->pids.n ? a->pids.n : 1) && status < CMD_FAILED; i++) {
		pid_t pid = a->pids.n ? a->pids.at[i] : 0;

		if (a->session.epoch)
			status = ask(&(struct switch_request){ a, pattern, pid, &total },
				     &parts_failed);
		else
			switch_off(a, pattern, pid, &total);
		filter_mismatch |= status == 1;
	}
	if (status == CMD_FAILED)
		return status;
	status = report(a, pattern, &total); /* of the others, too, if a part failed */
	return parts_failed ? CMD_FAILED : status ? status : filter_mismatch;
}

static int switch_functions(const struct arguments *a)
{
	int status = 0, one;

	if (!a->session.epoch)
		return cmd_error(a->verb, "--graph: nothing records");
	for (int i = 0; i < N_SELECTOR_KINDS; i++)
		if (a->target[i].size)
			return cmd_error(a->verb,
					 "--graph: functions are chosen by file and name, and by "
					 "-p; not by --%s",
					 selector_keys[i]);
	for (int i = 0; i < (a->pids.n ? a->pids.n : 1) && status < CMD_FAILED; i++) {
		one = enable_graph(a->verb, a->dir, a->session.name, a->pids.n ? a->pids.at[i] : 0,
				   &a->graph);
		status = one > status ? one : status;
	}
	return status;
}

static int run(struct arguments *a, int n, char **patterns)
{
	int status = 0;

	if (!n && !enable_graph_has(&a->graph))
		return cmd_usage(a->verb, "no pattern");
	a->dir = runtime_dir_open(false);
	if (a->dir < 0)
		return cmd_error(a->verb, "no traced program has run here (duet list): %s",
				 strerror(-a->dir));
	tenants_sweep(a->dir);
	status = select_session(a);
	for (int i = 0; i < n && status < CMD_FAILED; i++) {
		int one = switch_pattern(a, patterns[i]);

		status = one > status ? one : status;
	}
	if (status < CMD_FAILED && enable_graph_has(&a->graph)) {
		int one = switch_functions(a);

		status = one > status ? one : status;
	}
	close(a->dir);
	return status;
}

static int add_selector(void *arg, enum selector_kind kind, const char *list)
{
	struct arguments *a = arg;
	struct text unused = { 0 };
	struct diag d = { "" };
	int err = selector_add(&unused, kind, list, &d);

	text_fini(&unused);
	if (err)
		return cmd_error(a->verb, "%s", d.text);
	text_addf(&a->target[kind], "%s%s", a->target[kind].size ? "," : "", list);
	return 0;
}

static int take_level(const struct option_value *v)
{
	return add_selector(v->part, SELECTOR_LEVEL, v->text);
}

static int take_pid(const struct option_value *v)
{
	struct arguments *a = v->part;

	return cmd_add_pid(v->verb, &a->pids, v->text) ? 0 : CMD_FAILED;
}

static int take_filter(const struct option_value *v)
{
	struct arguments *a = v->part;

	a->filter = v->text;
	return *v->text ? 0 : cmd_usage(v->verb, "-f: empty filter");
}

static int take_channel(const struct option_value *v)
{
	struct arguments *a = v->part;

	a->channel = v->text;
	return *v->text ? 0 : cmd_usage(v->verb, "--channel: empty name");
}

static const struct option_row first_rows[] = {
	{ .name = "filter",
	  .letter = 'f',
	  .argument = "EXPR",
	  .verbs = VERB_ENABLE,
	  .help = "enable only those events for which EXPR holds (duet-filter(7))",
	  OPTION_CALL(PART_OWN, take_filter, 0) },
	{ .name = "channel",
	  .argument = "NAME",
	  .verbs = VERB_ENABLE,
	  .help = "enable them in this channel of the session (duet status)",
	  OPTION_CALL(PART_OWN, take_channel, 0) },
	{ .name = "level",
	  .argument = "LEVEL",
	  .verbs = VERB_ENABLE | VERB_DISABLE,
	  .help = "only those as important as this: emerg .. err, warning, notice, info, debug",
	  OPTION_CALL(PART_OWN, take_level, 0) },
	{ .name = "pid",
	  .letter = 'p',
	  .argument = "PID",
	  .verbs = VERB_ENABLE | VERB_DISABLE,
	  .help = "only in this process",
	  OPTION_CALL(PART_OWN, take_pid, 0) },
};
static const struct option_row last_rows[] = {
	{ .name = "session",
	  .letter = 's',
	  .argument = "S",
	  .verbs = VERB_ENABLE | VERB_DISABLE,
	  .help = "in this session (default: the one that is running)",
	  OPTION_FIELD(OPTION_TEXT, PART_OWN, const char *, arguments, session_wanted) },
};
static const struct option_table first_options = { first_rows,
						   sizeof first_rows / sizeof *first_rows };
static const struct option_table last_options = { last_rows, sizeof last_rows / sizeof *last_rows };

static int parse_and_run(struct arguments *a, unsigned bit, int argc, char **argv)
{
	struct selector_target selectors = { add_selector, a };
	const struct options options = {
		.verb = a->verb,
		.bit = bit,
		.usage = usage,
		.tables = { &first_options, &recording_options, &graph_options, &last_options },
		.parts = { [PART_OWN] = a, [PART_SELECTOR] = &selectors, [GRAPH_PART] = &a->graph },
	};
	int status = options_parse(&options, argc, argv);

	return status == OPTIONS_GO_ON ? run(a, argc - optind, argv + optind) : status;
}

int cmd_enable(int argc, char **argv)
{
	struct arguments a = { .verb = "enable", .enable = true };

	return parse_and_run(&a, VERB_ENABLE, argc, argv);
}

int cmd_disable(int argc, char **argv)
{
	struct arguments a = { .verb = "disable" };

	return parse_and_run(&a, VERB_DISABLE, argc, argv);
}
