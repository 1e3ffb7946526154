/* SPDX-License-Identifier: MIT */
/* cmd/enable.c - duet enable and duet disable: in running programs, without their help. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/cmd.h"
#include "collect/apps.h"
#include "collect/session.h"

static const char help[] =
	"usage: duet %s [-p PID]... [-s SESSION] PATTERN...\n\n"
	"Switches events %s in running programs, at once; without -p also in those that start later.\n\n"
	"  PATTERN            a glob on \"channel:name\", a channel, or a name (duet list)\n"
	"  -p, --pid PID      only in this process\n"
	"  -s, --session S    whose recording it is for (default: the one that is running)\n";

struct arguments {
	const char *verb;
	bool enable;
	const char *session_wanted;
	struct cmd_pids pids;
	int dir;
	struct abi_session session; /* epoch 0: none */
};

static int choose_session(struct arguments *a)
{
	int status = cmd_choose_session(a->verb, a->dir, a->session_wanted, &a->session);

	if (status == 1 && a->enable)
		return cmd_error(a->verb, "nothing records: start `duet collect` or `duet record` first");
	return status == 1 ? 0 : status;
}

/* For programs that start later.  Two commands at once take turns. */
static int add_rule(struct arguments *a, const char *pattern)
{
	struct diag d = { "" };
	char rule[512];
	int err;

	if (snprintf(rule, sizeof rule, "%s%s", a->enable ? "" : "!", pattern) >= (int)sizeof rule)
		return cmd_error(a->verb, "%s: the pattern is too long", pattern);
	flock(a->dir, LOCK_EX);
	err = session_find(a->dir, a->session.name, &a->session, &d);
	if (!err)
		err = session_add_rule(&a->session, rule, &d);
	if (!err)
		err = session_publish(a->dir, &a->session, &d);
	flock(a->dir, LOCK_UN);
	return err ? cmd_error(a->verb, "%s", d.text) : 0;
}

static int switch_pattern(struct arguments *a, const char *pattern)
{
	struct apps_switched total = { 0 };

	if (!a->pids.n && a->session.epoch && add_rule(a, pattern))
		return CMD_FAILED;
	for (int i = 0; i < (a->pids.n ? a->pids.n : 1); i++) {
		struct apps_switched s = apps_switch(a->dir, a->pids.n ? a->pids.at[i] : 0, pattern,
						     a->enable, a->session.name, a->session.epoch);

		total.programs += s.programs;
		total.events += s.events;
		total.busy += s.busy;
	}
	if (total.busy)
		cmd_error(a->verb, "%u program%s left alone: another session records %s", total.busy,
			  total.busy == 1 ? "" : "s", total.busy == 1 ? "it" : "them");
	if (!total.events)
		return cmd_error(a->verb, "%s: no running program has such an event (duet list)%s",
				 pattern,
				 a->pids.n || !a->session.epoch ? ""
								: "; kept for programs that start later");
	printf("%s: %s %u event%s in %u program%s\n", pattern, a->enable ? "enabled" : "disabled",
	       total.events, total.events == 1 ? "" : "s", total.programs,
	       total.programs == 1 ? "" : "s");
	return 0;
}

static int run(struct arguments *a, int n, char **patterns)
{
	int status = 0;

	if (!n)
		return cmd_usage(a->verb, "no pattern");
	a->dir = runtime_dir_open(false);
	if (a->dir < 0)
		return cmd_error(a->verb, "no traced program has run here (duet list): %s",
				 strerror(-a->dir));
	apps_sweep(a->dir);
	status = choose_session(a);
	for (int i = 0; i < n && !status; i++)
		status = switch_pattern(a, patterns[i]);
	close(a->dir);
	return status;
}

static int parse(struct arguments *a, int argc, char **argv)
{
	static const struct option options[] = { { "pid", required_argument, NULL, 'p' },
						 { "session", required_argument, NULL, 's' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":p:s:h", options, NULL)) != -1) {
		if (c == 'p') {
			if (!cmd_add_pid(a->verb, &a->pids, optarg))
				return CMD_FAILED;
		} else if (c == 's') {
			a->session_wanted = optarg;
		} else if (c == 'h') {
			printf(help, a->verb, a->enable ? "on" : "off");
			return 0;
		} else {
			return cmd_usage(a->verb,
					 c == ':' ? "an option lacks its value" : "no such option");
		}
	}
	return run(a, argc - optind, argv + optind);
}

int cmd_enable(int argc, char **argv)
{
	struct arguments a = { .verb = "enable", .enable = true };

	return parse(&a, argc, argv);
}

int cmd_disable(int argc, char **argv)
{
	struct arguments a = { .verb = "disable" };

	return parse(&a, argc, argv);
}
