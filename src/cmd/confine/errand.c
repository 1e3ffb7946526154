/* SPDX-License-Identifier: MIT */
/* cmd/confine/errand.c - the child that waits, and its answer: an errno as exit status. */
#include "cmd/confine/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/print/print.h"

static _Noreturn void run(int fd, const char *from, const char *to)
{
	/* Signals of the terminal are the verb's; this process ends with it. */
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	char byte;
	ssize_t n;
	int err = 0;

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	while ((n = read(fd, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n == 1 && (to ? rename(from, to) : unlink(from)))
		err = errno;
	_exit(err);
}

int errand_prepare(struct errand *e, const char *from, const char *to)
{
	int ends[2];

	*e = ERRAND_NONE;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	print_flush();
	e->pid = fork();
	if (!e->pid) {
		close(ends[1]);
		run(ends[0], from, to);
	}
	close(ends[0]);
	e->fd = ends[1];
	if (e->pid > 0)
		return 0;
	close(e->fd);
	*e = ERRAND_NONE;
	return -EAGAIN;
}

static int wait_for(struct errand *e)
{
	int status = 0;

	close(e->fd);
	while (waitpid(e->pid, &status, 0) < 0 && errno == EINTR)
		;
	*e = ERRAND_NONE;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int errand_run(struct errand *e)
{
	if (e->fd < 0)
		return 0;
	(void)!write(e->fd, "", 1);
	return wait_for(e);
}

void errand_drop(struct errand *e)
{
	if (e->fd >= 0)
		wait_for(e);
}
