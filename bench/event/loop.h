/* SPDX-License-Identifier: MIT */
/*
 * bench/event/loop.h - timed loops of events; the same for every tracer.
 *
 * A batch is small enough to stay in the buffers.  A pause follows, in which the collector empties
 * them.  So recorded events are measured, not refused ones.
 *
 * Arguments are processed in order; each measurement prints a line, its own name first:
 *
 *   size=N batches=N pause=MS    for the measurements after it
 *   CASE                         ns per event of each batch, one thread, on the last CPU
 *   CASE@T                       T threads, spread over the CPUs, share a batch: busy CPUs times wall
 *                                time, divided by events: ns, each batch
 *   CASE^                        each event by itself, between two fenced reads of the TSC: quantiles
 *                                0.5, 0.99, 0.999 and the worst, in ns, brackets included
 *
 * At the end a line `made:CASE N` for each case that ran: its events, which the files must hold.
 */
#ifndef BENCH_EVENT_LOOP_H
#define BENCH_EVENT_LOOP_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES_MAX = 1000, THREADS_MAX = 1024, TICKS_MAX = 1 << 18, THREAD_WARMS = 10 };

static const char *volatile text16 = "sixteen letters!";
static volatile int one = 1;
static int n_events = 30000, n_batches = 11, pause_ms = 10;

/* One case by its name: a loop of @n events, and one that calls tick() around each. */
struct bench_case {
	const char *name;
	void (*run)(int n);
	void (*run_each)(int n);
	uint64_t made; /* events so far */
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#if defined __x86_64__
static inline uint64_t tick(void)
{
	__builtin_ia32_lfence(); /* else the event would run on while the clock is read */
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t tick(void)
{
	return (uint64_t)now_ns();
}
#endif

static uint32_t ticks[TICKS_MAX]; /* number of events by their ticks; the last: so many or more */
static uint64_t ticks_worst;

static inline void count_ticks(uint64_t n)
{
	ticks[n < TICKS_MAX ? n : TICKS_MAX - 1]++;
	if (n > ticks_worst)
		ticks_worst = n;
}

static void pin(int cpu)
{
	cpu_set_t s;

	CPU_ZERO(&s);
	CPU_SET(cpu, &s);
	sched_setaffinity(0, sizeof s, &s);
}

static int n_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void rest(void)
{
	nanosleep(&(struct timespec){ pause_ms / 1000, pause_ms % 1000 * 1000000l }, NULL);
}

static void print(const char *name, const double *ns, int n)
{
	printf("%s", name);
	for (int i = 0; i < n; i++)
		printf(" %.3f", ns[i]);
	putchar('\n');
	fflush(stdout);
}

static void bench_one(const char *name, struct bench_case *c)
{
	void (*run)(int n) = c->run;
	double ns[BATCHES_MAX];

	c->made += (uint64_t)(n_events / 10) + (uint64_t)n_events * (uint64_t)n_batches;

	pin(n_cpus() - 1);
	run(n_events / 10);
	for (int i = 0; i < n_batches; i++) {
		double begin = now_ns();

		run(n_events);
		ns[i] = (now_ns() - begin) / n_events;
		rest();
	}
	print(name, ns, n_batches);
}

/* The lowest number of ticks that the fraction @q of all @n events did not exceed. */
static double quantile(double q, uint64_t n)
{
	uint64_t wanted = (uint64_t)(q * (double)n), seen = 0;

	for (int i = 0; i < TICKS_MAX; i++) {
		seen += ticks[i];
		if (seen > wanted)
			return i;
	}
	return TICKS_MAX;
}

static void bench_each(const char *name, struct bench_case *c)
{
	void (*run_each)(int n) = c->run_each;
	uint64_t n = (uint64_t)n_events * (uint64_t)n_batches, first_tick;
	double out[4], begin, ns_per_tick;

	c->made += (uint64_t)(n_events / 10) + n;

	pin(n_cpus() - 1);
	run_each(n_events / 10);
	memset(ticks, 0, sizeof ticks);
	ticks_worst = 0;
	begin = now_ns();
	first_tick = tick();
	for (int i = 0; i < n_batches; i++) {
		run_each(n_events);
		rest();
	}
	ns_per_tick = (now_ns() - begin) / (double)(tick() - first_tick);
	out[0] = quantile(0.5, n) * ns_per_tick;
	out[1] = quantile(0.99, n) * ns_per_tick;
	out[2] = quantile(0.999, n) * ns_per_tick;
	out[3] = (double)ticks_worst * ns_per_tick;
	print(name, out, 4);
}

struct worker {
	pthread_t thread;
	int cpu, n;
	void (*run)(int n);
	pthread_barrier_t *barrier;
	double begin[BATCHES_MAX], end[BATCHES_MAX];
};

static void *work(void *arg)
{
	struct worker *w = arg;

	pin(w->cpu);
	w->run(THREAD_WARMS);
	for (int i = 0; i < n_batches; i++) {
		pthread_barrier_wait(w->barrier);
		w->begin[i] = now_ns();
		w->run(w->n);
		w->end[i] = now_ns();
		pthread_barrier_wait(w->barrier);
		rest();
	}
	return NULL;
}

/* From the start of the first to the end of the last. */
static double wall_ns(const struct worker *w, int n, int batch)
{
	double begin = w[0].begin[batch], end = w[0].end[batch];

	for (int i = 1; i < n; i++) {
		begin = w[i].begin[batch] < begin ? w[i].begin[batch] : begin;
		end = w[i].end[batch] > end ? w[i].end[batch] : end;
	}
	return end - begin;
}

static void bench_threads(const char *name, struct bench_case *c, int n)
{
	struct worker *w = calloc((size_t)n, sizeof *w);
	int busy = n < n_cpus() ? n : n_cpus(), each = n_events / n;
	pthread_barrier_t barrier;
	double ns[BATCHES_MAX];

	if (!w)
		exit(1);
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		w[i] = (struct worker){ .cpu = n_cpus() - 1 - i % n_cpus(),
					.n = each,
					.run = c->run,
					.barrier = &barrier };
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			exit(1);
	}
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	for (int k = 0; k < n_batches; k++)
		ns[k] = wall_ns(w, n, k) * busy / ((double)each * n);
	c->made += (uint64_t)n * (THREAD_WARMS + (uint64_t)each * (uint64_t)n_batches);
	free(w);
	print(name, ns, n_batches);
}

static struct bench_case *find_case(struct bench_case *cases, const char *name, size_t length)
{
	for (; cases->name; cases++)
		if (strlen(cases->name) == length && !memcmp(cases->name, name, length))
			return cases;
	fprintf(stderr, "no case \"%s\"\n", name);
	exit(2);
}

static void run_argument(struct bench_case *cases, const char *a)
{
	size_t length = strcspn(a, "@^");
	int n;

	if (sscanf(a, "size=%d", &n) == 1) {
		n_events = n;
	} else if (sscanf(a, "batches=%d", &n) == 1) {
		n_batches = n < BATCHES_MAX ? n : BATCHES_MAX;
	} else if (sscanf(a, "pause=%d", &n) == 1) {
		pause_ms = n;
	} else if (a[length] == '^') {
		bench_each(a, find_case(cases, a, length));
	} else if (a[length] == '@') {
		n = atoi(a + length + 1);
		bench_threads(a, find_case(cases, a, length), n < 1 || n > THREADS_MAX ? 1 : n);
	} else {
		bench_one(a, find_case(cases, a, length));
	}
}

static inline int bench_main(struct bench_case *cases, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_argument(cases, argv[i]);
	for (; cases->name; cases++)
		if (cases->made)
			printf("made:%s %llu\n", cases->name, (unsigned long long)cases->made);
	return 0;
}

#define LOOP(name, statement)                                                                      \
	static __attribute__((noinline)) void name(int n)                                          \
	{                                                                                          \
		for (int i = 0; i < n; i++) {                                                      \
			statement;                                                                 \
		}                                                                                  \
	}                                                                                          \
	static __attribute__((noinline)) void name##_each(int n)                                   \
	{                                                                                          \
		for (int i = 0; i < n; i++) {                                                      \
			uint64_t begin = tick();                                                   \
			statement;                                                                 \
			count_ticks(tick() - begin);                                               \
		}                                                                                  \
	}
#define CASE(text, name)                                                                           \
	{                                                                                          \
		text, name, name##_each, 0                                                         \
	}

#endif
