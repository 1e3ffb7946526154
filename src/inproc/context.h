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

#include <stdbool.h>
#include <stdint.h>

#include "abi/context.h"
#include "base/atomic.h"
#include "ring/write_fast.h"

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
 * context_make_prefix - the values of @mask as a prefix that this thread keeps; NULL: context_put() has
 * to write them.
 *
 * @mask: cached values (up to UTS_NS) and ABI_CONTEXT_IP, which the prefix leaves out; anything else
 * gives NULL, and so does what takes more room than a prefix has.
 *
 * Valid until this thread has read the contexts of CONTEXTS_KEPT other masks: its `what` is the mask.
 * Async-signal-safe; keeps errno.  System calls as context_put().
 */
const struct ring_prefix *context_make_prefix(uint64_t mask) CONTEXT_HIDDEN;

/* A thread may record in turn in so many channels with different contexts without making one anew.  TLS
 * of late libraries is small. */
enum { CONTEXTS_KEPT = 4 };

/*
 * The last prefixes of context_make_prefix(); `next` is the oldest.  All have the same generation, or
 * `what` 0.
 * A handler that comes while it changes finds is_changing and makes none; one that leaves by a jump then
 * leaves it so, and this thread writes its values one by one from there on.
 */
struct context_kept {
	struct ring_prefix ready[CONTEXTS_KEPT];
	uint32_t generation, next;
	bool is_changing;
};
extern __thread struct context_kept context_kept CONTEXT_HIDDEN
	__attribute__((tls_model("initial-exec")));
/* A thread whose values have another generation reads them again. */
extern uint32_t context_generation CONTEXT_HIDDEN;

/* context_ready - the prefix of context_make_prefix(@mask), if it still holds; else NULL.  @mask 0 is
 * never ready. */
static inline const struct ring_prefix *context_ready(uint64_t mask)
{
	if (unlikely(!mask || context_kept.generation != load(&context_generation)))
		return NULL;
	for (uint32_t i = 0; i < CONTEXTS_KEPT; i++)
		if (likely(context_kept.ready[i].what == mask))
			return &context_kept.ready[i];
	return NULL;
}

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
