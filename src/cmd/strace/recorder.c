/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/recorder.c - runs the recorder of `duet strace` in a child process.
 *
 * The child reports through a pipe that recording has begun.  The parent's death is noticed by
 * PR_SET_PDEATHSIG, and by getppid() for the time before that call.
 */
#include "cmd/strace/recorder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/record/recording.h"
#include "kernel/kernel.h"

static void remove_recording(const struct strace_record *r)
{
	if (!r->keep && *r->path)
		io_remove_tree(r->path);
}

/* ---------------------------------------------------------------- the recorder's process */

struct ready {
	pid_t program;
	int ready_pipe; /* write end of a pipe */
};

/* Sends the process id of the command. */
static int report_ready(void *arg, struct diag *d)
{
	const struct ready *ready = arg;

	if (io_write(ready->ready_pipe, &ready->program, sizeof ready->program))
		return diag_fail(d, -EPIPE, "the process that prints the recording has exited");
	close(ready->ready_pipe);
	return 0;
}

/* The recorder reads its signals from a descriptor.  This handler is for a signal that arrives
 * after that is closed. */
static void ignore_signal(int signal)
{
	(void)signal;
}

static void set_variable(const char *text)
{
	const char *equals = strchr(text, '=');
	char *name = strndup(text, equals ? (size_t)(equals - text) : strlen(text));

	if (name && equals)
		setenv(name, equals + 1, 1);
	else if (name)
		unsetenv(name);
	free(name);
}

static _Noreturn void run_recorder(const struct strace_record *r, int ready_pipe, pid_t parent)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct ready ready = { .program = -1, .ready_pipe = ready_pipe };
	struct recording a;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* A handler, not SIG_IGN: exec resets handlers, so the command gets the defaults. */
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &(struct sigaction){ .sa_handler = ignore_signal }, NULL);
	for (int i = 0; i < r->environment.n; i++)
		set_variable(r->environment.at[i]);
	recording_begin(&a, "strace");
	snprintf(a.session, sizeof a.session, "strace-%d", (int)getpid());
	a.quiet = true;
	a.o.path = r->path;
	a.o.wants_kernel = true;
	a.o.kernel.backend = r->backend;
	a.o.kernel.capture_bytes = r->capture_bytes;
	a.o.no_default_events = true; /* no events of applications */
	a.o.command = r->command;
	a.o.kernel.buffer_kib = (uint32_t)(r->kernel_buffer >> 10);
	a.pids = r->pids;
	for (int i = 0; i < r->patterns.n; i++) {
		cmd_add_string(&a.kernel_events, r->patterns.at[i]);
		cmd_add_string(&a.kernel_filters, NULL);
	}
	a.o.on_ready = report_ready;
	a.o.on_ready_arg = &ready;
	a.o.command_pid = &ready.program;
	status = getppid() == parent && !recording_resolve(&a) ? recording_run(&a) : CMD_FAILED;
	fflush(NULL);
	if (getppid() != parent)
		remove_recording(r);
	_exit(status);
}

/* ---------------------------------------------------------------- ours */

static int make_directory(struct strace_record *r)
{
	const char *tmp = getenv("TMPDIR");

	if (r->keep) {
		if (snprintf(r->path, sizeof r->path, "%s", r->keep) >= (int)sizeof r->path)
			return cmd_error("strace", "--keep: the path is too long");
		return 0;
	}
	if (snprintf(r->path, sizeof r->path, "%s/duet-strace-XXXXXX", tmp && *tmp ? tmp : "/tmp") <
		    (int)sizeof r->path &&
	    mkdtemp(r->path))
		return 0;
	cmd_error("strace", "cannot make a directory in %s: %s: set TMPDIR",
		  tmp && *tmp ? tmp : "/tmp", strerror(errno));
	*r->path = 0;
	return CMD_FAILED;
}

static void reap(struct strace_record *r, int options)
{
	int status;

	if (r->has_ended || waitpid(r->recorder, &status, options) != r->recorder)
		return;
	r->has_ended = true;
	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool strace_record_backend(struct strace_record *r, const char *name)
{
	return recording_backend("strace", name, &r->backend);
}

int strace_record_start(struct strace_record *r)
{
	pid_t parent = getpid();
	int ready_pipe[2];

	assert(!r->recorder);
	if (make_directory(r))
		return CMD_FAILED;
	if (pipe2(ready_pipe, O_CLOEXEC)) {
		remove_recording(r);
		return cmd_error("strace", "cannot make a pipe: %s", strerror(errno));
	}
	fflush(NULL);
	r->recorder = fork();
	if (!r->recorder) {
		close(ready_pipe[0]);
		run_recorder(r, ready_pipe[1], parent);
	}
	close(ready_pipe[1]);
	if (r->recorder < 0) {
		cmd_error("strace", "cannot fork: %s", strerror(errno));
	} else if (io_read(ready_pipe[0], &r->program, sizeof r->program) ==
		   (ssize_t)sizeof r->program) {
		close(ready_pipe[0]);
		return 0;
	} else {
		reap(r, 0);
	}
	close(ready_pipe[0]);
	remove_recording(r);
	return r->has_ended && r->status ? r->status : CMD_FAILED;
}

void strace_record_interrupt(struct strace_record *r, int n)
{
	/* A terminal sends the first Ctrl-C to the command too: the command decides. */
	if (!r->has_ended && (!n || n > 1 || !r->command))
		kill(r->recorder, SIGTERM);
}

int strace_record_end(struct strace_record *r, bool at_once)
{
	int status;

	reap(r, WNOHANG);
	if (at_once && !r->has_ended) {
		/* When the recorder ends, the command becomes our child, and we can wait for it. */
		if (r->command)
			prctl(PR_SET_CHILD_SUBREAPER, 1);
		kill(r->recorder, SIGTERM);
	}
	reap(r, 0);
	if (at_once && r->command && waitpid(r->program, &status, 0) == r->program)
		r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	remove_recording(r);
	return r->status;
}
