/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/calibrate.c - the cost of one recorded call, measured when recording begins.
 *
 * Reports show it beside durations.  A stub of our own calls the hooks of exact mode, in an area
 * that no reader sees, with signals blocked.
 */
#include <sys/mman.h>

#include "inproc/calls/hook/record.h"
#include "inproc/calls/hook/slow.h"
#include "inproc/calls/hook/thread.h"

enum { ROUNDS = 20, CALLS = 100, FRACTION_BITS = 8 };

/* A stub of function 1, which does nothing. */
void calls_call_nothing(void) CALLS_HIDDEN;
__asm__(".pushsection .text\n"
	".globl calls_call_nothing\n"
	".hidden calls_call_nothing\n"
	".type calls_call_nothing, @function\n"
	".p2align 4\n"
	"calls_call_nothing:\n"
	"	lea -16(%rsp), %rsp\n"
	"	push $1\n"
	"	call calls_enter\n"
	"	cmpq $0, 16(%rsp)\n"
	"	je 1f\n"
	"	call 1f\n"
	"	call calls_leave_exact\n"
	"	lea 24(%rsp), %rsp\n"
	"1:	ret\n"
	".size calls_call_nothing, . - calls_call_nothing\n"
	".popsection\n");

static uint64_t ticks_of_calls(struct calls_self *s)
{
	uint64_t begin;

	batch_open(s);
	begin = calls_ticks();
	for (int i = 0; i < CALLS; i++)
		calls_call_nothing();
	return calls_ticks() - begin;
}

static uint64_t lowest(struct calls_self *s)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t ticks = ticks_of_calls(s);

		if (ticks < best)
			best = ticks;
	}
	return best;
}

/* As the only thread that records; `top` is just above its frames. */
static uint64_t measure(struct calls_self *s)
{
	struct calls_here before, *h = &calls_here;
	struct calls_slow slow;
	uint64_t ticks;

	slow_begin(&slow);
	before = *h;
	*h = (struct calls_here){ .self = s, .top = (void *)((uintptr_t)&slow + 4096) };
	s->reach = CALLS_REACH;
	s->most_depth = 1;
	ticks = lowest(s);
	*h = before;
	slow_end(&slow);
	return ticks;
}

uint32_t calls_calibrate(void)
{
	struct {
		struct abi_calls_thread area;
		struct calls_self self;
	} * scratch;
	uint64_t ticks = 0;

	if (!calls_settings.has_ticks)
		return 0;
	scratch = mmap(NULL, sizeof *scratch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (scratch == MAP_FAILED)
		return 0;
	scratch->self.area = &scratch->area;
	ticks = measure(&scratch->self);
	munmap(scratch, sizeof *scratch);
	return (uint32_t)((ticks << FRACTION_BITS) / CALLS);
}
