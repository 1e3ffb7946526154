/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/stack.c - calls that end without returning, and threads with several stacks.
 *
 * A frame that is not close below the one before is on another stack (a coroutine, a signal
 * handler), or frames in between were left by longjmp or an exception.  Frames that were left must
 * not be read: other calls have used that memory since.  So addresses of open calls are kept by
 * depth in the thread's state, their times in the area.
 *
 * Stacks have no names that libc would give out.  The thread's own one is known by its end; an
 * alternate signal stack by asking the kernel, its calls nest in the interrupted ones; any other is
 * known by the highest frame seen on it.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/calls/hook/thread.h"

enum { PAGE = 4096, MOST_OWN = 1 << 30, USUAL_OWN = 8 << 20, NEAR_ABOVE = 1024 };

extern void *__libc_stack_end __attribute__((weak));

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* ---------------------------------------------------------------- which stack */

static uint64_t own_bytes(void)
{
	struct rlimit limit;

	if (syscall(SYS_getrlimit, RLIMIT_STACK, &limit) || limit.rlim_cur < USUAL_OWN)
		return USUAL_OWN;
	return limit.rlim_cur < MOST_OWN ? limit.rlim_cur : USUAL_OWN;
}

static bool lies_below(uint64_t a, uint64_t end, uint64_t bytes)
{
	return end - a - 1 < bytes;
}

/* The first thread's stack ends where the loader says.  That of others usually has the thread's
 * control block at its end. */
void stack_begin(struct calls_self *s, const struct calls_frame *f)
{
	uint64_t a = address(f), bytes = own_bytes(), block;

	__asm__("mov %%fs:0, %0" : "=r"(block));
	if (&__libc_stack_end && lies_below(a, address(__libc_stack_end), bytes))
		s->own_high = address(__libc_stack_end);
	else if (lies_below(a, block, bytes))
		s->own_high = block;
	else
		s->own_high = a + CALLS_REACH / 2;
	s->own_low = s->own_high - bytes;
}

static bool is_own(const struct calls_self *s, uint64_t a)
{
	return a - s->own_low < s->own_high - s->own_low;
}

static bool alternate(stack_t *stack)
{
	return !syscall(SYS_sigaltstack, NULL, stack) && (stack->ss_flags & SS_ONSTACK);
}

static bool is_alternate(uint64_t a)
{
	stack_t stack;

	return alternate(&stack) && a - address(stack.ss_sp) < stack.ss_size;
}

/* The number of the coroutine stack at @a; 0: none is known. */
static uint32_t find(const struct calls_self *s, uint64_t a)
{
	uint64_t best = CALLS_REACH;
	uint32_t found = 0;

	for (uint32_t i = 1; i < CALLS_STACKS; i++) {
		uint64_t above = s->stacks[i].highest + NEAR_ABOVE - a;

		if (s->stacks[i].highest && above < best) {
			best = above;
			found = i;
		}
	}
	return found;
}

static uint32_t replace_oldest(struct calls_self *s, uint64_t a, uint32_t depth)
{
	uint32_t oldest = 1;

	for (uint32_t i = 1; i < CALLS_STACKS; i++)
		if (i != s->stack &&
		    (oldest == s->stack || s->stacks[i].used < s->stacks[oldest].used))
			oldest = i;
	s->stacks[oldest] = (struct calls_stack){ .highest = a, .depth = depth, .base = depth };
	return oldest;
}

/* ---------------------------------------------------------------- calls that were left */

/* A place just above @f for `top`, which is no frame: those are multiples of 16, 8 added. */
static struct calls_frame *floor_above(const struct calls_self *s, const struct calls_frame *f)
{
	uint64_t a = (address(f) + CALLS_REACH / 2) & ~15ull;

	if (is_own(s, address(f)) && a > s->own_high)
		a = s->own_high & ~15ull;
	return (void *)(uintptr_t)a;
}

/* Ends the calls at @depth and deeper, innermost first. */
static void end_calls(struct calls_here *h, struct calls_self *s, uint32_t depth)
{
	while (h->depth > depth) {
		uint32_t i = h->depth - 1;

		if (i >= ABI_CALLS_FRAMES) {
			s->area->lost++;
		} else {
			const struct abi_calls_frame slot = s->area->frames[i];

			if (!batch_settle(s, s->frames[i]) &&
			    (calls_settings.mode != ABI_CALLS_OVER ||
			     calls_now() - slot.ticks >= calls_settings.threshold_ticks))
				batch_record(s, slot.function, i, slot.ticks, true);
		}
		if (i < ABI_CALLS_FRAMES && s->pending == s->frames[i])
			batch_forget(s);
		h->depth = i;
		s->area->depth = i;
	}
}

/* The depth that remains if only frames at @a and above are left on the stack; @own: else it is a
 * coroutine's, or an alternate one, and depths below @base are not on it. */
static uint32_t depth_above(const struct calls_here *h, const struct calls_self *s, uint64_t a,
			    bool own, uint32_t base)
{
	uint32_t depth = h->depth;

	if (depth > ABI_CALLS_FRAMES) {
		if (address(s->frames[ABI_CALLS_FRAMES - 1]) >= a)
			return depth; /* it cannot be known */
		depth = ABI_CALLS_FRAMES;
	}
	for (; depth > base; depth--) {
		uint64_t frame = address(s->frames[depth - 1]);

		if (own ? is_own(s, frame) && frame >= a : is_own(s, frame) || frame >= a)
			break;
	}
	return depth;
}

static void end_below(struct calls_here *h, struct calls_self *s, uint64_t a)
{
	bool own = is_own(s, a);

	if (s->within && is_own(s, address(s->within)) == own && address(s->within) < a) {
		s->within = NULL;
		s->generation--;
	}
	if (calls_settings.mode == ABI_CALLS_PROFILE)
		return;
	end_calls(h, s, depth_above(h, s, a, own, own ? 0 : s->stacks[s->stack].base));
}

static void set_top(struct calls_here *h, struct calls_self *s, const struct calls_frame *f)
{
	struct calls_frame *top =
		h->depth && h->depth <= ABI_CALLS_FRAMES && calls_settings.mode != ABI_CALLS_PROFILE
			? s->frames[h->depth - 1]
			: NULL;

	h->top = top > f && address(top) - address(f) < CALLS_REACH ? top : floor_above(s, f);
}

/* ---------------------------------------------------------------- entry and exit */

static void switch_to(struct calls_here *h, struct calls_self *s, uint32_t number)
{
	s->stacks[s->stack].top = h->top;
	s->stacks[s->stack].depth = h->depth;
	s->stack = number;
	s->stacks[number].used = ++s->n_switches;
	h->top = s->stacks[number].top;
	h->depth = s->stacks[number].depth;
	s->area->depth = h->depth;
	batch_note(s, ABI_OTHER_STACK, number);
}

/* Goes to the stack that @a lies on. */
static void follow(struct calls_here *h, struct calls_self *s, uint64_t a)
{
	uint32_t number = is_own(s, a) ? 0 : find(s, a);

	if (number == s->stack && (number || is_own(s, a)))
		return;
	if (!number && !is_own(s, a)) {
		if (is_alternate(a))
			return;
		number = replace_oldest(s, a, h->depth);
	}
	switch_to(h, s, number);
	if (a > s->stacks[number].highest)
		s->stacks[number].highest = a;
}

static bool is_close(const struct calls_here *h, const struct calls_frame *f)
{
	return address(h->top) - address(f) - (CALLS_TAIL_BYTES + 1) < CALLS_REACH;
}

/* A hook that was interrupted further down on the same stack does not go on. */
static void forget_hook(struct calls_self *s, const struct calls_frame *f)
{
	uint64_t above = address(f) - address(s->pending);

	if (s->pending && s->pending < f &&
	    (above < CALLS_REACH || (is_own(s, address(f)) && is_own(s, address(s->pending)))))
		batch_forget(s);
}

void stack_enter(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	forget_hook(s, f);
	if (h->top && is_close(h, f))
		return;
	follow(h, s, address(f));
	if (h->top && is_close(h, f))
		return;
	if (h->top <= f)
		end_below(h, s, address(f) + 1);
	set_top(h, s, f);
}

void stack_leave(struct calls_here *h, struct calls_self *s, struct calls_frame *f)
{
	forget_hook(s, f);
	if (h->top == f)
		return;
	follow(h, s, address(f));
	if (h->top < f)
		end_below(h, s, address(f));
}

void stack_jump(struct calls_here *h, struct calls_self *s, const void *target)
{
	uint64_t a = address(target);

	if (is_own(s, a) || (s->stack && find(s, a) == s->stack) || is_alternate(a)) {
		end_below(h, s, a);
		set_top(h, s, target);
	}
}

/* Frames of the parent are whole on our copy of its stack, and each leads to the one before. */
void stack_rebuild(struct calls_here *h, struct calls_self *s)
{
	uint32_t depth = h->depth < ABI_CALLS_FRAMES ? h->depth : ABI_CALLS_FRAMES;

	for (uint32_t i = 0; i < depth; i++)
		s->area->frames[i].announced = 1;
	for (struct calls_frame *f = h->top; is_own(s, address(f)) && address(f) % 16 == 8;) {
		if (!(f->ticks & 1) && f->depth < depth) {
			s->frames[f->depth] = f;
			s->area->frames[f->depth] = (struct abi_calls_frame){
				.ticks = f->ticks,
				.function = f->function,
			};
		}
		if (f->top <= f)
			break;
		f = f->top;
	}
	s->area->depth = h->depth;
}
