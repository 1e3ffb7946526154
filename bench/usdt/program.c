/* SPDX-License-Identifier: MIT */
/*
 * bench/usdt/program.c - hits of a mark with two arguments, and of an ordinary event with the same.
 *
 *	program BATCHES HITS
 *
 * Prints, for loops without either, with the mark, with the event, the median and the lowest of
 * BATCHES loops of HITS, in nanoseconds of the thread's CPU time a hit.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <time.h>

#include <duet/duet.h>

DUET_EVENT(bench, event, (uint64_t, i), (uint64_t, total));

enum { BATCHES_MAX = 10000 };

#define ALONE __attribute__((noinline, noipa)) static

ALONE uint64_t empty(uint64_t i, uint64_t total)
{
	return i ^ total;
}

ALONE uint64_t marked(uint64_t i, uint64_t total)
{
	DTRACE_PROBE2(bench, mark, i, total);
	return i ^ total;
}

ALONE uint64_t evented(uint64_t i, uint64_t total)
{
	trace_bench_event(i, total);
	return i ^ total;
}

static int by_time(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(const char *name, uint64_t (*f)(uint64_t, uint64_t), int batches, uint64_t hits)
{
	static double times[BATCHES_MAX];
	uint64_t total = 0;

	for (int b = 0; b < batches; b++) {
		double begin = cpu_ns();

		for (uint64_t i = 0; i < hits; i++)
			total ^= f(i, total);
		times[b] = (cpu_ns() - begin) / (double)hits;
	}
	qsort(times, (size_t)batches, sizeof *times, by_time);
	printf("%s %.1f %.1f %d\n", name, times[batches / 2], times[0], (int)(total & 1));
}

int main(int argc, char **argv)
{
	int batches = argc > 1 ? atoi(argv[1]) : 100;
	uint64_t hits = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;

	if (batches < 1 || batches > BATCHES_MAX || !hits)
		return 2;
	measure("loop", empty, batches, hits);
	measure("mark", marked, batches, hits);
	measure("event", evented, batches, hits);
	return 0;
}
