/* SPDX-License-Identifier: MIT */
/*
 * script/engine/target.c - the command of -c, held before its exec until the probes are in place,
 * and the process of -x, whose end ends the session.
 *
 * Two pipes: `go` releases the child; `report` returns the errno of a failed exec, and reports the
 * end of the file on success because it is close-on-exec.  A child whose parent dies before that
 * reads the end of the file too, and exits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "base/io.h"
#include "script/engine/internal.h"

/* A simple command runs directly, so that its pid is target(); any other by the shell. */
static _Noreturn void run_child(const char *command, int go, int report)
{
	wordexp_t words = { .we_wordc = 0 };
	sigset_t none;
	char byte;
	int e;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (!wordexp(command, &words, WRDE_NOCMD) && words.we_wordc)
		execvp(words.we_wordv[0], words.we_wordv);
	else
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	e = errno;
	(void)!write(report, &e, sizeof e);
	_exit(127);
}

static int fork_command(struct engine_target *t, const char *command, struct diag *d)
{
	int go[2] = { -1, -1 }, report[2] = { -1, -1 };

	if (pipe2(go, O_CLOEXEC))
		return diag_errno(d, "cannot make a pipe");
	if (pipe2(report, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return diag_errno(d, "cannot make a pipe");
	}
	t->pid = fork();
	if (!t->pid) {
		close(go[1]);
		close(report[0]);
		run_child(command, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	t->go = go[1];
	t->report = report[0];
	if (t->pid > 0) {
		t->is_command = true;
		return 0;
	}
	t->pid = 0;
	return diag_errno(d, "cannot fork");
}

int engine_target_open(struct engine_target *t, const char *command, pid_t pid, struct diag *d)
{
	*t = (struct engine_target){
		.pid = pid, .pidfd = -1, .go = -1, .report = -1, .status = -1
	};
	if (command) {
		int err = fork_command(t, command, d);

		if (err)
			return err;
	}
	if (!t->pid)
		return 0;
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd < 0 && errno == ESRCH)
		return diag_fail(d, -ESRCH, "process %d: there is no such process", (int)t->pid);
	return 0;
}

int engine_target_release(struct engine_target *t, const char *command, struct diag *d)
{
	int e = 0;
	ssize_t n;

	if (t->go < 0)
		return 0;
	if (write(t->go, "", 1) != 1)
		return diag_errno(d, "the command is gone before it began");
	close(t->go);
	t->go = -1;
	n = io_read(t->report, &e, sizeof e);
	close(t->report);
	t->report = -1;
	return n == (ssize_t)sizeof e ? diag_fail(d, -e, "cannot run %s: %s", command, strerror(e))
				      : 0;
}

bool engine_target_has_ended(struct engine_target *t)
{
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };

	if (!t->pid || t->ended)
		return t->ended;
	if (t->is_command)
		t->ended = waitpid(t->pid, &t->status, WNOHANG) == t->pid;
	else if (t->pidfd >= 0)
		t->ended = poll(&p, 1, 0) == 1;
	else
		t->ended = kill(t->pid, 0) && errno == ESRCH;
	return t->ended;
}

/* Closing `go` ends a child that still waits. */
void engine_target_close(struct engine_target *t)
{
	bool waits = t->go >= 0;

	if (t->go >= 0)
		close(t->go);
	if (t->report >= 0)
		close(t->report);
	if (t->is_command && !t->ended) {
		struct pollfd p = { .fd = t->pidfd, .events = POLLIN };

		if (!waits)
			kill(t->pid, SIGTERM);
		if (t->pidfd >= 0)
			poll(&p, 1, 1000);
		engine_target_has_ended(t);
	}
	if (t->pidfd >= 0)
		close(t->pidfd);
	t->go = t->report = t->pidfd = -1;
}
