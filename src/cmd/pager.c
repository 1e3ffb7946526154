/* SPDX-License-Identifier: MIT */
/* cmd/pager.c - fork the pager, with our standard output as its input. */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/print/print.h"

static struct {
	bool is_disabled;
	bool is_open; /* standard output is its input */
	pid_t pid;    /* 0: none */
	int input;    /* the end of its pipe, until it is open */
	int width;    /* of the terminal behind the pager */
} pager;

void pager_disable(void)
{
	pager.is_disabled = true;
}

bool terminal_is_shown_to(void)
{
	return pager.is_open || isatty(STDOUT_FILENO);
}

int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (pager.is_open)
		return pager.width;
	if (!isatty(STDOUT_FILENO))
		return 0;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return columns && atoi(columns) > 0 ? atoi(columns) : 0;
}

static bool is_in(const char *dir, size_t dir_size, const char *name, size_t size)
{
	char path[4096];

	return snprintf(path, sizeof path, "%.*s/%.*s", (int)dir_size, dir, (int)size, name) <
		       (int)sizeof path &&
	       !access(path, X_OK);
}

/* Whether the shell will find the command.  One that is more than a word and its arguments is taken
 * to be there. */
static bool is_there(const char *command)
{
	const char *dirs = getenv("PATH"), *end;
	size_t size = strcspn(command, " \t");

	if (strpbrk(command, "\"'$`\\|&;<>()=~*?[#\n"))
		return true;
	if (memchr(command, '/', size))
		return is_in("", 0, command, size) || is_in(".", 1, command, size);
	for (dirs = dirs ? dirs : "/usr/bin:/bin"; *dirs; dirs = *end ? end + 1 : end) {
		end = strchrnul(dirs, ':');
		if (is_in(dirs, (size_t)(end - dirs), command, size))
			return true;
	}
	return false;
}

/* NULL: none. */
static const char *choose(void)
{
	const char *name = "DUET_PAGER", *command = getenv(name);

	if (!command)
		command = getenv(name = "PAGER");
	if (!command)
		return is_there("less") ? "less" : NULL;
	if (!*command || !strcmp(command, "cat"))
		return NULL;
	if (is_there(command))
		return command;
	print_err("duet: %s=%s: no such command: without a pager (--no-pager)\n", name, command);
	return NULL;
}

/*
 * Waits for text, or for the end of the process that would write it: without text there is no page.
 * Ctrl-C stops that process, which then writes its result so far.
 */
static _Noreturn void run(const char *command, const int ends[2])
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	close(ends[1]);
	signal(SIGINT, SIG_IGN);
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	if (!(p.revents & POLLIN))
		_exit(0);
	signal(SIGINT, SIG_DFL);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	/* quit if it fits on one screen; keep colours; leave the text on the screen */
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void pager_prepare(void)
{
	const char *command;
	int ends[2];
	pid_t pid;

	if (pager.is_disabled || pager.pid || !isatty(STDOUT_FILENO))
		return;
	command = choose();
	if (!command || pipe2(ends, O_CLOEXEC)) {
		pager.is_disabled = true;
		return;
	}
	print_flush();
	pid = fork();
	if (!pid)
		run(command, ends);
	close(ends[0]);
	if (pid > 0) {
		pager.pid = pid;
		pager.input = ends[1];
	} else {
		close(ends[1]);
	}
}

void pager_open(void)
{
	pager_prepare();
	if (!pager.pid || pager.is_open)
		return;
	pager.width = terminal_width();
	print_flush();
	dup2(pager.input, STDOUT_FILENO);
	close(pager.input);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	pager.is_open = true;
}

void pager_close(void)
{
	int status = 0;

	if (!pager.is_open)
		return;
	print_close(); /* the pager was left early: no failure */
	while (waitpid(pager.pid, &status, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
	pager.is_open = false;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126))
		print_err("duet: the pager cannot be run: set DUET_PAGER or PAGER, or use "
			  "--no-pager\n");
}
