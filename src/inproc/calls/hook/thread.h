/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/thread.h - a thread that records its calls, seen by the hooks.
 *
 * A hook is interrupted by signal handlers of its own thread only, which run hooks themselves, from
 * begin to end.  Invariants:
 *
 *   (1) `calls_here` is exact between two instructions of the program: a handler leaves `top` and
 *       `depth` as it finds them
 *   (2) a struct calls_self is zeroed by the kernel in a forked child (MADV_WIPEONFORK): its
 *       `reach` of 0 makes every call unusual, and the slow path begins anew
 *   (3) `pending` names the frame of a record that is being stored, until the call is open no more.
 *       Its bytes are reserved once the batch's word has changed.  A handler completes them before
 *       it adds its own, and replaces the batch at most once meanwhile.  Its calls then have the
 *       depth of the recorded one, although they were opened one deeper
 *   (4) the slow path runs with signals blocked and `inside` set: calls that it makes itself, of
 *       patched functions of libc, are not recorded
 *
 * `top` lies in thread-local storage, not in the wiped memory: frames of the parent stay valid on
 * the child's copy of the stack.
 */
#ifndef INPROC_CALLS_THREAD_H
#define INPROC_CALLS_THREAD_H

#ifndef DUET_I_LAYOUT_ONLY
#define DUET_I_LAYOUT_ONLY
#endif
#include "duet/site.h"
#include "base/atomic.h"
#include "inproc/calls/hook/hook.h"

enum {
	CALLS_REACH = 256 << 10, /* most bytes between two frames next to each other */
	CALLS_WINDOW = 4096,	 /* calls between two decisions of the governor */
	CALLS_STACKS = 16,
	CALLS_TAIL_BYTES = 32, /* from a frame to that of a function jumped to from its body */
	CALLS_BATCH_ROOM = sizeof((struct abi_calls_batch *)0)->bytes,
	/* The rest is for announcements of open calls. */
	CALLS_BATCH_LIMIT = CALLS_BATCH_ROOM - 512,
	CALLS_BATCH_CLOSED = 0xffff, /* as a position: beyond every limit */
};

/* Marks in a frame instead of entry ticks, which are even.  Odd numbers above them are a profile's
 * ticks. */
enum { CALLS_UNRECORDED = 1, CALLS_UNSAMPLED = 3 };

/* A stack of the thread.  Number 0 is its own, the others are those of coroutines. */
struct calls_stack {
	uint64_t highest; /* address of a frame on it; 0: unused */
	struct calls_frame *top;
	uint32_t depth;
	uint32_t base; /* depth of its outermost call */
	uint64_t used; /* when, as a count of switches */
};

struct calls_self {
	uint64_t reach;	     /* CALLS_REACH; 0: nothing is usual */
	uint64_t most_depth; /* calls at this depth and deeper are unusual */
	struct abi_calls_thread *area;
	struct abi_calls_batch *batch; /* in use */
	uint64_t base;		       /* its base, in quanta */
	uint64_t last; /* position of the end of its last record << 32 | that call's depth */
	struct calls_frame *within; /* the outermost open call of a function with ABI_SITE_SWITCH */
	struct calls_frame *pending;
	uint64_t pending_bytes;
	uint8_t *pending_at; /* NULL: nothing was reserved */

	uint64_t switched; /* entry of the pending call when the batch was replaced last; 0: none */

	uint32_t node;	    /* profile: the path of the innermost open call */
	uint32_t n_entries; /* profile: calls, for sampling */
	uint64_t *keys;	    /* profile: caller's path << 32 | function; 0: free */
	uint16_t *nodes;    /* profile: the path of each key */

	uint32_t generation; /* of the settings taken over */
	uint32_t n_ends;     /* times that the key's destructor ran */
	uint32_t stack;	     /* the one in use */
	uint32_t epoch;	     /* of calls_restart */
	uint64_t n_switches;
	uint64_t own_low, own_high; /* the thread's own stack */
	uint64_t lost_before;	    /* area->lost when the batch began */
	struct calls_stack stacks[CALLS_STACKS];
	struct calls_frame *frames[]; /* addresses of open calls, by depth: ABI_CALLS_FRAMES */
};

struct calls_here {
	struct calls_self *self;
	struct calls_frame *top;
	uint32_t depth;
	uint32_t inside;
};
extern __thread struct calls_here calls_here CALLS_HIDDEN
	__attribute__((tls_model("initial-exec")));

/* For threads that have not recorded yet, and for those that have ended: constant, and without frames.  Nothing is
 * written to a state without an area. */
extern const struct calls_self calls_nobody CALLS_HIDDEN, calls_ended CALLS_HIDDEN;
#define CALLS_NOBODY ((struct calls_self *)&calls_nobody)
#define CALLS_ENDED ((struct calls_self *)&calls_ended)

/* The same for all threads; changed by calls_configure. */
struct calls_settings {
	uint32_t shift;
	uint32_t mode;
	uint64_t threshold_ticks;
	uint32_t elide_after_calls;
	uint32_t depth; /* of calls that are not recorded */
	uint32_t flags; /* ABI_PLAN_... */
	uint32_t generation;
	uint32_t elide_under_quanta;
	uint32_t has_ticks; /* the session's clock is the time stamp counter */
	uint32_t epoch;	    /* grows with calls_restart */
};
extern struct calls_settings calls_settings CALLS_HIDDEN;

/* ---------------------------------------------------------------- the slow path: keep.c */

/* They keep all registers, vector registers included.  Each runs the function of its name with
 * `slowly` instead of `unusual`. */
CALLS_HIDDEN void calls_enter_unusual(struct calls_frame *f);
CALLS_HIDDEN void calls_leave_unusual(struct calls_frame *f);
CALLS_HIDDEN void calls_tail_unusual(struct calls_frame *f);
CALLS_HIDDEN void calls_decide_unusual(struct calls_frame *f);
CALLS_HIDDEN void calls_switch_unusual(struct calls_frame *f);
CALLS_HIDDEN void calls_rescan_unusual(struct calls_frame *f);
CALLS_HIDDEN void calls_jump_unusual(struct calls_frame *f);
/* In slow.c; keep.c calls them by name. */
#define CALLS_USED __attribute__((used)) CALLS_HIDDEN
CALLS_USED void calls_enter_slowly(struct calls_frame *f);
CALLS_USED void calls_leave_slowly(struct calls_frame *f);
CALLS_USED void calls_tail_slowly(struct calls_frame *f);
CALLS_USED void calls_decide_slowly(struct calls_frame *f);
CALLS_USED void calls_switch_slowly(struct calls_frame *f);
CALLS_USED void calls_rescan_slowly(struct calls_frame *f);
/* @env: the jmp_buf. */
CALLS_USED void calls_jump_slowly(struct calls_frame *f, const uint64_t *env);

/* keep_start - find out how the processor saves vector registers. */
void keep_start(void) CALLS_HIDDEN;

/* ---------------------------------------------------------------- batches: batch.c */

/* All of these run with signals blocked. */

/* calls_now - ticks, or nanoseconds where the session's clock is not the time stamp counter.
 * Always even. */
uint64_t calls_now(void) CALLS_HIDDEN;
/* batch_start - register the event. */
void batch_start(void) CALLS_HIDDEN;
/* slow_event_start - register duet_calls:slow; slow_event - emit it for the call of @f, which ends
 * at @now. */
void slow_event_start(void) CALLS_HIDDEN;
void slow_event(const struct calls_frame *f, uint64_t now) CALLS_HIDDEN;
extern struct duet_i_site calls_slow_site CALLS_HIDDEN;
static inline bool calls_slow_is_wanted(void)
{
	return load(calls_slow_site.enabled);
}
/* batch_open - begin the first batch of an area. */
void batch_open(struct calls_self *s) CALLS_HIDDEN;
/* batch_record - record a call from @entry to now; a lost one is counted. */
void batch_record(struct calls_self *s, uint32_t function, uint32_t depth, uint64_t entry,
		  bool is_unwound) CALLS_HIDDEN;
/* batch_note - a note of enum abi_calls_other. */
void batch_note(struct calls_self *s, uint32_t kind, uint64_t value) CALLS_HIDDEN;
/* batch_flush - send the batch as an event, and begin another.  False: an interrupted hook still
 * needs both. */
bool batch_flush(struct calls_self *s, uint32_t flags) CALLS_HIDDEN;
/* batch_settle - complete the record that an interrupted hook is storing.  True if @f is that
 * hook's frame, and its record exists. */
bool batch_settle(struct calls_self *s, const struct calls_frame *f) CALLS_HIDDEN;
/* batch_forget - that hook will not go on: a handler jumped out of it. */
void batch_forget(struct calls_self *s) CALLS_HIDDEN;

/* ---------------------------------------------------------------- threads: thread.c */

/* calls_thread - this thread's state, made or renewed if need be; NULL: its calls are lost. */
struct calls_self *calls_thread(struct calls_here *h, const struct calls_frame *f) CALLS_HIDDEN;
/* calls_inside - until calls_outside, this thread's calls are libduet's own and are not recorded: every
 * one is unusual, and left alone for that.  They nest. */
void calls_inside(void) CALLS_HIDDEN;
void calls_outside(void) CALLS_HIDDEN;
/* calls_take_over - the settings, if they have changed. */
void calls_take_over(struct calls_self *s) CALLS_HIDDEN;
/* calls_look_again - make all threads take the settings over at their next call. */
void calls_look_again(void) CALLS_HIDDEN;
bool calls_threads_start(void) CALLS_HIDDEN;

/* calls_calibrate - ticks of one recorded call << 8; 0: not known. */
uint32_t calls_calibrate(void) CALLS_HIDDEN;

/* ---------------------------------------------------------------- stacks: stack.c */

/* stack_begin - find the thread's own stack. */
void stack_begin(struct calls_self *s, const struct calls_frame *f) CALLS_HIDDEN;
/* stack_enter, stack_leave - set top and depth to those of the stack of @f, and end calls that were
 * left by a jump. */
void stack_enter(struct calls_here *h, struct calls_self *s, struct calls_frame *f) CALLS_HIDDEN;
void stack_leave(struct calls_here *h, struct calls_self *s, struct calls_frame *f) CALLS_HIDDEN;
/* stack_jump - end the calls with frames below @target, on its stack. */
void stack_jump(struct calls_here *h, struct calls_self *s, const void *target) CALLS_HIDDEN;
/* stack_rebuild - in a forked child: store the open calls of the parent in the new area. */
void stack_rebuild(struct calls_here *h, struct calls_self *s) CALLS_HIDDEN;

#endif
