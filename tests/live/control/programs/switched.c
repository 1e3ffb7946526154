/* SPDX-License-Identifier: MIT */
/*
 * tests/live/control/programs/switched.c - lives until a signal ends it, records a number every millisecond,
 * and reports when a call of a site took long.
 *
 * usage: program [SECONDS [fork]]     fork: it is a child that lives, its parent ends at once
 */
#include <duet/duet.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

DUET_EVENT_LEVEL(shop, DUET_INFO, order, (i32, id), (str, item));
DUET_EVENT(shop, tick);
DUET_EVENT(other, thing, (x64, value));

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1e9), worst = 0;

	if (argc > 2 && fork())
		_exit(0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	for (int i = 0; i < 60 || now() < end; i++) { /* a busy machine may let no time for one */
		double begin = now(), took;

		trace_shop_order(i, "tea");
		trace_shop_tick();
		trace_other_thing((unsigned long long)i);
		trace_mark(shop, marked, "at %d", i);
		took = now() - begin;
		if (took > worst)
			worst = took;
		usleep(1000);
	}
	printf("worst %.6f\n", worst);
	return 0;
}
