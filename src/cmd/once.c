/* SPDX-License-Identifier: MIT */
/*
 * cmd/once.c - record a command, answer one question about it, and remove the recording.
 *
 * duet itself is executed as `duet record`, so that the command is recorded exactly as it would be
 * by hand.  An interrupt of the terminal ends the command, not the answer.
 *
 *   (1) nothing is left: the directory is removed whatever the verb returns
 *   (2) the question chooses the events: `needs` has a row for each question that can be asked so
 */
#include "cmd/once.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/confine/reader.h"

enum { OPTIONS_MOST = 6 };

static const struct {
	const char *verb, *question; /* NULL: whatever is asked */
	bool is_kernel;		     /* without the kernel's half there is no answer */
	const char *options[OPTIONS_MOST];
} needs[] = {
	{ "report", "syscalls", true, { "-k", "syscalls" } },
	{ "report", "sched", true, { "-k", "sched" } },
	{ "report", "cpu", true, { "-k", "sched,irq" } },
	{ "report", "functions", false, { "-k", "sched,syscalls", "--graph", "%s:*" } },
	{ "report", "heap", false, { "--no-kernel", "-e", "lttng_ust_libc:*" } },
	{ "report", "latency", false, { "-k", "sched,syscalls" } },
	{ "report", "why", true, { "-k", "sched,syscalls,irq" } },
	{ "report", "io", true, { "-k", "syscalls,block" } },
	{ "report", "irq", true, { "-k", "sched,irq" } },
	{ "report", "locks", false, { "-k", "sched,syscalls" } },
	{ "graph", NULL, false, { "-k", "sched,syscalls", "--graph", "%s:*" } },
	{ "export", "off-cpu", true, { "-k", "stack:sched_switch" } },
	{ "export", "svg", true, { "-k", "profile" } },
	{ "export", "folded", true, { "-k", "profile" } },
	{ "export", "speedscope", true, { "-k", "profile" } },
	{ "export", "firefox", true, { "-k", "profile" } },
	{ "export", "perfetto", false, { "-k", "sched,syscalls" } },
	{ "export", "chrome", false, { "-k", "sched,syscalls" } },
	{ "stats", NULL, false, { NULL } },
};
enum { N_NEEDS = sizeof needs / sizeof *needs };

/* The word that asks: the first that is a question of the verb. */
static int find_need(const char *verb, int argc, char **argv)
{
	for (int i = 0; i < N_NEEDS; i++) {
		if (strcmp(needs[i].verb, verb))
			continue;
		if (!needs[i].question)
			return i;
		for (int k = 1; k < argc; k++)
			if (!strcmp(argv[k], needs[i].question))
				return i;
	}
	return -1;
}

static int find_command(int argc, char **argv)
{
	struct stat st;

	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--"))
			return !stat(argv[i + 1], &st) && S_ISDIR(st.st_mode) ? 0 : i + 1;
	return 0;
}

static void execute_record(int need, const char *path, char **command)
{
	const char *words[OPTIONS_MOST + 6] = { "duet", "record", "-q", "-o", path };
	int n = 5, n_command = 0;
	char graph[512], **argv;
	const char *name = strrchr(*command, '/');

	name = name ? name + 1 : *command;
	for (int i = 0; i < OPTIONS_MOST && needs[need].options[i]; i++) {
		words[n] = needs[need].options[i];
		if (!strcmp(words[n], "%s:*")) {
			snprintf(graph, sizeof graph, "%s:*", name);
			words[n] = graph;
		}
		n++;
	}
	while (command[n_command])
		n_command++;
	argv = calloc((size_t)(n + n_command + 2), sizeof *argv);
	if (!argv)
		_exit(CMD_FAILED);
	memcpy(argv, words, (size_t)n * sizeof *argv);
	argv[n] = (char[]){ "--" };
	memcpy(argv + n + 1, command, (size_t)n_command * sizeof *argv);
	execv("/proc/self/exe", argv);
	cmd_error(needs[need].verb, "cannot execute duet record: %s", strerror(errno));
	_exit(CMD_FAILED);
}

/* -1: there was no process; else as waitpid() has it. */
static int record(int need, const char *path, char **command)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, of_int, of_quit;
	int status = -1;
	pid_t pid;

	fflush(NULL);
	sigaction(SIGINT, &ignore, &of_int);
	sigaction(SIGQUIT, &ignore, &of_quit);
	pid = fork();
	if (!pid) {
		sigaction(SIGINT, &of_int, NULL);
		sigaction(SIGQUIT, &of_quit, NULL);
		execute_record(need, path, command);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &of_int, NULL);
	sigaction(SIGQUIT, &of_quit, NULL);
	return status;
}

static bool has(const char *path, const char *part)
{
	char whole[4200];

	snprintf(whole, sizeof whole, "%s/%s", path, part);
	return !access(whole, F_OK);
}

/* Prints what the answer lacks.  False: nothing was recorded, and it is known why. */
static bool is_recorded(int need, int status, const char *path, const char *command)
{
	const char *verb = needs[need].verb;

	if (!has(path, "ust") && !has(path, "kernel")) {
		if (!WIFEXITED(status) ||
		    WEXITSTATUS(status) != CMD_FAILED) /* else it printed why */
			cmd_error(verb, "%s ended before anything was recorded", command);
		return false;
	}
	if (needs[need].is_kernel && !has(path, "kernel")) {
		cmd_error(verb,
			  "the kernel was not recorded, and the answer needs it: run it as "
			  "root (duet record -- %s says more)",
			  command);
		return false;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status))
		cmd_error(verb, "%s: exit status %d", command, WEXITSTATUS(status));
	return true;
}

static int answer(int need, int (*run)(int, char **), int argc, char **argv, char **command)
{
	char directory[4096], path[4128], **more = calloc((size_t)argc + 2, sizeof *more);
	const char *tmp = getenv("TMPDIR");
	int status = CMD_FAILED;

	snprintf(directory, sizeof directory, "%s/duet-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp",
		 needs[need].verb);
	if (!more || !mkdtemp(directory)) {
		free(more);
		return cmd_error(needs[need].verb, "cannot make %s: %s (set TMPDIR)", directory,
				 strerror(errno));
	}
	snprintf(path, sizeof path, "%s/recording", directory);
	if (is_recorded(need, record(need, path, command), path, *command)) {
		memcpy(more, argv, (size_t)argc * sizeof *more);
		more[argc] = path;
		reader_trusts();
		status = run(argc + 1, more);
	}
	io_remove_tree(directory);
	free(more);
	return status;
}

int once_run(const char *verb, int (*run)(int argc, char **argv), int argc, char **argv)
{
	int at = find_command(argc, argv), need;

	if (!at)
		return run(argc, argv);
	need = find_need(verb, at - 1, argv);
	if (need < 0)
		return cmd_usage(verb, "what to ask about the command stands before \"--\"");
	if (cmd_check_command(verb, argv[at]))
		return CMD_FAILED;
	return answer(need, run, at - 1, argv, argv + at);
}
