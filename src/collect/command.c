/* SPDX-License-Identifier: MIT */
/*
 * collect/command.c - fork the command, hold it before its exec, and release it when recording
 * runs.
 *
 * Two pipes: `go` releases the child; `report` returns the errno of a failed exec, and reports EOF
 * on success because it is close-on-exec.
 */
#include "collect/command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/control.h"
#include "base/io.h"

/*
 * The command belongs to our session in addition to those it already belongs to:
 * rules/membership.h. So recordings nest, and a permanent one misses nothing.  If there are too
 * many, the outermost are dropped.
 */
static void set_sessions(const char *session)
{
	const char *outer = getenv("DUET_SESSION");
	char list[ABI_NAME_BYTES];

	outer = outer ? outer : "";
	while (*outer && strlen(outer) + 1 + strlen(session) >= sizeof list)
		outer = strchrnul(outer + 1, '+');
	snprintf(list, sizeof list, "%s+%s", outer, session);
	setenv("DUET_SESSION", list, 1);
}

static void set_environment(const struct command_options *o)
{
	const char *preload = getenv("LD_PRELOAD");
	char *list;

	set_sessions(o->session);
	if (o->library)
		setenv("DUET_LIBRARY", o->library, 1);
	if (!o->preload)
		return;
	if (asprintf(&list, "%s%s%s", o->preload, preload && *preload ? ":" : "",
		     preload ? preload : "") < 0)
		_exit(127);
	setenv("LD_PRELOAD", list, 1);
	free(list);
}

static _Noreturn void run_child(const struct command_options *o, int wait_fd, int report_fd)
{
	char go;
	int e;

	if (read(wait_fd, &go, 1) != 1)
		_exit(127); /* abandoned */
	set_environment(o);
	setrlimit(RLIMIT_NOFILE, o->files);
	sigaction(SIGXFSZ, o->file_size, NULL);
	sigprocmask(SIG_SETMASK, o->mask, NULL);
	umask(o->umask);
	execvp(o->argv[0], o->argv);
	e = errno;
	(void)!write(report_fd, &e, sizeof e);
	_exit(127);
}

int command_prepare(struct command *c, const struct command_options *o, struct diag *d)
{
	int go[2] = { -1, -1 }, report[2] = { -1, -1 };

	*c = (struct command){ .pid = -1, .go = -1, .report = -1 };
	if (pipe2(go, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
		return diag_errno(d, "cannot make a pipe");
	c->pid = fork();
	if (c->pid < 0)
		return diag_errno(d, "cannot fork");
	if (!c->pid) {
		close(go[1]);
		close(report[0]);
		run_child(o, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	c->go = go[1];
	c->report = report[0];
	return 0;
}

int command_release(struct command *c, struct diag *d)
{
	int e = 0;
	ssize_t n;

	assert(c->go >= 0);
	if (write(c->go, "", 1) != 1)
		return diag_errno(d, "the command is gone before it began");
	close(c->go);
	c->go = -1;
	n = io_read(c->report, &e, sizeof e); /* EOF after a successful exec */
	close(c->report);
	c->report = -1;
	if (n != (ssize_t)sizeof e)
		return 0;
	return diag_fail(d, -e, "cannot run the command: %s", strerror(e));
}

bool command_has_ended(struct command *c)
{
	if (c->pid > 0 && !c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

void command_abandon(struct command *c)
{
	if (c->pid <= 0)
		return;
	if (c->go >= 0) {
		close(c->go);
		close(c->report);
		waitpid(c->pid, NULL, 0);
	}
	c->go = c->report = -1;
}
