/* SPDX-License-Identifier: MIT */
/*
 * inproc/context.h - the values that a channel records with each event, read inside the program.
 *
 * The parties and their data:
 *
 *   a thread's values, its slot, its stack's bounds   that thread and its handlers only
 *   generation                                        any thread; a thread with an older one reads
 *                                                     its values again
 *   values of the process                             any thread; used where system calls are
 *                                                     forbidden
 */
#ifndef INPROC_CONTEXT_H
#define INPROC_CONTEXT_H

#include <stdint.h>

#include "abi/context.h"

#define CONTEXT_HIDDEN __attribute__((visibility("hidden")))

/*
 * context_put - write the values of @mask in the layout of abi/context.h.
 *
 * @mask: of ABI_CONTEXT_BIT(); unknown bits are ignored.
 * @p: room for ABI_CONTEXT_MAX_BYTES; not shared memory, as it may be written twice.
 * @ip: the return address of the site's event, ABI_CONTEXT_IP.
 * @frame: __builtin_frame_address(0) of a function of libduet that the site called; the walk for
 * ABI_CONTEXT_CALLSTACK begins there.  Functions between that one and @ip are not shown, if they
 * are at most 3; each of them has a frame pointer or has not changed the register.
 *
 * Returns the end of the values.  Async-signal-safe; keeps errno.  It makes system calls at a
 * thread's first event that needs a value, after fork and after duet_context_refresh().  After that
 * only a call stack makes a few, on a part of the stack not checked before.
 */
char *context_put(uint64_t mask, char *p, const void *ip, const void *frame) CONTEXT_HIDDEN;

/*
 * context_prefix - the values of @mask as a prefix that this thread keeps; NULL: context_put() has to
 * write them.
 *
 * @mask: cached values (up to UTS_NS) and ABI_CONTEXT_IP, which the prefix leaves out; anything else
 * gives NULL, and so does what takes more room than a prefix has.
 *
 * Valid until this thread asks for another mask: its `what` is the mask.  Async-signal-safe; keeps
 * errno.  System calls as context_put().
 */
struct ring_prefix;
const struct ring_prefix *context_prefix(uint64_t mask) CONTEXT_HIDDEN;

/*
 * context_prepare - read the values of @mask now, because a filter (seccomp) may forbid it later.
 *
 * Any thread; async-signal-safe; keeps errno.
 */
void context_prepare(uint64_t mask) CONTEXT_HIDDEN;

/* context_forget - make each thread read its values again at its next event.  Any thread;
 * async-signal-safe. */
void context_forget(void) CONTEXT_HIDDEN;

/* context_set - set ABI_CONTEXT_SLOT of this thread; NULL: zeros.  Async-signal-safe; a handler
 * never sees half of it. */
void context_set(const void *bytes16) CONTEXT_HIDDEN;

#endif
