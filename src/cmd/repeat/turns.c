/* SPDX-License-Identifier: MIT */
/*
 * cmd/repeat/turns.c - the recordings of `duet diff --repeat`.
 *
 * duet itself is executed as `duet record`, so that a command is recorded exactly as it would be by hand.
 *
 *   (1) of each two turns one begins with A and one with B: the effects of the one (files in memory, a
 *       warm processor) are there for both alike
 *   (2) a temporary directory is removed at the end, after Ctrl-C, SIGTERM and SIGHUP as well
 */
#include "cmd/repeat/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "cmd/repeat/series.h"

enum { TURNS_MOST = 1000 };

int turns_take(struct turns *t, const char *number)
{
	char *end;
	unsigned long n = strtoul(number, &end, 10);

	if (*number < '0' || *number > '9' || *end || n < 1 || n > TURNS_MOST)
		return cmd_error("diff", "--repeat %s: 1 to %d recordings of each command", number,
				 TURNS_MOST);
	t->n = (uint32_t)n;
	return 0;
}

int turns_take_commands(struct turns *t, char **words)
{
	char **between = words;

	while (*between && strcmp(*between, "--") != 0)
		between++;
	if (!*words || between == words || !*between || !between[1])
		return cmd_usage("diff",
				 "--repeat: two commands are needed, with \"--\" between them");
	*between = NULL;
	t->commands[0] = words;
	t->commands[1] = between + 1;
	return cmd_check_command("diff", t->commands[0][0]) ||
			       cmd_check_command("diff", t->commands[1][0])
		       ? CMD_FAILED
		       : 0;
}

/* ---------------------------------------------------------------- names */

static int make_directory(struct turns *t)
{
	const char *tmp = getenv("TMPDIR");

	if (asprintf(&t->directory, "%s/duet-diff-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) {
		t->directory = NULL;
		return cmd_error("diff", "no memory for the comparison");
	}
	if (!mkdtemp(t->directory)) {
		cmd_error("diff", "cannot make %s: %s (set TMPDIR, or give -o)", t->directory,
			  strerror(errno));
		free(t->directory);
		t->directory = NULL;
		return CMD_FAILED;
	}
	return 0;
}

/* Names that are not there yet: the series must not mix with other recordings. */
static int name_all(struct turns *t)
{
	t->paths = calloc(2 * (size_t)t->n, sizeof *t->paths);
	for (uint32_t i = 0; t->paths && i < 2 * t->n; i++) {
		char *path;

		if (asprintf(&path, "%s%s%c-%u", t->base ? t->base : t->directory,
			     t->base ? "-" : "/", i < t->n ? 'a' : 'b', i % t->n + 1) < 0)
			break;
		t->paths[i] = path;
		if (!access(path, F_OK))
			return cmd_error(
				"diff", "%s exists: remove it, or choose another name by -o", path);
	}
	return t->paths && t->paths[2 * t->n - 1]
		       ? 0
		       : cmd_error("diff", "no memory for the comparison");
}

/* ---------------------------------------------------------------- recording */

static void execute_record(const struct turns *t, const char *path, char **command)
{
	static const char *const words[] = { "duet", "record", "-q", "-o" };
	enum { N_WORDS = sizeof words / sizeof *words };
	int n = N_WORDS, n_command = 0, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const char **argv;

	while (command[n_command])
		n_command++;
	argv = calloc((size_t)(n + t->options.n + n_command + 3), sizeof *argv);
	if (!argv || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) {
		cmd_error("diff", "cannot record %s: %s", *command, strerror(errno));
		_exit(CMD_FAILED);
	}
	memcpy(argv, words, sizeof words);
	argv[n++] = path;
	for (int i = 0; i < t->options.n; i++)
		argv[n++] = t->options.at[i];
	argv[n++] = "--";
	memcpy(argv + n, command, (size_t)n_command * sizeof *argv);
	execv("/proc/self/exe", (char **)argv);
	cmd_error("diff", "cannot execute duet record: %s", strerror(errno));
	_exit(CMD_FAILED);
}

/* Recording @i of a side.  @status: of the command, or of duet, which then printed why. */
static int record_one(const struct turns *t, int side, uint32_t i, int *status)
{
	const char *path = t->paths[(uint32_t)side * t->n + i];
	int err;
	pid_t pid = series_fork(&err);

	if (!pid)
		execute_record(t, path, t->commands[side]);
	if (pid < 0)
		return err ? cmd_error("diff", "cannot fork: %s", strerror(err)) : 0;
	*status = series_wait(pid);
	if (!series_stopped_by() && access(path, F_OK))
		return *status ? *status : CMD_FAILED;
	return 0;
}

static int stopped(const struct turns *t, uint32_t n_turns)
{
	progress_hide();
	return cmd_error("diff", "ended by a signal in turn %u of %u: nothing is compared%s",
			 n_turns + 1, t->n, t->base ? "; finished recordings are kept" : "");
}

static int record_all(const struct turns *t)
{
	uint32_t n_failed[2] = { 0, 0 };
	int last[2] = { 0, 0 };
	char line[64];

	for (uint32_t i = 0; i < t->n; i++) {
		snprintf(line, sizeof line, "recording turn %u of %u", i + 1, t->n);
		progress_line(line);
		for (uint32_t k = 0; k < 2; k++) {
			int side = (int)(k ^ (i & 1)), status = 0; /* (1) */
			int err = record_one(t, side, i, &status);

			if (series_stopped_by())
				return stopped(t, i);
			if (err)
				return err;
			n_failed[side] += status != 0;
			last[side] = status ? status : last[side];
		}
	}
	progress_hide();
	for (int side = 0; side < 2; side++)
		if (n_failed[side])
			cmd_error("diff", "%s: exit status %d in %u of %u runs",
				  t->commands[side][0], last[side], n_failed[side], t->n);
	return 0;
}

int turns_record(struct turns *t)
{
	int status;

	if ((!t->base && make_directory(t)) || name_all(t))
		return CMD_FAILED;
	series_begin();
	status = record_all(t);
	series_end();
	return status || !series_stopped_by() ? status : stopped(t, t->n - 1);
}

void turns_end(struct turns *t)
{
	for (uint32_t i = 0; t->paths && i < 2 * t->n; i++)
		free(t->paths[i]);
	free(t->paths);
	if (t->directory)
		io_remove_tree(t->directory);
	free(t->directory);
	free(t->options.at);
	*t = (struct turns){ 0 };
}
