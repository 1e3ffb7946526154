/* SPDX-License-Identifier: MIT */
/*
 * tests/cmd/counters/program.c - two threads, one after the other: event, loop, event, event.
 *
 * usage: program ROUNDS           each round of the loop has two instructions
 */
#include <duet/duet.h>

#include <pthread.h>
#include <stdlib.h>

DUET_EVENT(counters, mark, (i32, n));

static __attribute__((noinline)) void loop(unsigned long rounds)
{
#if defined __x86_64__
	__asm__ volatile("1: decq %0; jnz 1b" : "+r"(rounds) : : "cc");
#elif defined __aarch64__
	__asm__ volatile("1: subs %0, %0, #1; b.ne 1b" : "+r"(rounds) : : "cc");
#endif
}

static void *work(void *rounds)
{
	trace_counters_mark(0);
	loop(*(unsigned long *)rounds);
	trace_counters_mark(1);
	trace_counters_mark(2);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	pthread_t t;

	work(&rounds);
	if (pthread_create(&t, NULL, work, &rounds))
		return 1;
	pthread_join(t, NULL);
	return 0;
}
