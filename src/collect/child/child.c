/* SPDX-License-Identifier: MIT */
/*
 * collect/child/child.c - starts and ends a recorder in a child process.
 *
 * The child reports through a pipe: the process id of the command when recording has begun, or else
 * a text.  The parent's death is noticed by PR_SET_PDEATHSIG, and by getppid() for the time before
 * that call.
 */
#include "collect/child/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/io.h"

enum { FAILED = 1, CHUNK_BYTES = 16 << 20 };
static const pid_t NOT_READY = -2; /* a text follows */

static void remove_recording(const struct recorder_child *c)
{
	if (!c->keep && *c->path)
		io_remove_tree(c->path);
}

/* ---------------------------------------------------------------- the recorder's process */

int recorder_child_report(void *arg, struct diag *d)
{
	struct recorder_child_ready *ready = arg;
	int err = io_write(ready->pipe, &ready->program, sizeof ready->program);

	/* The waiting process ends before this point only by a signal, such as an early Ctrl-C. */
	if (err)
		return diag_fail(d, err, "a signal ended it before it recorded anything");
	close(ready->pipe);
	ready->pipe = -1;
	return 0;
}

static volatile sig_atomic_t ends_early;

void recorder_end_early(int signal)
{
	(void)signal;
	ends_early = 1;
}

bool recorder_ends_early(void)
{
	return ends_early;
}

/* The recorder reads its signals from a descriptor.  This handler is for a signal that arrives
 * before that is open or after it is closed; SIGTERM has another, because it may be our parent's
 * death. */
static void ignore_signal(int signal)
{
	(void)signal;
}

static void report_failure(struct recorder_child_ready *ready, const struct diag *d)
{
	if (ready->pipe < 0 || !*d->text)
		return;
	if (!io_write(ready->pipe, &NOT_READY, sizeof NOT_READY))
		io_write(ready->pipe, d->text, strlen(d->text));
}

/* @mask: of signals, as it was before hold_signals(). */
static _Noreturn void run_recorder(const struct recorder_child *c, recorder_child_run *run,
				   void *arg, int pipe, pid_t parent, const sigset_t *mask)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGPIPE };
	struct recorder_child_ready ready = { .program = -1, .pipe = pipe };
	struct diag d = { "" };
	int status = FAILED;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* A handler, not SIG_IGN: exec resets handlers, so the command gets the defaults. */
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &(struct sigaction){ .sa_handler = ignore_signal }, NULL);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = recorder_end_early }, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (getppid() == parent)
		status = run(arg, c->path, &ready, &d);
	report_failure(&ready, &d);
	fflush(NULL);
	if (getppid() != parent)
		remove_recording(c);
	_exit(status);
}

/* ---------------------------------------------------------------- ours */

static const char *temporary_directory(const struct recorder_child *c)
{
	const char *tmp = c->within ? c->within : getenv("TMPDIR");

	if (tmp && *tmp)
		return tmp;
	return c->is_passing && !access("/dev/shm", W_OK) ? "/dev/shm" : "/tmp";
}

static int make_directory(struct recorder_child *c, struct diag *d)
{
	const char *tmp = temporary_directory(c);

	if (c->keep) {
		if (snprintf(c->path, sizeof c->path, "%s", c->keep) >= (int)sizeof c->path)
			return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", c->keep);
		return 0;
	}
	if (snprintf(c->path, sizeof c->path, "%s/duet-%s-XXXXXX", tmp, c->verb) <
		    (int)sizeof c->path &&
	    mkdtemp(c->path))
		return 0;
	*c->path = 0;
	return diag_errno(d, "cannot make a directory in %s (set TMPDIR)", tmp);
}

static void reap(struct recorder_child *c, int options)
{
	int status;

	if (c->has_ended || waitpid(c->recorder, &status, options) != c->recorder)
		return;
	c->has_ended = true;
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* 0: it records; else -errno, with the child's reason. */
static int wait_ready(struct recorder_child *c, int pipe, struct diag *d)
{
	ssize_t n = io_read(pipe, &c->program, sizeof c->program);

	if (n == (ssize_t)sizeof c->program && c->program != NOT_READY)
		return 0;
	if (n == (ssize_t)sizeof c->program && d) {
		n = io_read(pipe, d->text, sizeof d->text - 1);
		d->text[n > 0 ? n : 0] = 0;
	}
	c->program = -1;
	reap(c, 0);
	return -ECHILD;
}

static int share_n_read(struct recorder_child *c, struct diag *d)
{
	c->n_read = mmap(NULL, sizeof *c->n_read, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->n_read != MAP_FAILED)
		return 0;
	c->n_read = NULL;
	return diag_errno(d, "no memory for the recorder");
}

static void forget_n_read(struct recorder_child *c)
{
	if (c->n_read)
		munmap(c->n_read, sizeof *c->n_read);
	c->n_read = NULL;
}

/* From the directory's begin until the recorder has its handlers no signal ends us: nobody would remove
 * the directory.  A signal that arrives meanwhile ends us afterwards, and the recorder removes it. */
static void hold_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, before);
}

/* Makes the directory, and the recorder's process, which reports on @pipe. */
static int fork_recorder(struct recorder_child *c, recorder_child_run *run, void *arg,
			 const sigset_t *mask, int *pipe, struct diag *d)
{
	int err = make_directory(c, d), ends[2];
	pid_t parent = getpid();

	if (err)
		return err;
	if (pipe2(ends, O_CLOEXEC))
		return diag_errno(d, "cannot make a pipe");
	fflush(NULL);
	c->recorder = fork();
	if (!c->recorder) {
		close(ends[0]);
		run_recorder(c, run, arg, ends[1], parent, mask);
	}
	err = c->recorder < 0 ? diag_errno(d, "cannot fork") : 0;
	close(ends[1]);
	*pipe = ends[0];
	return err;
}

int recorder_child_start(struct recorder_child *c, recorder_child_run *run, void *arg,
			 struct diag *d)
{
	int err = c->is_passing ? share_n_read(c, d) : 0, pipe = -1;
	sigset_t before;

	assert(!c->recorder && c->verb && !(c->is_passing && c->keep));
	if (err)
		return err;
	hold_signals(&before);
	err = fork_recorder(c, run, arg, &before, &pipe, d);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!err)
		err = wait_ready(c, pipe, d);
	if (pipe >= 0)
		close(pipe);
	if (err) {
		remove_recording(c);
		forget_n_read(c);
	}
	return err;
}

void recorder_child_pass(const struct recorder_child *c, struct trace_chunks_options *o)
{
	o->rotate = true;
	o->rotate_bytes = CHUNK_BYTES;
	o->remove_all = true;
	o->n_arrived = c->n_read;
}

void recorder_child_was_read(struct recorder_child *c, uint32_t n)
{
	if (c->n_read && n > *c->n_read)
		store_release(c->n_read, n);
}

void recorder_child_interrupt(struct recorder_child *c, int n)
{
	/* A terminal sends the first Ctrl-C to the command too: the command decides. */
	if (!c->has_ended && (!n || n > 1 || !c->has_command))
		kill(c->recorder, SIGTERM);
}

int recorder_child_end(struct recorder_child *c, bool at_once)
{
	int status;

	reap(c, WNOHANG);
	if (at_once && !c->has_ended) {
		/* When the recorder ends, the command becomes our child, and we can wait for it. */
		if (c->has_command)
			prctl(PR_SET_CHILD_SUBREAPER, 1);
		kill(c->recorder, SIGTERM);
	}
	reap(c, 0);
	if (at_once && c->has_command && waitpid(c->program, &status, 0) == c->program)
		c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	remove_recording(c);
	forget_n_read(c);
	return c->status;
}
