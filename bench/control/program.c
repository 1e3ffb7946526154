/* SPDX-License-Identifier: MIT */
/*
 * bench/control/program.c - programs whose events are enabled while they run.
 *
 * usage: program once PERIOD_US        one event per period; 0: without a pause
 *        program crowd N PERIOD_US     N such programs, executed; reports when all have begun; runs
 *                                      until it is ended
 *        program cost SECONDS RATE WARM
 *                                      WARM events, which touch the buffers' pages for the first
 *                                      time, then RATE events a second.  Prints the number of all
 *                                      events, and the cost of one of the latter: p50, p99, p99.9,
 *                                      max, in ns, two clock reads included
 *
 * WITH_LTTNG: the same with LTTng-UST's tracepoint, bench:int1.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_LTTNG
#include "lttng_tp.h"
#define STEP(i) lttng_ust_tracepoint(bench, int1, i)
#else
#include <duet/duet.h>
DUET_EVENT(control, step, (i32, i));
#define STEP(i) trace_control_step(i)
#endif

enum { LONGEST_NS = 1 << 20 };

static _Noreturn void once(long period_us)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0;; i++) {
		STEP(i);
		if (period_us)
			usleep((useconds_t)period_us);
	}
}

static int crowd(char *self, int n, char *period_us)
{
	volatile int i; /* vfork returns twice */

	for (i = 0; i < n; i++) {
		pid_t pid = vfork(); /* continues when the child has executed */

		if (!pid) {
			execl(self, self, "once", period_us, (char *)NULL);
			_exit(127);
		}
		if (pid < 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t took[LONGEST_NS + 1]; /* number of events by their ns */

static unsigned percentile(uint64_t n, double share)
{
	uint64_t below = 0;

	for (unsigned ns = 0; ns <= LONGEST_NS; ns++) {
		below += took[ns];
		if ((double)below >= share * (double)n)
			return ns;
	}
	return LONGEST_NS;
}

static int cost(double seconds, double rate, int warm)
{
	uint64_t begin, end, before, ns, max = 0, n = 0;

	for (int i = 0; i < warm; i++)
		STEP(i);
	usleep(100000); /* lets the collector empty its buffers, if it can */
	begin = now_ns();
	end = begin + (uint64_t)(seconds * 1e9);
	while ((before = now_ns()) < end) {
		if ((double)n > (double)(before - begin) / 1e9 * rate) {
			usleep(500);
			continue;
		}
		STEP((int)n);
		ns = now_ns() - before;
		max = ns > max ? ns : max;
		took[ns < LONGEST_NS ? ns : LONGEST_NS]++;
		n++;
	}
	printf("%llu %u %u %u %llu\n", (unsigned long long)n + (unsigned)warm, percentile(n, 0.5),
	       percentile(n, 0.99), percentile(n, 0.999), (unsigned long long)max);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "once"))
		once(atol(argv[2]));
	if (argc > 3 && !strcmp(argv[1], "crowd"))
		return crowd(argv[0], atoi(argv[2]), argv[3]);
	if (argc > 4 && !strcmp(argv[1], "cost"))
		return cost(atof(argv[2]), atof(argv[3]), atoi(argv[4]));
	return 2;
}
