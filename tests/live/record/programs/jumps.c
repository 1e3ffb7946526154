/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/jumps.c - signal handlers that leave large events by siglongjmp(3), on
 * the thread's stack and on a stack of their own; small events go on between.
 *
 *	jumps N LAST [alt]
 *
 * Writes "<attempted> <completed> <jumps>" to standard output.  In the end LAST large events are
 * written in peace.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "duet/duet.h"

enum { LARGE = 20000 };

DUET_EVENT(jumps, large, (u32, n), (seq(u8), bytes));
DUET_EVENT(jumps, last, (u32, n), (seq(u8), bytes));
DUET_EVENT(jumps, small, (u32, n));

static uint8_t bytes[LARGE];
static sigjmp_buf out;
static volatile unsigned attempted, completed, jumps;
static volatile sig_atomic_t is_inside;

static void handler(int sig)
{
	(void)sig;
	if (!is_inside)
		return;
	trace_jumps_small(jumps);
	siglongjmp(out, 1);
}

static void arm(long us)
{
	struct itimerval t = { { 0, 0 }, { 0, us } };

	setitimer(ITIMER_REAL, &t, NULL);
}

/* Writes large events until one is left: the timer runs out soon after each has begun. */
static __attribute__((noinline)) void write_until_left(unsigned i)
{
	for (;;) {
		attempted = attempted + 1;
		arm(1 + (long)(attempted % 13));
		is_inside = 1;
		trace_jumps_large(i, bytes, LARGE);
		is_inside = 0;
		completed = completed + 1;
	}
}

int main(int argc, char **argv)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction a = { .sa_flags = argc > 3 ? SA_ONSTACK : 0 };
	volatile unsigned n;

	if (argc < 3)
		return 2;
	n = (unsigned)atoi(argv[1]);
	a.sa_handler = handler;
	sigaltstack(&alternate, NULL);
	sigaction(SIGALRM, &a, NULL);
	while (jumps < n) {
		if (sigsetjmp(out, 1)) {
			is_inside = 0;
			jumps = jumps + 1;
		}
		usleep(300); /* so that the recorder can follow */
		if (jumps < n)
			write_until_left(jumps);
	}
	arm(0);
	for (int i = 0; i < atoi(argv[2]); i++)
		trace_jumps_last((uint32_t)i, bytes, LARGE);
	printf("%u %u %u\n", attempted, completed, jumps);
	return 0;
}
