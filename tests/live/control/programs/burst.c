/* SPDX-License-Identifier: MIT */
/*
 * live/control/programs/burst.c - events of 35 bytes of two busy threads from its first moment on.
 *
 *	burst N RATE	N events in each, RATE a second in both, or as many as it can; prints all of
 *			them, and how many a second
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <duet/duet.h>

DUET_EVENT(burst, event, (u64, a), (u64, b), (u64, c), (u8, thread));

enum { THREADS = 2, EVENTS_A_LOOK = 256 };
static long n_events, rate;
static double began;
static pthread_barrier_t begin;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *arg)
{
	uint8_t thread = (uint8_t)(uintptr_t)arg;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(thread, &cpu);
	sched_setaffinity(0, sizeof cpu, &cpu); /* where there is one CPU they share it */
	pthread_barrier_wait(&begin);
	for (long i = 0; i < n_events; i++) {
		trace_burst_event((uint64_t)i, 1, 2, thread);
		if (i % EVENTS_A_LOOK == 0)
			while (now_s() - began < (double)i * THREADS / (double)rate)
				; /* it does not leave the CPU to the collector */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 3 || (n_events = atol(argv[1])) <= 0 || (rate = atol(argv[2])) <= 0)
		return 2;
	pthread_barrier_init(&begin, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	began = now_s();
	pthread_barrier_wait(&begin);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %.0f\n", THREADS * n_events, (double)(THREADS * n_events) / (now_s() - began));
	return 0;
}
