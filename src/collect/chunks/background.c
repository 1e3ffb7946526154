/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/background.c - fork a child of low priority, with nothing open but its pipe.
 *
 * In the child the pipe is descriptor CONTROL, so that one close_range(2) closes all others.
 */
#include "collect/chunks/background.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTROL = 3 };

static void close_inherited(int control, int kept, bool is_silent)
{
	int nothing = is_silent ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

	for (int fd = 0; fd < CONTROL && nothing >= 0; fd++)
		dup2(nothing, fd);
	if (control != CONTROL && dup2(control, CONTROL) < 0)
		_exit(1);
	if (kept > CONTROL + 1)
		syscall(SYS_close_range, CONTROL + 1u, (unsigned)kept - 1, 0u);
	syscall(SYS_close_range, kept > CONTROL ? (unsigned)kept + 1 : CONTROL + 1u, ~0u, 0u);
}

static _Noreturn void become_background(const struct background_options *o, int control)
{
	close_inherited(control, o->kept, o->is_silent);
	setpriority(PRIO_PROCESS, 0, o->nice);
	prctl(PR_SET_NAME, "duet-tidy"); /* the name seen in ps; it differs from the parent's */
	o->run(o->arg, CONTROL);
	_exit(0);
}

int background_start(const struct background_options *o, pid_t *pid, int *control)
{
	int pipe[2], err = 0;

	assert(*pid == 0);
	*control = -1;
	if (pipe2(pipe, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (!*pid)
		become_background(o, pipe[0]);
	if (*pid < 0)
		err = -errno;
	close(pipe[0]);
	*control = pipe[1];
	if (!err)
		return 0;
	*pid = 0;
	background_end(pid, control);
	return err;
}

void background_end(pid_t *pid, int *control)
{
	if (*control >= 0)
		close(*control);
	while (*pid > 0 && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
	*control = -1;
}
