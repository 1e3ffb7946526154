/* SPDX-License-Identifier: MIT */
/* The library that late.c opens. */
#include <time.h>

void busy_late(double seconds);

static volatile unsigned long spun;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void busy_late(double seconds)
{
	for (double end = now_s() + seconds; now_s() < end;)
		for (int i = 0; i < 100000; i++)
			spun += (unsigned)i;
	spun++;
}
