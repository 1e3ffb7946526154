/* SPDX-License-Identifier: MIT */
/*
 * sim/step.c - code interrupted, or ended, before its n-th instruction: see sim.h.
 *
 * The single-step flag of the CPU raises SIGTRAP after each instruction; the handler counts.  A
 * function that the handler calls may step through code of its own, so there is a stack of
 * counters.  On architectures other than x86-64 nothing is interrupted.
 */
#include <setjmp.h>
#include <signal.h>

#include "sim.h"

struct stepping {
	int64_t left;
	bool is_armed; /* begins when we come back: step_arm */
	void (*then)(void *arg, ucontext_t *u);
	void *arg;
	sigjmp_buf out;
	struct stepping *outer;
};
static struct stepping *current;
static bool is_on; /* the flag is set in the code that runs */

#if defined __x86_64__
enum { TRAP_FLAG = 0x100 };

static __attribute__((noinline)) void set_flag(void)
{
	is_on = true;
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
}

static __attribute__((noinline)) void clear_flag(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
	is_on = false;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	struct stepping *s = current;
	ucontext_t *u = context;

	(void)signal;
	(void)info;
	if (s && s->left-- > 0)
		return;
	u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	is_on = false;
	if (s && s->then)
		s->then(s->arg, u);
}

void step_init(void)
{
	struct sigaction a = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGTRAP, &a, NULL);
}
#else
static void set_flag(void)
{
}
static void clear_flag(void)
{
}
void step_init(void)
{
}
#endif

bool step_run(int64_t n, void (*work)(void *arg), void (*then)(void *arg, ucontext_t *u), void *arg)
{
	struct stepping s = { .left = n, .then = then, .arg = arg, .outer = current };

	current = &s;
	if (sigsetjmp(s.out, 1)) {
		current = s.outer;
		is_on = false;
		return false;
	}
	if (n >= 0)
		set_flag();
	work(arg);
	if (is_on)
		clear_flag();
	current = s.outer;
	return true;
}

void step_arm(int64_t n)
{
	current->left = n;
	current->is_armed = true;
}

void step_out(void)
{
	siglongjmp(current->out, 1);
}

bool step_pause(void)
{
	bool was_on = is_on;

	if (was_on)
		clear_flag();
	return was_on;
}

void step_go_on(bool was_on)
{
	bool is_armed = current && current->is_armed;

	if (is_armed)
		current->is_armed = false;
	if (was_on || is_armed)
		set_flag();
}
