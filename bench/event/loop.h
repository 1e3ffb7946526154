/* SPDX-License-Identifier: MIT */
/*
 * bench/event/loop.h - batches of events, timed; the same for every tracer.
 *
 * A batch is small enough to stay in the buffers, and followed by a pause in which the collector
 * empties them: what is measured is an event that is recorded, not one that is refused.
 * For each case one line: name, then nanoseconds per event of each batch.
 */
#ifndef BENCH_EVENT_LOOP_H
#define BENCH_EVENT_LOOP_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 30000, BATCHES = 41, PAUSE_NS = 20000000, THREADS = 2 };

static const char *volatile text16 = "sixteen letters!";
static volatile int one = 1;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t s;

	CPU_ZERO(&s);
	CPU_SET(cpu, &s);
	sched_setaffinity(0, sizeof s, &s);
}

static void measure(void (*run)(int n), double *ns)
{
	run(BATCH / 10);
	for (int i = 0; i < BATCHES; i++) {
		double begin = now_ns();

		run(BATCH);
		ns[i] = (now_ns() - begin) / BATCH;
		nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
	}
}

static void print(const char *name, const double *ns, int n)
{
	printf("%s", name);
	for (int i = 0; i < n; i++)
		printf(" %.3f", ns[i]);
	putchar('\n');
	fflush(stdout);
}

static inline void bench(const char *name, void (*run)(int n))
{
	double ns[BATCHES];

	pin(1);
	measure(run, ns);
	print(name, ns, BATCHES);
}

struct worker {
	pthread_t thread;
	int cpu;
	void (*run)(int n);
	pthread_barrier_t *barrier;
	double ns[BATCHES];
};

static void *work(void *arg)
{
	struct worker *w = arg;

	pin(w->cpu);
	w->run(BATCH / 10);
	for (int i = 0; i < BATCHES; i++) {
		pthread_barrier_wait(w->barrier);
		double begin = now_ns();

		w->run(BATCH);
		w->ns[i] = (now_ns() - begin) / BATCH;
		nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
	}
	return NULL;
}

/* Both CPUs at once; each batch counts as the mean of its threads. */
static inline void bench_threads(const char *name, void (*run)(int n))
{
	struct worker w[THREADS];
	pthread_barrier_t barrier;
	double ns[BATCHES];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .cpu = i, .run = run, .barrier = &barrier };
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	for (int k = 0; k < BATCHES; k++)
		ns[k] = (w[0].ns[k] + w[1].ns[k]) / THREADS;
	print(name, ns, BATCHES);
}

#define LOOP(name, statement)                                                                      \
	static __attribute__((noinline)) void name(int n)                                          \
	{                                                                                          \
		for (int i = 0; i < n; i++) {                                                      \
			statement;                                                                 \
		}                                                                                  \
	}

#endif
