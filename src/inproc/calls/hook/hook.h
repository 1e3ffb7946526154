/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/hook.h - the interface between stubs and their hooks.
 *
 * Patching (inproc/calls: plans, stubs, toggling) and recording (this room: hooks, batches) share
 * only this header.  A stub is
 *
 *   head   8 bytes: a nop, or a jump to `body`
 *          lea -16(%rsp), %rsp
 *          push $function
 *          call *enter(%rip)          two words of a table in the stub's arena
 *          cmpq $0, 16(%rsp)
 *          je tail
 *          [copies of stack arguments]
 *          call body
 *          [copies dropped]
 *          call *leave(%rip)
 *          lea 24(%rsp), %rsp
 *          ret
 *   tail   lea 24(%rsp), %rsp
 *          jmp body
 *   body   displaced code; jmp site + window
 *
 *   (1) without copies, `call *leave` (ff 15, relative) directly follows `call body`: a return
 *       address there is how a tail call is recognized
 *   (2) stubs stay mapped, and readable, as long as the process lives
 *   (3) hooks keep every register but the flags, vector registers included
 *   (4) hooks may be replaced at any time, also while calls that the old ones began are open
 */
#ifndef INPROC_CALLS_HOOK_H
#define INPROC_CALLS_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/calls.h"
#include "abi/plan.h"

#define CALLS_HIDDEN __attribute__((visibility("hidden")))

/* Three words on the program's stack; the caller's return address is directly above. */
struct calls_frame {
	uint32_t function;
	uint32_t depth;		 /* of this call; the hooks' own.  The stub stores 0 */
	struct calls_frame *top; /* the frame before */
	uint64_t ticks;		 /* at entry, even; or a mark, odd.  0: jump to the body */
};
_Static_assert(sizeof(struct calls_frame) == 24 && offsetof(struct calls_frame, ticks) == 16,
	       "stubs know it");

/* ---------------------------------------------------------------- made by inproc/calls */

/* This program's calls file.  Set before the first stub runs; it stays mapped at this address, also
 * in a child of fork, and is never unmapped. */
struct calls {
	struct abi_calls *shared; /* ABI_CALLS_THREADS_AT + ABI_CALLS_THREADS areas are mapped,
				     without memory reserved.  NULL: calls are not recorded */
};
extern struct calls calls CALLS_HIDDEN;

static inline struct abi_calls_object *calls_objects(void)
{
	return (void *)((char *)calls.shared + ABI_CALLS_OBJECTS_AT);
}

static inline struct abi_calls_function *calls_functions(void)
{
	return (void *)((char *)calls.shared + ABI_CALLS_FUNCTIONS_AT);
}

static inline struct abi_calls_thread *calls_area(uint32_t i)
{
	return (void *)((char *)calls.shared + ABI_CALLS_THREADS_AT +
			(size_t)i * ABI_CALLS_THREAD_BYTES);
}

/*
 * calls_unpatch - make the function run without its stub; its state becomes ABI_FUNCTION_ELIDED.
 *
 * Called by a hook, all signals blocked.  It takes no lock that a hook could interrupt, or tries it
 * only.  Returns false if the function stays patched for now: it is asked again later.
 */
bool calls_unpatch(uint32_t function) CALLS_HIDDEN;
/* calls_name - the name of a function, cut to @size and terminated; "" if it is not known now.
 * Called by a hook, all signals blocked.  Returns its length. */
size_t calls_name(uint32_t function, char *name, size_t size) CALLS_HIDDEN;
/* calls_objects_changed - look at the loaded objects again: dlopen or dlclose returned.  Called by a
 * hook, signals not blocked. */
void calls_objects_changed(void) CALLS_HIDDEN;
/* calls_poll - take over a change of the selection, or the session's end.  Called in the slow path of
 * a hook, all signals blocked; costs two loads if there is nothing. */
void calls_poll(void) CALLS_HIDDEN;
/*
 * calls_renew - in a child of fork: map a calls file of the child's own at calls.shared.
 *
 * process_renew() was called before.  Objects and functions are those of the parent, n_threads and
 * lost are 0.  Async-signal-safe; called by a hook, all signals blocked.  False: the child's calls
 * are not recorded; calls.shared is then private memory.
 */
bool calls_renew(void) CALLS_HIDDEN;

/* ---------------------------------------------------------------- made here */

typedef void calls_hook(void);
struct calls_hooks {
	calls_hook *enter, *leave;
};

/* The kinds of stubs, by the flags of their site. */
enum calls_kind {
	CALLS_CALL,	      /* governed in ABI_CALLS_GOVERNED */
	CALLS_ALWAYS,	      /* ABI_SITE_ALWAYS */
	CALLS_SWITCH,	      /* ABI_SITE_SWITCH */
	CALLS_SWITCH_HIDDEN,  /* with ABI_SITE_HIDDEN */
	CALLS_RESCAN,	      /* ABI_SITE_DLOPEN */
	CALLS_RESCAN_HIDDEN,  /* with ABI_SITE_HIDDEN */
	CALLS_LONGJMP,	      /* ABI_SITE_LONGJMP */
	CALLS_LONGJMP_HIDDEN, /* with ABI_SITE_HIDDEN */
	CALLS_KINDS,
};

/* calls_kind_of - the kind of a site with @flags (ABI_SITE_...). */
enum calls_kind calls_kind_of(uint32_t flags) CALLS_HIDDEN;
/* calls_hooks_for - the hooks of stubs of @kind in @mode (enum abi_calls_mode). */
struct calls_hooks calls_hooks_for(enum calls_kind kind, uint32_t mode) CALLS_HIDDEN;

/*
 * calls_start - prepare recording, before the first stub runs; calls.shared is set, with its clock
 * and session.
 *
 * Sets shift and hook_ticks there, registers the event duet_calls:batch.  Outside hooks and handlers;
 * process_lock() is not held.  A second call does nothing.  False: there is no memory.
 */
bool calls_start(void) CALLS_HIDDEN;
/*
 * calls_configure - take over mode, depth, threshold, governor and flags of the plan, also while
 * calls run.
 *
 * Afterwards the caller stores the hooks of the new mode.  One thread at a time.
 */
void calls_configure(const struct abi_plan *plan) CALLS_HIDDEN;
/* calls_restart - forget all batches: another session has the program's calls.  calls.shared has its
 * epoch and clock; no stub is patched in. */
void calls_restart(void) CALLS_HIDDEN;
/*
 * calls_unwound - the call of @frame ends without returning: an unwinder leaves it.
 *
 * For the personality of stubs, in the cleanup phase, innermost first.  Ordinary code may call it.
 */
void calls_unwound(struct calls_frame *frame) CALLS_HIDDEN;

#endif
