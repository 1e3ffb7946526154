/* SPDX-License-Identifier: MIT */
/*
 * patch/attach/thread.c - one thread stopped by ptrace, and continued as if nothing had happened.
 *
 * PTRACE_SEIZE and PTRACE_INTERRUPT send no signal.  The kernel repeats most interrupted calls by
 * itself.  A few it ends with EINTR although no handler ran; thread_soften() makes those repeat
 * too, and blocked threads are stopped one after the other, so that it follows the stop within some 20 us.
 * If we are killed, the kernel lets every thread go: at each stop used here that is safe.
 * (A stop after a single step is not: the kernel would deliver its SIGTRAP.)
 */
#include "patch/attach/internal.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* The kernel's own errors of calls that it repeats; not in headers for programs. */
#define ERESTARTNOHAND 514

enum { SEIZED = 4096 };
static pid_t seized[SEIZED]; /* the last ones */
static unsigned n_seized;
static volatile sig_atomic_t is_seizing;

/* A wait for any child would take stops too, so each is looked at first. */
void thread_reap(int number)
{
	int saved = errno;

	(void)number;
	for (unsigned i = 0; is_seizing && i < SEIZED && i < n_seized; i++) {
		siginfo_t info = { 0 };
		id_t tid = (id_t)seized[i];

		if (!waitid(P_PID, tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) &&
		    info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			waitid(P_PID, tid, &info, WEXITED | WNOHANG | __WALL);
	}
	errno = saved;
}

int thread_seize(struct thread *h, pid_t tid)
{
	int err;

	*h = (struct thread){ .tid = tid };
	is_seizing = 1;
	err = ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) ? -errno : 0;
	is_seizing = 0;
	if (err)
		return err;
	seized[n_seized++ % SEIZED] = tid;
	thread_ask(h);
	return 0;
}

void thread_ask(struct thread *h)
{
	h->state = ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) ? THREAD_GONE : THREAD_ASKED;
}

/* A blocking wait could not end at a given time without a signal.  sched_yield() would: the
 * scheduler then lets busy threads run for milliseconds. */
static void pause_for(unsigned round)
{
	struct timespec t = { .tv_nsec = round < 20 ? 3000 : round < 200 ? 10000 : 200000 };

	nanosleep(&t, NULL);
}

bool thread_wait_status(struct thread *h, int *status, uint64_t until_ns)
{
	for (unsigned round = 0;; round++) {
		pid_t got = waitpid(h->tid, status, __WALL | WNOHANG);

		if (got == h->tid && WIFSTOPPED(*status))
			return true;
		if (got == h->tid || (got < 0 && errno != EINTR)) {
			h->state = THREAD_GONE;
			return false;
		}
		if (monotonic_ns() >= until_ns)
			return false;
		pause_for(round);
	}
}

bool thread_registers(const struct thread *h, struct user_regs_struct *r)
{
	return !ptrace(PTRACE_GETREGS, h->tid, 0, r);
}

/* signal(7): these report EINTR after a stop too. */
static bool reports_stops(uint64_t call)
{
	switch (call) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_write:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_connect:
		return true;
	default:
		return false;
	}
}

void thread_soften(const struct thread *h)
{
	struct user_regs_struct r;

	if (h->signal || !thread_registers(h, &r) || (int64_t)r.rax != -EINTR ||
	    !reports_stops(r.orig_rax))
		return;
	/* As the kernel marks a call that is repeated unless a handler runs. */
	ptrace(PTRACE_POKEUSER, h->tid, offsetof(struct user_regs_struct, rax),
	       (void *)-(intptr_t)ERESTARTNOHAND);
}

/* Stops without a signal: our request, and those of job control. */
static bool is_event(int status)
{
	return status >> 16;
}

bool thread_wait(struct thread *h, uint64_t until_ns)
{
	int status;

	if (h->state != THREAD_ASKED)
		return true;
	if (!thread_wait_status(h, &status, until_ns))
		return h->state == THREAD_GONE;
	h->state = THREAD_STOPPED;
	h->signal = is_event(status) ? 0 : WSTOPSIG(status);
	thread_soften(h); /* at once: we may be killed at any time */
	return true;
}

void thread_go(struct thread *h)
{
	if (h->state != THREAD_STOPPED)
		return;
	h->state = ptrace(PTRACE_CONT, h->tid, 0, h->signal) ? THREAD_GONE : THREAD_RUNS;
	h->signal = 0;
}

void thread_leave(struct thread *h)
{
	if (h->state == THREAD_STOPPED)
		ptrace(PTRACE_DETACH, h->tid, 0, h->signal);
	if (h->state == THREAD_STOPPED)
		h->state = THREAD_GONE;
}
