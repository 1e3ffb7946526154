/* SPDX-License-Identifier: MIT */
/*
 * duet/context.h - attach 16 bytes, such as the id of a request, to a thread's events.
 *
 *	#include <duet/context.h>
 *
 *	duet_context_set(trace_id);		from here on all events of this thread carry it
 *	...
 *	duet_context_clear();
 *
 * The bytes are recorded with each event of any library, on channels that have the context `slot`.
 * The program links with nothing.  Without libduet these functions do nothing.
 *
 * C99 and later, C++11 and later.  Manual: duet_context(3).
 */
#ifndef DUET_CONTEXT_H
#define DUET_CONTEXT_H

#include <duet/site.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers a program that has no site of its own. */
static __attribute__((constructor, unused)) void duet_i_context_constructor(void)
{
	duet_i_enter();
}

/* Whether libduet is present and new enough to have these functions. */
static inline __attribute__((unused)) int duet_i_has_context(void)
{
	return duet_i_api && duet_i_api->size > offsetof(struct duet_i_api, context_refresh);
}

/*
 * duet_context_set - set the 16 bytes that the calling thread's events carry.
 *
 * @bytes16: 16 bytes, copied.  They are shown as two hexadecimal numbers, the first byte first.  If
 * all are zero, events carry nothing.
 *
 * The value belongs to this thread.  New threads do not inherit it; the child of fork does.  Any
 * thread or signal handler; a handler should restore the value that it replaced.  Keeps errno,
 * makes no system call, takes some nanoseconds.  Since 0.1.
 */
static inline __attribute__((unused)) void duet_context_set(const void *bytes16)
{
	if (duet_i_has_context())
		duet_i_api->context_set(bytes16);
}

/* duet_context_clear - the calling thread's events carry no bytes any more.  Threads, signals and
 * cost as duet_context_set().  Since 0.1. */
static inline __attribute__((unused)) void duet_context_clear(void)
{
	if (duet_i_has_context())
		duet_i_api->context_set(0);
}

/*
 * duet_context_refresh - read the cached contexts again: thread name, user and group, parent
 * process and namespaces.
 *
 * Each thread reads these contexts once, and again after fork.  A program that changes them
 * (setuid, prctl(PR_SET_NAME), unshare, setns) calls this after the change.  It applies to all
 * threads, each from its next event on.  Any thread or signal handler; no system call.  Since 0.1.
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
