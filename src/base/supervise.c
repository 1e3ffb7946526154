/* SPDX-License-Identifier: MIT */
/*
 * base/supervise.c - fork a worker, wait for it, and fork another one when it was killed.
 *
 * The supervisor blocks all signals and receives them with sigwaitinfo, so that none is lost
 * between two workers.
 */
#include "base/supervise.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"

/* If this many workers die within this time, give up: the cause is not accidental. */
enum { WORKERS_MAX = 50, FORK_AGAIN_US = 100000 };
#define WORKERS_WITHIN_NS 1000000000ull

static void become_worker(pid_t supervisor)
{
	prctl(PR_SET_PDEATHSIG, SIGCHLD);
	if (getppid() != supervisor)
		raise(SIGCHLD); /* it died before prctl: blocked here, read later */
}

bool supervise_supervisor_is_gone(const struct supervision *l)
{
	return l->supervisor && getppid() != l->supervisor;
}

/*
 * Waits for a signal and forwards it.  A worker may die before it reads one; is_stopping then
 * informs its successor.
 */
static void wait_for_signal(struct supervision *l, pid_t worker)
{
	sigset_t mask;
	int s;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGUSR2);
	s = sigwaitinfo(&mask, NULL);
	if (s == SIGUSR1 || s == SIGUSR2)
		kill(worker, s);
	if (s <= 0 || s == SIGCHLD || s == SIGUSR1 || s == SIGUSR2)
		return;
	l->is_stopping = true;
	kill(worker, SIGTERM);
}

/* Waits for the worker to end; returns its status as waitpid does. */
static int wait_for_worker(struct supervision *l, pid_t worker)
{
	int status;

	while (waitpid(worker, &status, WNOHANG) != worker)
		wait_for_signal(l, worker);
	return status;
}

static _Noreturn void exit_as(int status)
{
	sigset_t none;

	if (WIFSIGNALED(status)) {
		sigemptyset(&none);
		signal(WTERMSIG(status), SIG_DFL);
		sigprocmask(SIG_SETMASK, &none, NULL);
		raise(WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

int supervise_start(struct supervision *l, struct diag *d)
{
	uint64_t times_ns[WORKERS_MAX] = { 0 }, now_ns;
	pid_t supervisor = getpid(), worker;
	int status;

	l->supervisor = supervisor;
	for (uint32_t worker_number = 0;; worker_number++) {
		now_ns = monotonic_ns();
		if (worker_number >= WORKERS_MAX &&
		    now_ns - times_ns[worker_number % WORKERS_MAX] < WORKERS_WITHIN_NS)
			exit_as(status);
		times_ns[worker_number % WORKERS_MAX] = now_ns;
		l->n++;
		/* The state that we hold must not be lost for lack of a process: retry. */
		while ((worker = fork()) < 0 && worker_number)
			usleep(FORK_AGAIN_US);
		if (worker < 0)
			return diag_errno(d, "cannot fork");
		if (!worker) {
			become_worker(supervisor);
			return (int)l->n;
		}
		status = wait_for_worker(l, worker);
		if (!WIFSIGNALED(status))
			exit_as(status);
	}
}
