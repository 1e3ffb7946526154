/* SPDX-License-Identifier: MIT */
/* cmd/session/stop.c - duet stop: end sessions, and print their summaries. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/client.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/finding.h"
#include "cmd/print/print.h"
#include "cmd/record/findings.h"
#include "cmd/record/summary.h"
#include "collect/session/public.h"
#include "collect/tenant/public.h"

static const char help[] =
	"usage: duet stop [NAME]...\n"
	"       duet stop --all\n\n"
	"Ends sessions (default: \"default\", or the only one that records), "
	"waits until their recordings are\n"
	"complete, and prints what they contain and what was lost.\n\n"
	"  -a, --all    all sessions of this user\n"
	"  -q, --quiet  no summary\n"
	"      --strict exit with 1 if anything that was asked for was not found\n"
	"  -s, --session NAME  the same as NAME\n\n"
	"The exit status is 1 if nothing records, if the recording's directory or disk failed "
	"while "
	"it was\nwritten, or with --strict if anything was not found.\n";

struct arguments {
	bool all, is_quiet, is_strict;
};

static bool is_live(const char *session)
{
	int dir = runtime_dir_open(false);
	bool live = dir >= 0 && session_is_live(dir, session);

	if (dir >= 0)
		close(dir);
	return live;
}

/*
 * Ask again if the collector is killed meanwhile: the next collector did not receive the request.
 */
static int ask(const char *session, struct cmd_answer *answer)
{
	const struct cmd_asking how = { .passed = -1, .may_end = true };
	struct text t;
	int status;

	do {
		t = (struct text){ 0 };
		json_line_add_text(&t, "verb", "stop");
		status = cmd_ask("stop", session, &t, &how, answer);
	} while (status == CMD_ENDED && is_live(session));
	if (status == CMD_ENDED)
		return cmd_error("stop", "session %s ended before it reported what it recorded",
				 session);
	return status ? status : cmd_refused("stop", session, answer);
}

static int print(const struct cmd_answer *answer, const struct arguments *a)
{
	struct recording_summary r = { .verb = "stop" };
	struct stopped s;
	char *rest = s.kernel_patterns, *pattern;

	stopping_read(&answer->line, &s, &r.result);
	r.path = s.path;
	r.wants_kernel = s.wants_kernel;
	r.is_gone = s.leaves;
	r.n_channels = s.n_channels;
	for (int i = 0; i < s.n_channels; i++)
		r.channels[i] = s.channels[i];
	while ((pattern = strsep(&rest, ",")))
		if (*pattern)
			cmd_add_string(&r.kernel_patterns, pattern);
	if (!a->is_quiet)
		summary_print(&r);
	findings_print(&r, a->is_quiet && !a->is_strict);
	free(r.kernel_patterns.at);
	if (r.result.trouble.text[0])
		cmd_finding("stop", "%s", r.result.trouble.text);
	if (*s.failed && strcmp(s.failed, r.result.trouble.text) != 0)
		cmd_error("stop", "%s", s.failed);
	if (r.result.is_not_whole)
		return CMD_NOT_WHOLE;
	return *s.failed ? CMD_FAILED : 0;
}

static int stop(const char *session, const struct arguments *a)
{
	struct cmd_answer answer;
	int status = ask(session, &answer);

	return status ? status : print(&answer, a);
}

static bool is_among(const struct cmd_strings *names, const char *name)
{
	for (int i = 0; i < names->n; i++)
		if (!strcmp(names->at[i], name))
			return true;
	return false;
}

/* Choose the sessions to stop among @live.  CMD_FAILED, after a message, if one does not exist. */
static int select_sessions(const struct arguments *a, const struct cmd_strings *live, int n,
			   char **wanted, struct cmd_strings *chosen)
{
	struct cmd_strings whole = { 0 }; /* without tenants' parts: those end with their session */

	for (int i = 0; i < n; i++) {
		if (!is_among(live, wanted[i]))
			return cmd_error("stop", "%s: no such session is recording", wanted[i]);
		if (!is_among(chosen, wanted[i]))
			cmd_add_string(chosen, wanted[i]);
	}
	if (n)
		return 0;
	for (int i = 0; i < live->n; i++)
		if (!strchr(live->at[i], '@'))
			cmd_add_string(&whole, live->at[i]);
	if (a->all)
		*chosen = whole;
	else if (is_among(&whole, "default"))
		cmd_add_string(chosen, "default");
	else if (whole.n == 1)
		cmd_add_string(chosen, whole.at[0]);
	else if (whole.n)
		return cmd_error("stop", "%d sessions are recording: name one, or --all", whole.n);
	return 0;
}

static int run(const struct arguments *a, int n, char **wanted)
{
	struct cmd_strings live = { 0 }, chosen = { 0 };
	int dir = runtime_dir_open(false), status = 0, one;

	if (dir < 0 && dir != -ENOENT)
		return cmd_error("stop", "cannot use the runtime directory: %s", strerror(-dir));
	if (dir >= 0) {
		tenants_sweep(dir);
		cmd_list_sessions(dir, &live);
		close(dir);
	}
	if (select_sessions(a, &live, n, wanted, &chosen))
		return CMD_FAILED;
	if (!chosen.n) {
		cmd_error("stop", "nothing records (duet status)");
		return 1;
	}
	for (int i = 0; i < chosen.n; i++) {
		one = stop(chosen.at[i], a);
		status = one > status ? one : status;
	}
	return cmd_findings_status(a->is_strict, status);
}

int cmd_stop(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },    { "quiet", no_argument, NULL, 'q' },
		{ "strict", no_argument, NULL, 'S' }, { "session", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },   { NULL, 0, NULL, 0 }
	};
	struct arguments a = { .all = false };
	char *named = NULL;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":aqs:h", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return options_refuse("stop", c, options, argv);
		if (c == 'h')
			return print_own(help);
		if (c == 'a')
			a.all = true;
		else if (c == 'q')
			a.is_quiet = true;
		else if (c == 'S')
			a.is_strict = true;
		else if (c == 's')
			named = optarg;
	}
	if ((a.all || named) && optind < argc)
		return cmd_usage("stop", a.all ? "either names or --all" : "either -s or names");
	if (a.all && named)
		return cmd_usage("stop", "either names or --all");
	return named ? run(&a, 1, &named) : run(&a, argc - optind, argv + optind);
}
