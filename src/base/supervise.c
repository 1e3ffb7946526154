/* SPDX-License-Identifier: MIT */
/* base/supervise.c - see supervise.h. */
#include "base/supervise.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* So many lives within such a time are no accident. */
enum { LIVES_MAX = 50, FORK_AGAIN_US = 100000 };
#define LIVES_WITHIN_NS 1000000000ull

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void become_worker(pid_t supervisor)
{
	prctl(PR_SET_PDEATHSIG, SIGCHLD);
	if (getppid() != supervisor)
		raise(SIGCHLD); /* it died before we asked: blocked, read later */
}

bool supervise_supervisor_is_gone(const struct supervision *l)
{
	return l->supervisor && getppid() != l->supervisor;
}

/* Waits for a signal; passes on what means us.  A worker may die before it hears of it: the next
 * one knows. */
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

/* How the worker ended, as waitpid gives it. */
static int keep(struct supervision *l, pid_t worker)
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
	uint64_t times_ns[LIVES_MAX] = { 0 }, now_ns;
	pid_t supervisor = getpid(), worker;
	int status;

	l->supervisor = supervisor;
	for (uint32_t life = 0;; life++) {
		now_ns = now();
		if (life >= LIVES_MAX && now_ns - times_ns[life % LIVES_MAX] < LIVES_WITHIN_NS)
			exit_as(status);
		times_ns[life % LIVES_MAX] = now_ns;
		l->n++;
		/* What we hold must not be lost for want of a process: later there will be one. */
		while ((worker = fork()) < 0 && life)
			usleep(FORK_AGAIN_US);
		if (worker < 0)
			return diag_errno(d, "cannot fork");
		if (!worker) {
			become_worker(supervisor);
			return (int)l->n;
		}
		status = keep(l, worker);
		if (!WIFSIGNALED(status))
			exit_as(status);
	}
}
