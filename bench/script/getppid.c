/* SPDX-License-Identifier: MIT */
/*
 * bench/script/getppid.c - nanoseconds of one getppid(): the least of ROUNDS rounds of CALLS calls.
 *
 * Short rounds find a moment in which nothing else ran, also on a busy machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/monotonic.h"

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 2000, rounds = argc > 2 ? atol(argv[2]) : 1500;
	double best = 1e9;

	for (long r = 0; r < rounds; r++) {
		uint64_t begin = monotonic_ns();
		double each;

		for (long i = 0; i < calls; i++)
			syscall(SYS_getppid);
		each = (double)(monotonic_ns() - begin) / (double)calls;
		best = each < best ? each : best;
	}
	printf("%.1f\n", best);
	return 0;
}
