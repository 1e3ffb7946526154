/* SPDX-License-Identifier: MIT */
/*
 * cmd/repeat/repeat.c - duet record --repeat: several recordings of a command, one after the other.
 *
 * `duet diff` compares recordings, not calls of one recording.  The series ends early if a recording
 * could not be made, and after Ctrl-C or SIGTERM: then the last one is of a run that was cut, and is
 * named apart.  A command that fails does not end it: each run of it may.
 *
 * Signals: Ctrl-C at a terminal reaches all processes, so nothing is passed on; a signal that a process
 * sent to this one alone is.
 *
 *   (1) `child` is a process that was not waited for yet, or 0; no signal comes between the test of
 *       `stopped_by` and the next child's number
 */
#include "cmd/repeat/repeat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/print/print.h"
#include "cmd/record/recording.h"
#include "cmd/repeat/series.h"

enum { REPEATS_MOST = 1000 };

int repeat_take(const struct option_value *v)
{
	struct recording *a = v->part;
	char *end;
	unsigned long n = strtoul(v->text, &end, 10);

	if (*v->text < '0' || *v->text > '9' || *end || n < 2 || n > REPEATS_MOST)
		return cmd_error(v->verb, "--repeat %s: 2 to %d recordings", v->text, REPEATS_MOST);
	a->n_repeats = (uint32_t)n;
	return 0;
}

static int path_of(const char *base, uint32_t i, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s-%u", base, i) < PATH_MAX
		       ? 0
		       : cmd_error("record", "%s: the path is too long", base);
}

/* The series must not mix with recordings that are there. */
static int check_names(const char *base, uint32_t n)
{
	char path[PATH_MAX];

	for (uint32_t i = 1; i <= n; i++) {
		if (path_of(base, i, path))
			return CMD_FAILED;
		if (!access(path, F_OK))
			return cmd_error(
				"record",
				"--repeat: %s exists: remove it, or choose another name by -o",
				path);
	}
	return 0;
}

/* @n recordings are there; @is_stopped: a signal cut the last of them. */
static void print_end(const struct recording *a, const char *base, uint32_t n, bool is_stopped)
{
	uint32_t n_whole = n - is_stopped;

	if (n == a->n_repeats && !is_stopped && a->quiet)
		return;
	if (n_whole)
		print_err("\n%u of %u recordings: %s-1%s%s", n_whole, a->n_repeats, base,
			  n_whole > 2	? " to "
			  : n_whole > 1 ? " and "
					: "",
			  n_whole > 1 ? base : "");
	else
		print_err("\nnone of %u recordings is whole", a->n_repeats);
	if (n_whole > 1)
		print_err("-%u", n_whole);
	print_err("\n");
	if (is_stopped)
		print_err("%s-%u is of a run that a signal cut\n", base, n);
	if (n_whole > 1)
		print_err("Next: duet diff %s-{1..%u} -- OTHER-{1..%u}    after --repeat with -o "
			  "OTHER\n",
			  base, n_whole, n_whole);
}

/* Where no -o says: the name of other recordings. */
static const char *base_of(const struct recording *a, char base[PATH_MAX])
{
	time_t now = time(NULL);
	struct tm tm;

	if (a->o.path)
		snprintf(base, PATH_MAX, "%s", a->o.path);
	else
		strftime(base, PATH_MAX, "duet-%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	return base;
}

int repeat_record(struct recording *a)
{
	static char base[PATH_MAX], path[PATH_MAX];
	uint32_t n = 0;
	int status = 0, last, err = 0;
	bool is_last_cut = false;
	pid_t pid;

	if (!a->o.command)
		return cmd_error("record", "--repeat: it is about a command, which ends by itself");
	if (a->o.path && (!*a->o.path || strlen(a->o.path) >= PATH_MAX - 16))
		return cmd_error("record", "-o '%.40s': no name of a directory", a->o.path);
	if (check_names(base_of(a, base), a->n_repeats))
		return CMD_FAILED;
	series_begin();
	while (n < a->n_repeats && !series_stopped_by()) {
		if (path_of(base, n + 1, path))
			return CMD_FAILED;
		pid = series_fork(&err);
		if (!pid) {
			a->o.path = path;
			return OPTIONS_GO_ON;
		}
		if (pid < 0)
			break;
		last = series_wait(pid);
		status = status ? status : last;
		if (access(path, F_OK))
			break;
		n++;
		is_last_cut = series_is_cut();
	}
	print_end(a, base, n, is_last_cut);
	return err ? cmd_error("record", "cannot fork: %s", strerror(err)) : status;
}
