/* SPDX-License-Identifier: MIT */
/*
 * duet/sandbox.h - record in a program that forbids itself system calls or the clock.
 *
 *	#include <duet/sandbox.h>
 *
 *	duet_prepare(DUET_WITHOUT_CLOCK);
 *	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
 *
 * An event makes no system call, but the first event of a session does, and the kernel's strict
 * mode forbids reading the time stamp counter as well.  duet_prepare() does all that while it is
 * allowed.
 *
 * C99 and later, C++11 and later.  The program links with nothing.  Manual: duet(3).
 */
#ifndef DUET_SANDBOX_H
#define DUET_SANDBOX_H

#include <errno.h>

#include <duet/site.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For duet_prepare: events carry the kernel's coarse time, up to a tick (1 to 10 ms) late, and are
 * written without the time stamp counter.  Their order within a thread is kept. */
#define DUET_WITHOUT_CLOCK 1u

/*
 * duet_prepare - attach the sessions that may record this program; no system call follows.
 *
 * @flags: 0 or DUET_WITHOUT_CLOCK, which holds for all threads until the process ends.
 *
 * After it libduet makes no system call in this process, whatever is enabled or disabled from
 * outside.  Events of sessions that begin later, of filters that are set later and of children of
 * fork are counted as lost until the function is called again.  Contexts are those that this thread
 * has now.  A writer does not wait for room, whatever its channel says.
 *
 * Returns the number of sessions attached, 0 if there is none; -ENOSYS without libduet; -ENODEV if
 * libduet is dormant in this process; -EAGAIN if a session did not answer within 250 ms; -ENOTSUP if
 * reading the coarse clock is a system call here; -EINVAL for unknown flags.  After -EAGAIN the
 * other sessions are attached.
 *
 * Any thread; it locks; not from a signal handler, and not inside the sandbox.  Since 0.1.
 */
static inline __attribute__((unused)) int duet_prepare(unsigned flags)
{
	if (!duet_i_api || duet_i_api->size <= offsetof(struct duet_i_api, prepare))
		return -ENOSYS;
	return duet_i_api->prepare(flags);
}

#ifdef __cplusplus
}
#endif

#endif
