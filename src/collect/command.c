/* SPDX-License-Identifier: MIT */
/*
 * collect/command.c - fork the command, hold it before its exec, and release it when recording
 * runs.
 *
 * Two pipes: `go` releases the child; `report` returns a byte when the child waits, and then the
 * errno of a failed exec, or EOF on success because it is close-on-exec.
 */
#include "collect/command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/control.h"
#include "base/io.h"

enum { SLEEP_TRIES = 1000, SLEEP_TRY_US = 50 };

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

	if (o->session)
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

/* The file that execvp() will run, as far as a look at it shows; NULL: it is left to execvp(). */
static char *find_file(const char *name)
{
	const char *path = getenv("PATH"), *end;
	struct stat st;
	char *file;

	if (!path || !*name || strchr(name, '/'))
		return NULL;
	for (;; path = end + 1) {
		end = strchrnul(path, ':');
		if (asprintf(&file, "%.*s%s%s", (int)(end - path), path, end > path ? "/" : "",
			     name) < 0)
			return NULL;
		if (!access(file, X_OK) && !stat(file, &st) && S_ISREG(st.st_mode))
			return file;
		free(file);
		if (!*end)
			return NULL;
	}
}

/* All preparations precede the wait: nothing is recorded yet, so the first system call in the
 * recording is the command's own, execve. */
static _Noreturn void run_child(const struct command_options *o, int wait_fd, int report_fd)
{
	char *file, go;
	int e;

	set_environment(o);
	setrlimit(RLIMIT_NOFILE, o->files);
	sigaction(SIGXFSZ, o->file_size, NULL);
	sigaction(SIGPIPE, o->pipe, NULL);
	umask(o->umask);
	file = find_file(o->argv[0]);
	sigprocmask(SIG_SETMASK, o->mask, NULL);
	if (write(report_fd, "", 1) != 1 || read(wait_fd, &go, 1) != 1)
		_exit(127); /* abandoned */
	if (file)
		execv(file, o->argv);
	execvp(o->argv[0], o->argv); /* a script without #!, or a file that was changed meanwhile */
	e = errno;
	(void)!write(report_fd, &e, sizeof e);
	_exit(127);
}

/*
 * After its byte the child has but to fall asleep in read(): until then it would be recorded.  On a
 * machine under load that may take long, so it is not waited for without end.
 */
static void wait_until_asleep(pid_t pid)
{
	char path[32], text[256], *name_end;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	for (int i = 0; i < SLEEP_TRIES; i++) {
		if (io_read_file(path, text, sizeof text) <= 0)
			return;
		name_end = strrchr(text, ')');
		if (!name_end || name_end[1] != ' ' || name_end[2] != 'R')
			return;
		usleep(SLEEP_TRY_US);
	}
}

int command_prepare(struct command *c, const struct command_options *o, struct diag *d)
{
	int go[2] = { -1, -1 }, report[2] = { -1, -1 };
	char ready;

	*c = (struct command){ .pid = -1, .go = -1, .report = -1 };
	/* A socket: if a signal ends the child first, send() does not raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) || pipe2(report, O_CLOEXEC))
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
	if (io_read(c->report, &ready, 1) ==
	    1) /* else it has ended: command_release() reports that */
		wait_until_asleep(c->pid);
	return 0;
}

int command_release(struct command *c, struct diag *d)
{
	int e = 0;
	ssize_t n;

	assert(c->go >= 0);
	if (send(c->go, "", 1, MSG_NOSIGNAL) != 1 && errno != EPIPE && errno != ECONNRESET)
		return diag_errno(d, "cannot let the command begin");
	close(c->go); /* a signal ended it if the other end is closed: as if just after exec */
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
