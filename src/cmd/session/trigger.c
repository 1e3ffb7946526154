/* SPDX-License-Identifier: MIT */
/* cmd/session/trigger.c - duet trigger: actions that a running recording takes on conditions. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/runtime.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "cmd/session/tenant_sessions.h"
#include "cmd/session/trigger.h"
#include "collect/session/public.h"
#include "collect/trigger/public.h"

static const char help[] =
	"usage: duet trigger add [-s SESSION] TRIGGER...\n"
	"       duet trigger list [-s SESSION]\n"
	"       duet trigger remove [-s SESSION] NUMBER...\n"
	"       duet trigger watch [-s SESSION] [-n COUNT]\n\n"
	"A trigger is one argument, 'CONDITION -> ACTION, ACTION...':\n\n"
	"  event PATTERN [if EXPR]                     an event (duet-filter(7))\n"
	"  rate PATTERN > N per TIME [if EXPR]         more than N of them within TIME\n"
	"  time A to B > TIME [by FIELD] [if EXPR]     B comes more than TIME after its A\n"
	"  late A to B > TIME [by FIELD] [if EXPR]     A, and after TIME no B; same thread, or "
	"same FIELD\n"
	"  lost > N per TIME                           events that found no space\n"
	"  signal USR1 | signal USR2                   sent to the collector (duet status)\n"
	"  file PATH                                   appears\n"
	"  A PATTERN kernel:NAME is about kernel events that are recorded (-k), as in 'event "
	"kernel:sched_switch'.\n\n"
	"  snapshot [last TIME]    of a flight recorder      start, stop, end    recording\n"
	"  run COMMAND ARG...      facts in DUET_...         shell 'TEXT'        the same by "
	"/bin/sh\n"
	"  notify                  duet trigger watch        rotate              the files\n"
	"  once, every TIME        how often it may fire (default: every 1s)\n\n"
	"  -s, --session S   the recording (default: the one that is running), with all its "
	"users' parts\n"
	"  -n, --count N     end after N firings\n\n"
	"  duet trigger add 'event shop:order if id > 9 -> snapshot last 5s, run page-me, every "
	"1m'\n";

struct arguments {
	const char *session_wanted;
	uint64_t count; /* 0: no limit */
	int dir;
	struct abi_session session;
};

static int ask(const struct arguments *a, const char *session, struct text *t,
	       struct cmd_answer *answer)
{
	int status = tenant_session_request("trigger", a->dir, session, t, answer);

	return status ? status : cmd_refused("trigger", session, answer);
}

static unsigned long long number_in(const struct cmd_answer *answer, const char *key)
{
	uint64_t n = 0;

	json_line_number(&answer->line, key, &n);
	return n;
}

/* A request to the main collector and then to tenant collectors. */
struct trigger_request {
	const struct arguments *a;
	const char *text;
	uint64_t number; /* of the trigger, the same in all parts; 0: the next free one */
};

static int add_one(void *arg, const char *session)
{
	struct trigger_request *s = arg;
	struct cmd_answer answer;
	struct text t = { 0 };
	int status;

	json_line_add_text(&t, "verb", "trigger");
	json_line_add_text(&t, "add", s->text);
	if (s->number)
		json_line_add_number(&t, "number", s->number);
	status = ask(s->a, session, &t, &answer);
	if (status)
		return status == CMD_ENDED ? 0 : status;
	s->number = number_in(&answer, "number");
	print_out("%s%strigger %llu: %s\n", tenant_session_label(session) ? session : "",
		  tenant_session_label(session) ? ": " : "", (unsigned long long)s->number,
		  s->text);
	return 0;
}

/* Only the main collector reads kernel events, so tenants get no trigger on them. */
static bool is_for_parts(const char *text)
{
	struct trigger t;

	return !trigger_parse(&t, text, NULL) && !trigger_has_kernel(&t);
}

static int add(const struct arguments *a, const char *text)
{
	struct trigger_request s = { .a = a, .text = text };
	int status = add_one(&s, a->session.name);

	return status || !is_for_parts(text)
		       ? status
		       : tenant_sessions_each_other(a->dir, a->session.name, add_one, &s);
}

static void request_removal(struct text *t, uint64_t number)
{
	json_line_add_text(t, "verb", "trigger");
	json_line_add_number(t, "remove", number);
}

/* A tenant collector that started just now may not have the trigger; that is no error. */
static int remove_from_part(void *arg, const char *part)
{
	const struct trigger_request *s = arg;
	struct cmd_answer answer;
	struct text t = { 0 };
	int status;

	request_removal(&t, s->number);
	status = tenant_session_request("trigger", s->a->dir, part, &t, &answer);
	return status == CMD_ENDED ? 0 : status;
}

static int remove_one(const struct arguments *a, const char *text)
{
	struct trigger_request s = { .a = a };
	struct cmd_answer answer;
	struct text t = { 0 };
	char *end;
	int status;

	s.number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end)
		return cmd_error("trigger", "%s: not a trigger's number (duet trigger list)", text);
	request_removal(&t, s.number);
	status = ask(a, a->session.name, &t, &answer);
	return status ? status
		      : tenant_sessions_each_other(a->dir, a->session.name, remove_from_part, &s);
}

static void print_error(const char *reason)
{
	print_out("     ERROR: ");
	print_reason(reason);
	print_out("\n");
}

static void print_trigger(const struct cmd_answer *answer)
{
	char line[4096];

	if (!json_line_text(&answer->line, "text", line, sizeof line))
		strcpy(line, "?");
	print_out("%3llu  %s\n     fired %llu", number_in(answer, "number"), line,
		  number_in(answer, "fired"));
	if (number_in(answer, "held_back"))
		print_out(", held back %llu", number_in(answer, "held_back"));
	if (number_in(answer, "forgotten"))
		print_out(", too many pairs at once: %llu forgotten",
			  number_in(answer, "forgotten"));
	print_out("\n");
	if (json_line_text(&answer->line, "error", line, sizeof line))
		print_error(line);
}

static void print_triggers(const char *session, const struct cmd_answer *at, int n)
{
	if (tenant_session_label(session))
		print_out("%s:\n", session);
	for (int i = 0; i < n; i++)
		print_trigger(&at[i]);
	if (!n)
		print_out("no triggers: duet trigger add\n");
	if (number_in(&at[n], "missed"))
		print_out("MISSED: %llu times more events came than could be looked at\n",
			  number_in(&at[n], "missed"));
}

/* Prints when all answers are there: other parts are asked meanwhile. */
static int list(void *arg, const char *session)
{
	const struct arguments *a = arg;
	/* Allocated once: an answer points into itself.  One more answer ends the list. */
	struct cmd_answer *at = cmd_grow(NULL, TRIGGERS_MAX + 1, sizeof *at);
	uint64_t after = 0;
	int status, n = 0;

	for (;; n++) {
		struct text t = { 0 };

		json_line_add_text(&t, "verb", "trigger");
		json_line_add_number(&t, "after", after);
		status = ask(a, session, &t, &at[n]);
		if (status || n == TRIGGERS_MAX || !json_line_number(&at[n].line, "number", &after))
			break;
	}
	if (!status)
		print_triggers(session, at, n);
	free(at);
	return status == CMD_ENDED ? 0 : status;
}

static int select_events(struct arguments *a)
{
	int status;

	a->dir = runtime_dir_open(false);
	if (a->dir < 0)
		return cmd_error("trigger",
				 "nothing records: start `duet collect` or `duet record` first");
	programs_sweep(a->dir);
	status = cmd_select_session("trigger", a->dir, a->session_wanted, &a->session);
	return status == 1
		       ? cmd_error("trigger",
				   "nothing records: start `duet collect` or `duet record` first")
		       : status;
}

static int each(const struct arguments *a, int (*what)(const struct arguments *a, const char *text),
		int n, char **texts)
{
	int status = 0;

	for (int i = 0; i < n && !status; i++)
		status = what(a, texts[i]);
	return status;
}

static int run(struct arguments *a, const char *what, int n, char **rest)
{
	bool adds = !strcmp(what, "add"), removes = !strcmp(what, "remove"),
	     lists = !strcmp(what, "list");
	int status;

	if (!adds && !removes && !lists && strcmp(what, "watch"))
		return cmd_error("trigger",
				 "%s: add, list, remove or watch expected: `duet trigger --help` "
				 "shows how it is used",
				 what);
	if ((adds || removes) && !n)
		return cmd_usage("trigger", adds ? "no trigger given" : "no number given");
	if (!adds && !removes && n == 1 && !a->session_wanted) {
		a->session_wanted = *rest;
		n = 0;
	}
	if (!adds && !removes && n)
		return cmd_usage("trigger", "no argument expected");
	status = select_events(a);
	if (status)
		return status;
	if (adds || removes)
		return each(a, adds ? add : remove_one, n, rest);
	return lists ? tenant_sessions_each(a->dir, a->session.name, list, a)
		     : trigger_listen(a->dir, a->session.name, a->count);
}

int cmd_trigger(int argc, char **argv)
{
	static const struct option options[] = { { "session", required_argument, NULL, 's' },
						 { "count", required_argument, NULL, 'n' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct arguments a = { .count = 0 };
	char *end;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":s:n:h", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return options_refuse("trigger", c, options, argv);
		if (c == 's') {
			a.session_wanted = optarg;
		} else if (c == 'n') {
			a.count = strtoull(optarg, &end, 10);
			if (*optarg < '1' || *optarg > '9' || *end)
				return cmd_error("trigger", "-n %s: not a number of firings",
						 optarg);
		} else if (c == 'h') {
			print_own(help);
			return 0;
		}
	}
	if (optind == argc)
		return cmd_usage("trigger", "add, list, remove or watch expected");
	return run(&a, argv[optind], argc - optind - 1, argv + optind + 1);
}
