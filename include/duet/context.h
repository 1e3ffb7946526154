/* SPDX-License-Identifier: MIT */
/*
 * duet/context.h - what an event is part of: 16 bytes per thread, such as the id of a request.
 *
 *	#include <duet/context.h>
 *
 *	duet_context_set(trace_id);		all events of this thread bear it from here on
 *	...
 *	duet_context_clear();
 *
 * They are recorded with each event, of whichever library, on channels that have the context
 *`slot`. Nothing has to be linked; without libduet these functions do nothing.  In C (C99 and
 *later) and C++ (C++11 and later).  Manual: duet_context(3).
 */
#ifndef DUET_CONTEXT_H
#define DUET_CONTEXT_H

#include <duet/site.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For a program without a site of its own. */
static __attribute__((constructor, unused)) void duet_i_context_constructor(void)
{
	duet_i_enter();
}

/* Whether libduet is there, and no older than these functions. */
static inline __attribute__((unused)) int duet_i_has_context(void)
{
	return duet_i_api && duet_i_api->size > offsetof(struct duet_i_api, context_refresh);
}

/*
 * duet_context_set - give the calling thread's events 16 bytes to bear.
 *
 * @bytes16: copied; shown as two hexadecimal numbers, the first byte first.  All zero: none.
 *
 * Of this thread alone: it is not passed on to threads it makes, but to a child of fork.  Any
 * thread; a signal handler, too, which then should put back what it replaced.  Keeps errno; some
 * nanoseconds. Since 0.1.
 */
static inline __attribute__((unused)) void duet_context_set(const void *bytes16)
{
	if (duet_i_has_context())
		duet_i_api->context_set(bytes16);
}

/* duet_context_clear - the calling thread's events bear nothing again.  As duet_context_set(). */
static inline __attribute__((unused)) void duet_context_clear(void)
{
	if (duet_i_has_context())
		duet_i_api->context_set(0);
}

/*
 * duet_context_refresh - ask anew for what is kept: names of threads, user and group, parent,
 * namespaces.
 *
 * These contexts are asked for once by each thread, and again after fork.  A program that changes
 * them (setuid, prctl(PR_SET_NAME), unshare, setns) calls this behind the change; it holds for all
 * threads, from the next event of each.  Any thread or signal handler; no system call.  Since 0.1.
 */
static inline __attribute__((unused)) void duet_context_refresh(void)
{
	if (duet_i_has_context())
		duet_i_api->context_refresh();
}

#ifdef __cplusplus
}
#endif

#endif
