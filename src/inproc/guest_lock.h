/* SPDX-License-Identifier: MIT */
/*
 * inproc/guest_lock.h - a lock that blocks signals while it is held.
 *
 * A handler that forks or loads a library must not find the lock held by the code that it
 * interrupted.  Signals that the kernel raises for an instruction stay unblocked.
 */
#ifndef INPROC_GUEST_LOCK_H
#define INPROC_GUEST_LOCK_H

#include <pthread.h>
#include <signal.h>

struct signal_lock {
	pthread_mutex_t mutex;
	sigset_t mask_before; /* under the lock */
};
#define SIGNAL_LOCK_FREE                                                                           \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER                                                 \
	}

static inline void signal_lock_take(struct signal_lock *l)
{
	static const int synchronous[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	sigset_t block, before;

	sigfillset(&block);
	for (unsigned i = 0; i < sizeof synchronous / sizeof *synchronous; i++)
		sigdelset(&block, synchronous[i]);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	pthread_mutex_lock(&l->mutex);
	l->mask_before = before;
}

static inline void signal_lock_release(struct signal_lock *l)
{
	sigset_t before = l->mask_before;

	pthread_mutex_unlock(&l->mutex);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#endif
