/* SPDX-License-Identifier: MIT */
/*
 * cmd/top/top.c - `duet top`: what runs and waits now, by process, thread and event rate.
 *
 * The figures come from events, not from samples: a thread's times add up to the interval, and short
 * processes are in them.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/nearest.h"
#include "cmd/options.h"
#include "cmd/top/top.h"

static const char usage[] = "usage: duet top [OPTIONS] [SESSION | DIRECTORY]\n"
			    "       duet top [OPTIONS] -p PID | -- COMMAND [ARGUMENT...]\n"
			    "\n"
			    "Shows what runs and what waits now, and why: threads, processes or "
			    "events, an interval after\n"
			    "the other.  Follows SESSION, a recording in DIRECTORY that grows, or "
			    "the only session that\n"
			    "records.  Without any it records for itself (the kernel's scheduler "
			    "and system calls) and\n"
			    "removes that at once.";

static volatile sig_atomic_t is_stopped;

static void stop(int signal)
{
	(void)signal;
	is_stopped = 1;
}

bool top_is_stopped(void)
{
	return is_stopped;
}

enum part { TOP };

static int take_pid(const struct option_value *v)
{
	struct top_options *o = v->part;

	return cmd_add_pid("top", &o->pids, v->text) ? 0 : CMD_FAILED;
}

static int take_name(const char *text, const char *const *names, int n, const char *option)
{
	struct nearest near = { .wanted = text };
	char hint[NEAREST_MAX + 32];

	for (int i = 0; i < n; i++) {
		if (!strcmp(text, names[i]))
			return i;
		nearest_try(&near, names[i]);
	}
	cmd_error("top", "%s %s: no such name%s", option, text,
		  *near.best ? nearest_text(&near, hint) : "; duet top --help lists them");
	return -1;
}

static int take_by(const struct option_value *v)
{
	static const char *const names[] = { "thread", "process", "event" };
	int found = take_name(v->text, names, TOP_VIEWS, "--by");

	if (found >= 0)
		((struct top_options *)v->part)->by = (enum top_by)found;
	return found < 0 ? CMD_FAILED : 0;
}

static int take_sort(const struct option_value *v)
{
	const char *names[TOP_SORTS];
	int found;

	for (int i = 0; i < TOP_SORTS; i++)
		names[i] = top_sort_name((enum top_sort)i);
	found = take_name(v->text, names, TOP_SORTS, "--sort");
	if (found >= 0)
		((struct top_options *)v->part)->sort = (enum top_sort)found;
	return found < 0 ? CMD_FAILED : 0;
}

/* A whole number from 1. */
static int take_count(const struct option_value *v)
{
	struct top_options *o = v->part;
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(v->text, &end, 10);
	if (errno || *end || *v->text == '-' || !n)
		return cmd_error("top", "%s: a number from 1 on is needed", v->text);
	*(v->detail ? &o->limit : &o->n_intervals) = n;
	return 0;
}

static int take_interval(const struct option_value *v)
{
	struct top_options *o = v->part;

	if (!cmd_parse_time("top", v->text, &o->interval_ns))
		return CMD_FAILED;
	return o->interval_ns >= 100000000 && o->interval_ns <= 3600000000000ull
		       ? 0
		       : cmd_error("top", "-i %s: from 100ms to 1h", v->text);
}

/* "sched,block", cut in argv.  @detail: of the kernel, or of applications. */
static int take_patterns(const struct option_value *v)
{
	struct top_options *o = v->part;
	char *rest = v->text;

	for (char *p; (p = strsep(&rest, ","));) {
		if (!*p || !strcmp(p, "!"))
			return cmd_usage("top",
					 v->detail ? "-k: empty pattern" : "-e: empty pattern");
		cmd_add_string(v->detail ? &o->kernel : &o->events, p);
	}
	return 0;
}

#define FIELD(KIND, type, member) OPTION_FIELD(KIND, TOP, type, top_options, member)
#define ROW(LETTER, NAME, ARGUMENT, HELP, ...)                                                     \
	{                                                                                          \
		.name = (NAME), .letter = (LETTER), .argument = (ARGUMENT), .help = (HELP),        \
		.verbs = 1, __VA_ARGS__                                                            \
	}
static const struct option_row rows[] = {
	ROW('s', "session", "NAME", "the same as SESSION",
	    FIELD(OPTION_TEXT, const char *, session)),
	ROW(0, "by", "WHAT", "rows: thread (default), process or event",
	    OPTION_CALL(TOP, take_by, 0)),
	ROW(0, "sort", "WHAT",
	    "cpu (default), wait (for a CPU), blocked, calls, switches, events: most first",
	    OPTION_CALL(TOP, take_sort, 0)),
	ROW('i', "interval", "TIME", "length of an interval (default: 1s)",
	    OPTION_CALL(TOP, take_interval, 0)),
	ROW('n', "count", "N", "end after N intervals", OPTION_CALL(TOP, take_count, 0)),
	ROW('b', "batch", NULL, "print tables, no screen; the default if output is no terminal",
	    FIELD(OPTION_FLAG, bool, is_batch)),
	ROW(0, "json", NULL, "print one JSON object an interval",
	    FIELD(OPTION_FLAG, bool, is_json)),
	ROW(0, "limit", "N", "at most N rows of a table (default: 30)",
	    OPTION_CALL(TOP, take_count, 1)),
	ROW(0, "name", "TEXT", "only threads, processes or events whose name has TEXT",
	    FIELD(OPTION_TEXT, const char *, filter)),
	ROW('p', "pid", "PID", "only this process (may be repeated)",
	    OPTION_CALL(TOP, take_pid, 0)),
	ROW('e', "event", "PATTERN,..", "own recording: also these events of applications",
	    OPTION_CALL(TOP, take_patterns, 0)),
	ROW('k', "kernel", "PATTERN,..",
	    "own recording: these kernel events (default: sched,syscalls)",
	    OPTION_CALL(TOP, take_patterns, 1)),
};
static const struct option_table table = { rows, sizeof rows / sizeof *rows };

static int parse(struct top_options *o, int argc, char **argv)
{
	const struct options options = {
		.verb = "top",
		.bit = 1,
		.usage = usage,
		.notes = "Keys on a terminal: t p e threads, processes, events; c w b s x r sort; "
			 "/ filter;\n"
			 "space pause; ? all keys; q quit.\n",
		.has_command = true,
		.tables = { &table },
		.parts = { [TOP] = o },
	};
	int status = options_parse(&options, argc, argv);
	bool is_command = optind > 0 && optind < argc && !strcmp(argv[optind - 1], "--");

	if (status != OPTIONS_GO_ON)
		return status;
	if (is_command)
		o->command = argv + optind;
	else if (argc - optind > !o->session)
		return cmd_usage("top", "one session or directory; a command stands behind --");
	else if (optind < argc)
		o->session = argv[optind];
	if (o->session && (o->events.n || o->kernel.n))
		return cmd_usage("top", "-e and -k are for a recording of its own; duet enable "
					"switches events of a session on");
	if (o->command && o->pids.n)
		return cmd_usage("top", "either a command, or -p");
	if (o->command && cmd_check_command("top", *o->command))
		return CMD_FAILED;
	return OPTIONS_GO_ON;
}

int cmd_top(int argc, char **argv)
{
	struct top_options o = { .interval_ns = 1000000000, .limit = 30 };
	const struct sigaction act = { .sa_handler = stop };
	struct top_source source;
	int status = parse(&o, argc, argv), ended;

	if (status != OPTIONS_GO_ON)
		return status;
	o.is_batch |= o.is_json || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	status = top_source_open(&source, &o);
	if (status)
		return status;
	status = o.is_batch ? top_text(&source, &o) : top_screen(&source, &o);
	ended = top_source_close(&source);
	return status ? status : o.command ? ended : 0;
}
