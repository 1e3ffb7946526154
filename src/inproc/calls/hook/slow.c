/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/slow.c - entry and exit of a call that is unusual, all registers saved.
 *
 * Signals are blocked by an instruction of our own, as sigprocmask may be patched.  They are
 * blocked before `inside` is set: a handler's calls are recorded.
 */
#include "inproc/calls/hook/slow.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "inproc/calls/hook/path.h"
#include "inproc/calls/hook/record.h"
#include "inproc/calls/hook/thread.h"

static void set_signals(uint64_t mask, uint64_t *before)
{
	register uint64_t *r10 __asm__("r10") = (uint64_t *)sizeof mask;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(SYS_rt_sigprocmask), "D"(SIG_SETMASK), "S"(&mask), "d"(before),
			   "r"(r10)
			 : "rcx", "r11", "memory");
}

static uint64_t bit(int signal)
{
	return 1ull << (signal - 1);
}

void slow_begin(struct calls_slow *slow)
{
	slow->signals = 0;
	set_signals(~(bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(SIGTRAP) |
		      bit(SIGSYS)),
		    &slow->signals);
	calls_inside();
	slow->saved_errno = errno; /* a call of libc, perhaps a patched one */
}

void slow_end(const struct calls_slow *slow)
{
	if (calls.shared && calls_here.inside == 1)
		calls_poll();
	errno = slow->saved_errno;
	calls_outside();
	set_signals(slow->signals, NULL);
}

/* ---------------------------------------------------------------- entry */

static void leave_unrecorded(struct calls_here *h, struct calls_frame *f)
{
	f->top = h->top;
	f->depth = h->depth;
	f->ticks = CALLS_UNRECORDED;
	h->top = f;
}

static void open_frame(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	uint32_t depth = h->depth;

	f->top = h->top;
	f->depth = depth;
	f->ticks = calls_now();
	if (depth < ABI_CALLS_FRAMES) {
		s->area->frames[depth] = (struct abi_calls_frame){
			.ticks = f->ticks,
			.function = f->function,
		};
		s->frames[depth] = f;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	h->depth = depth + 1;
	store(&s->area->depth, depth + 1);
	h->top = f;
}

static void open_path(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	if (s->most_depth)
		calls_path_enter(h, s, f, path_make(s, f->function));
	else
		leave_unrecorded(h, f);
}

static bool is_wanted(const struct calls_here *h, const struct calls_self *s)
{
	return h->depth < calls_settings.depth && !load(&calls.shared->collect) &&
	       (!(calls_settings.flags & ABI_PLAN_WITHIN) || s->within);
}

static void enter(struct calls_here *h, struct calls_self *s, struct calls_frame *f,
		  enum calls_kind kind)
{
	calls_take_over(s);
	stack_enter(h, s, f);
	if ((kind == CALLS_SWITCH || kind == CALLS_SWITCH_HIDDEN) && !s->within) {
		s->within = f;
		s->generation--;
	}
	calls_take_over(s);
	if (kind == CALLS_SWITCH_HIDDEN || kind == CALLS_RESCAN_HIDDEN ||
	    kind == CALLS_LONGJMP_HIDDEN || !is_wanted(h, s))
		leave_unrecorded(h, f);
	else if (calls_settings.mode == ABI_CALLS_PROFILE)
		open_path(h, s, f);
	else
		open_frame(h, s, f);
}

static struct calls_self *enter_thread(struct calls_here *h, struct calls_frame *f)
{
	enum calls_kind kind = f->depth;
	struct calls_self *s = calls_thread(h, f);

	if (s) {
		enter(h, s, f, kind);
		return s;
	}
	if (calls.shared && calls_settings.mode != ABI_CALLS_OVER)
		fetch_add(&calls.shared->lost, 1);
	leave_unrecorded(h, f);
	return NULL;
}

void calls_enter_slowly(struct calls_frame *f)
{
	struct calls_slow slow;

	slow_begin(&slow);
	enter_thread(&calls_here, f);
	slow_end(&slow);
}

/* The stack pointer that glibc has stored in a jmp_buf, scrambled. */
static void *target_of(const uint64_t *env)
{
	enum { STACK_POINTER = 6, ROTATED = 17 };
	uint64_t v = env[STACK_POINTER], guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	v = (v >> ROTATED | v << (64 - ROTATED)) ^ guard;
	return (void *)(uintptr_t)v;
}

/* The call of longjmp itself is one of those that end. */
void calls_jump_slowly(struct calls_frame *f, const uint64_t *env)
{
	struct calls_slow slow;
	struct calls_self *s;

	slow_begin(&slow);
	s = enter_thread(&calls_here, f);
	if (s)
		stack_jump(&calls_here, s, target_of(env));
	slow_end(&slow);
}

/* ---------------------------------------------------------------- exit */

static void close_frame(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	h->depth = f->depth;
	store(&s->area->depth, f->depth);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	h->top = f->top;
}

/* By the mean of the calls since the last decision: a function may be slow only at first. */
static void decide(uint32_t number)
{
	struct abi_calls_function *function = &calls_functions()[number];
	uint32_t n = load(&function->calls), state = load(&function->state);

	if (state != ABI_FUNCTION_ON && state != ABI_FUNCTION_KEPT)
		return;
	if (n >= CALLS_WINDOW)
		n = n == CALLS_WINDOW ? n - calls_settings.elide_after_calls : CALLS_WINDOW;
	if (n && load(&function->quanta) / n < calls_settings.elide_under_quanta &&
	    calls_unpatch(number))
		return;
	store(&function->quanta, 0);
	compare_exchange(&function->state, &state, ABI_FUNCTION_KEPT); /* unless elided meanwhile */
}

static void end_call(struct calls_self *s, const struct calls_frame *f, bool is_unwound)
{
	uint64_t now = calls_now();

	if (calls_is_long(calls_settings.mode, f->ticks, now)) {
		batch_record(s, f->function, f->depth, f->ticks, is_unwound);
		if (calls_settings.mode == ABI_CALLS_OVER)
			slow_event(f, now);
	}
	if (calls_settings.mode == ABI_CALLS_GOVERNED && calls_govern(f->function, f->ticks, now))
		decide(f->function);
}

static void leave(struct calls_here *h, struct calls_self *s, struct calls_frame *f,
		  bool is_unwound)
{
	calls_take_over(s);
	stack_leave(h, s, f);
	if (!load(&s->area->limit))
		batch_flush(s, 0);
	if (f->ticks == CALLS_UNRECORDED) {
		h->top = f->top;
	} else if (f->ticks & 1) {
		if (s->keys)
			calls_path_leave(h, s, f);
	} else {
		end_call(s, f, is_unwound);
		close_frame(h, s, f);
	}
	if (s->within == f) {
		s->within = NULL;
		s->generation--;
		calls_take_over(s);
	}
}

static void leave_thread(struct calls_frame *f, bool is_unwound)
{
	struct calls_here *h = &calls_here;
	struct calls_slow slow;
	struct calls_self *s;

	slow_begin(&slow);
	s = calls_thread(h, f);
	if (s) {
		leave(h, s, f, is_unwound);
	} else {
		if (calls.shared && !(f->ticks & 1) && calls_settings.mode != ABI_CALLS_OVER)
			fetch_add(&calls.shared->lost, 1);
		h->top = f->top;
	}
	slow_end(&slow);
}

void calls_leave_slowly(struct calls_frame *f)
{
	leave_thread(f, false);
}

void calls_switch_slowly(struct calls_frame *f)
{
	leave_thread(f, false);
}

void calls_rescan_slowly(struct calls_frame *f)
{
	int saved;

	leave_thread(f, false);
	calls_inside();
	saved = errno;
	calls_objects_changed();
	errno = saved;
	calls_outside();
}

void calls_unwound(struct calls_frame *f)
{
	leave_thread(f, true);
}

/* ---------------------------------------------------------------- between both */

/* The frame stays: it will be that of the function that its own one jumped to. */
void calls_tail_slowly(struct calls_frame *f)
{
	struct calls_slow slow;
	struct calls_self *s;

	slow_begin(&slow);
	s = calls_thread(&calls_here, f);
	if (s)
		batch_record(s, f->function, f->depth, f->ticks, false);
	slow_end(&slow);
}

void calls_decide_slowly(struct calls_frame *f)
{
	struct calls_slow slow;

	slow_begin(&slow);
	decide(f->function);
	slow_end(&slow);
}
