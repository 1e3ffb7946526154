/* SPDX-License-Identifier: MIT */
/* ui/child/child.c - a process with pipes, waited for by poll(2) on them and on its pidfd. */
#include "ui/child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"
#include "ui/child/launcher.h"

enum { TICK_MS = 50, MOST_BYTES = 16 << 20, PIPES = 3 };

struct child {
	const struct ui_child_options *o;
	struct ui_child_result *r;
	pid_t pid;
	int pidfd;
	int in;		     /* its standard input */
	int pipes[PIPES][2]; /* of its output, errors, extra: read end, write end */
	int n_pipes;
	uint64_t began_ns, gentle_ns; /* gentle: when it got SIGTERM; 0: not yet */
};

/* ---------------------------------------------------------------- begin */

static int open_input(struct child *c)
{
	const char *input = c->o->input;

	c->in = input ? memfd_create("input", MFD_CLOEXEC)
		      : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (c->in < 0)
		return -errno;
	if (input && (io_write(c->in, input, strlen(input)) || lseek(c->in, 0, SEEK_SET)))
		return -EIO;
	return 0;
}

static int open_files(struct child *c)
{
	int err = open_input(c);

	for (int i = 0; i < c->n_pipes && !err; i++)
		if (pipe2(c->pipes[i], O_CLOEXEC) ||
		    fcntl(c->pipes[i][0], F_SETFL, O_RDONLY | O_NONBLOCK))
			err = -errno;
	return err;
}

static int spawn(struct child *c)
{
	const int files[] = { c->in, c->pipes[0][1], c->pipes[1][1], c->pipes[2][1] };

	c->pid = launcher_spawn(c->o->argv, files, c->o->has_extra ? 4 : 3, &c->pidfd);
	return c->pid < 0 ? (int)c->pid : 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---------------------------------------------------------------- while it runs */

/* Returns false at the end of the pipe. */
static bool read_some(struct child *c, int i)
{
	struct text *t = i == 0 ? &c->r->out : i == 1 ? &c->r->errors : &c->r->extra;
	size_t most = c->o->most_bytes ? c->o->most_bytes : MOST_BYTES;
	char bytes[16384];
	ssize_t n;

	while ((n = read(c->pipes[i][0], bytes, sizeof bytes)) > 0) {
		size_t room = most - t->size;

		text_add(t, bytes, (size_t)n < room ? (size_t)n : room);
		if ((size_t)n > room || t->failed) {
			c->r->end = UI_CHILD_TOO_MUCH;
			return c->o->grace_ns; /* further output is dropped */
		}
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Whether it has to be killed now. */
static bool is_over(struct child *c)
{
	uint64_t now = monotonic_ns();

	if (c->o->is_cancelled && __atomic_load_n(c->o->is_cancelled, __ATOMIC_RELAXED))
		c->r->end = UI_CHILD_CANCELLED;
	else if (c->o->timeout_ns && !c->gentle_ns && now - c->began_ns > c->o->timeout_ns)
		c->r->end = UI_CHILD_TOO_LONG;
	if (c->r->end == UI_CHILD_EXITED)
		return false;
	if (!c->o->grace_ns || c->r->end == UI_CHILD_CANCELLED)
		return true;
	if (!c->gentle_ns) {
		c->gentle_ns = now;
		launcher_signal(c->pid, SIGTERM);
	}
	return now - c->gentle_ns > c->o->grace_ns;
}

/* Until it has exited; its own children in the background may keep the pipes open. */
static void attend(struct child *c)
{
	struct pollfd fds[PIPES + 1] = { { c->pipes[0][0], POLLIN, 0 },
					 { c->pipes[1][0], POLLIN, 0 },
					 { c->pipes[2][0], POLLIN, 0 },
					 { c->pidfd, POLLIN, 0 } };

	while (!is_over(c) && !fds[PIPES].revents) {
		poll(fds, PIPES + 1, TICK_MS);
		for (int i = 0; i < c->n_pipes; i++)
			if (fds[i].revents && !read_some(c, i))
				fds[i].fd = -1;
	}
	if (fds[PIPES].revents)
		for (int i = 0; i < c->n_pipes; i++)
			read_some(c, i);
}

static void wait_for(struct child *c)
{
	int status;

	if (c->r->end != UI_CHILD_EXITED)
		launcher_signal(c->pid, SIGKILL);
	status = launcher_wait(c->pid);
	c->r->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	if (c->r->end == UI_CHILD_EXITED && !WIFEXITED(status))
		c->r->end = UI_CHILD_KILLED;
}

static int run(struct child *c)
{
	int err = open_files(c);

	if (!err)
		err = spawn(c);
	if (err)
		return err;
	for (int i = 0; i < c->n_pipes; i++)
		close_one(&c->pipes[i][1]);
	c->began_ns = monotonic_ns();
	if (c->pidfd < 0) {
		err = -EMFILE;
		c->r->end = UI_CHILD_KILLED;
	} else {
		attend(c);
	}
	wait_for(c);
	return err;
}

int ui_child_run(const struct ui_child_options *o, struct ui_child_result *r, struct diag *d)
{
	struct child c = { .o = o,
			   .r = r,
			   .pidfd = -1,
			   .in = -1,
			   .pipes = { { -1, -1 }, { -1, -1 }, { -1, -1 } },
			   .n_pipes = o->has_extra ? 3 : 2 };
	int err;

	*r = (struct ui_child_result){ .status = -1 };
	err = run(&c);
	close_one(&c.in);
	close_one(&c.pidfd);
	for (int i = 0; i < 2 * PIPES; i++)
		close_one(&c.pipes[i / 2][i % 2]);
	return err ? diag_fail(d, err, "cannot run %s: %s", o->argv[0], strerror(-err)) : 0;
}

void ui_child_result_fini(struct ui_child_result *r)
{
	text_fini(&r->out);
	text_fini(&r->errors);
	text_fini(&r->extra);
}
