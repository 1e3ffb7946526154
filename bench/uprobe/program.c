/* SPDX-License-Identifier: MIT */
/*
 * bench/uprobe/program.c - the cost of a probe's hit: ns per call, the best of seven rounds.
 *
 * usage: program N     of a function (first instruction: push), and of a marker of sys/sdt.h (nop)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void probed_function(int64_t i);
__attribute__((noinline)) void probed_function(int64_t i)
{
	__asm__ volatile("" : : "r"(i) : "rbx", "memory");
}

static void marker(int64_t i)
{
	STAP_PROBE1(bench, marker, i);
}

static double best(void (*what)(int64_t), long n)
{
	double least = 1e18;

	for (int round = 0; round < 7; round++) {
		uint64_t begin = now_ns();

		for (long i = 0; i < n; i++)
			what(i);
		double ns = (double)(now_ns() - begin) / (double)n;

		least = ns < least ? ns : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10000;

	printf("%.0f %.0f\n", best(probed_function, n), best(marker, n));
	return 0;
}
