/* SPDX-License-Identifier: MIT */
/*
 * bench/live/program.c - events at a steady rate: program PER_SECOND SECONDS.
 *
 * For duet, or for LTTng-UST with -DWITH_LTTNG.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifdef WITH_LTTNG
#include "lttng_tp.h"
#define EVENT(n) lttng_ust_tracepoint(bench, int1, n)
#else
#include <duet/duet.h>
DUET_EVENT(bench, int1, (int, a));
#define EVENT(n) trace_bench_int1(n)
#endif

int main(int argc, char **argv)
{
	long per_second = argc > 1 ? atol(argv[1]) : 1000,
	     n = per_second * (argc > 2 ? atol(argv[2]) : 10);
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	for (long i = 0; i < n; i++) {
		EVENT((int)i);
		t.tv_nsec += 1000000000 / per_second;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	return 0;
}
