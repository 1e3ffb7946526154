/* SPDX-License-Identifier: MIT */
/*
 * cmd/repeat/series.c - the processes of a series: see series.h.
 *
 *   (1) `child` is a process that was not waited for yet, or 0; no signal comes between the test of
 *       `stopped_by` and the next child's number
 */
#include "cmd/repeat/series.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stopped_by; /* a signal */
static volatile sig_atomic_t child;	 /* 0: none */
static volatile sig_atomic_t is_cut;	 /* the signal came while a recording was made */

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)context;
	stopped_by = signal;
	is_cut = is_cut || child;
	/* SIGHUP to duet record alone would leave its command running. */
	if (info->si_code <= 0 && child > 0)
		kill((pid_t)child, signal == SIGHUP ? SIGTERM : signal);
}

static void catch_signals(bool is_caught)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_flags = is_caught ? SA_SIGINFO : 0 }, before;

	if (is_caught)
		action.sa_sigaction = on_signal;
	else
		action.sa_handler = SIG_DFL;
	for (int i = 0; i < 3; i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* (1) */
static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(how, &set, NULL);
}

void series_begin(void)
{
	catch_signals(true);
}

void series_end(void)
{
	catch_signals(false);
}

pid_t series_fork(int *err)
{
	pid_t pid = -1;

	*err = 0;
	fflush(NULL);
	block_signals(SIG_BLOCK);
	if (!stopped_by) {
		pid = fork();
		if (pid > 0)
			child = pid;
		else if (pid < 0)
			*err = errno;
		else
			catch_signals(false);
	}
	block_signals(SIG_UNBLOCK);
	return pid;
}

int series_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	child = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int series_stopped_by(void)
{
	return stopped_by;
}

bool series_is_cut(void)
{
	return is_cut;
}
