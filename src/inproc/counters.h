/* SPDX-License-Identifier: MIT */
/*
 * inproc/counters.h - counters of the processor as contexts: each thread has its own.
 *
 * All of a thread's state is written by that thread alone, with its signals blocked, and read by it
 * and its handlers.
 */
#ifndef INPROC_COUNTERS_H
#define INPROC_COUNTERS_H

#include <stdint.h>

#include "abi/context.h"

/* The contexts that are counters. */
#define COUNTERS_MASK                                                                              \
	(ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_BRANCH_MISSES + 1) -                                     \
	 ABI_CONTEXT_BIT(ABI_CONTEXT_PERF_CYCLES))

/*
 * counters_put - write the counters of @mask, u64 each; the end of them is returned.
 *
 * Counted is this thread, in user mode, from its first event that wanted the counter; 0 where that
 * could not be had.  Async-signal-safe; keeps errno.  System calls at that first event only.
 */
char *counters_put(uint64_t mask, char *p) __attribute__((visibility("hidden")));

/* counters_prepare - begin to count for this thread now.  Async-signal-safe; keeps errno. */
void counters_prepare(uint64_t mask) __attribute__((visibility("hidden")));

/*
 * Around fork(2), under process_lock: a child has none of the pages, but where a handler forks it
 * may come back into the reading of one.  counters_forked puts zeros there; it makes system calls.
 */
void counters_before_fork(void) __attribute__((visibility("hidden")));
void counters_forked(void) __attribute__((visibility("hidden")));

#endif
