/* SPDX-License-Identifier: MIT */
/*
 * inproc/context.h - what a channel wants to know with every event, from inside the program.
 *
 * Who writes what:
 *
 *   values of a thread, its slot, bounds of its stack    that thread and its handlers; nobody else
 *   generation                                           any thread; a thread with an older one
 * asks anew values of the process                                any thread; read where the kernel
 * may not be asked
 */
#ifndef INPROC_CONTEXT_H
#define INPROC_CONTEXT_H

#include <stdint.h>

#include "abi/context.h"

#define CONTEXT_HIDDEN __attribute__((visibility("hidden")))

/*
 * context_put - write the values of @mask, as abi/context.h lays them out.
 *
 * @mask: of ABI_CONTEXT_BIT(); others are ignored.
 * @p: room for ABI_CONTEXT_MAX_BYTES; not shared memory, as it may be written twice.
 * @ip: where the site's event returns to, ABI_CONTEXT_IP.
 * @frame: __builtin_frame_address(0) of a function of libduet that the site called, where the walk
 *for ABI_CONTEXT_CALLSTACK begins.  What lies between that function and @ip is not shown, if it is
 *at most 3 functions; of these all have frame pointers, or have left the register alone.
 *
 * Returns the end of what was written.  Async-signal-safe; keeps errno.  System calls: at a
 *thread's first event that needs a value, after fork and duet_context_refresh(); none after that
 *but a few, by a callstack on a part of the stack that was not seen yet.
 */
char *context_put(uint64_t mask, char *p, const void *ip, const void *frame) CONTEXT_HIDDEN;

/*
 * context_prepare - ask for the values of @mask now, for later, when a filter (seccomp) may forbid
 * it.
 *
 * Any thread; async-signal-safe; keeps errno.
 */
void context_prepare(uint64_t mask) CONTEXT_HIDDEN;

/* context_forget - the next event of each thread asks anew.  Any thread; async-signal-safe. */
void context_forget(void) CONTEXT_HIDDEN;

/* context_set - ABI_CONTEXT_SLOT of this thread; NULL: zeros.  Async-signal-safe, and whole for
 * handlers. */
void context_set(const void *bytes16) CONTEXT_HIDDEN;

#endif
