/* SPDX-License-Identifier: MIT */
/* Threads that count, slowly, each its own numbers, until SIGTERM; then prints how far each got.
 * Prints "ready" when each has begun.  Not as fast as tests/live/control/programs/counting.c's, because Babeltrace prints their
 * events. */
#include <duet/duet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

DUET_EVENT(follow, number, (i32, thread), (u64, n), (str, text));

enum { THREADS = 3 };
static volatile sig_atomic_t stop;
static int first; /* of our numbers of threads */
static uint64_t counts[THREADS];
static int n_begun;
static char large[2000]; /* of every 100th event: the exclusive path */

static void *count(void *arg)
{
	int thread = (int)(intptr_t)arg;
	uint64_t n = 0;

	for (; !stop; n++) {
		trace_follow_number(first + thread, n, n % 100 ? "small" : large);
		if (!n)
			__atomic_add_fetch(&n_begun, 1, __ATOMIC_RELAXED);
		if (n % 10 == 0)
			usleep(10000);
	}
	counts[thread] = n;
	return NULL;
}

static void on_term(int s)
{
	(void)s;
	stop = 1;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	first = argc > 1 ? atoi(argv[1]) : 0;
	memset(large, 'x', sizeof large - 1);
	signal(SIGTERM, on_term);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, count, (void *)(intptr_t)i);
	while (__atomic_load_n(&n_begun, __ATOMIC_RELAXED) < THREADS)
		usleep(1000);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		printf("%llu\n", (unsigned long long)counts[i]);
	return 0;
}
