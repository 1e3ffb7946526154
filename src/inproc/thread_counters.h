/* SPDX-License-Identifier: MIT */
/*
 * inproc/thread_counters.h - hardware counters as contexts, per thread.
 *
 * Only the thread itself writes its state, with its signals blocked; it and its handlers read it.
 */
#ifndef INPROC_THREAD_COUNTERS_H
#define INPROC_THREAD_COUNTERS_H

#include <stdint.h>

#include "abi/context.h"

/* The contexts that are counters. */
#define COUNTERS_MASK                                                                              \
	(ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_BRANCH_MISSES + 1) -                                     \
	 ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES))

/*
 * counters_put - write the counters of @mask, u64 each.  Returns their end.
 *
 * A counter counts this thread in user mode, from its first event that needed it; 0 if it could not
 * be opened.  Async-signal-safe; keeps errno.  System calls at that first event only.
 */
char *counters_put(uint64_t mask, char *p) __attribute__((visibility("hidden")));

/* counters_prepare - start counting for this thread now.  Async-signal-safe; keeps errno. */
void counters_prepare(uint64_t mask) __attribute__((visibility("hidden")));

/*
 * counters_before_fork, counters_forked - around fork(2), under process_lock.
 *
 * A child has none of the pages, but if a handler forks, the child may return into the reading of
 * one. counters_forked maps zeros there; it makes system calls.
 */
void counters_before_fork(void) __attribute__((visibility("hidden")));
void counters_forked(void) __attribute__((visibility("hidden")));

#endif
