/* SPDX-License-Identifier: MIT */
/*
 * examples/steer.c - a program that saves the events before its slow requests, and no others.
 *
 *	cc -o steer steer.c $(pkg-config --cflags duet) -lduet-control
 *	duet record --overwrite -- ./steer
 *
 * It is recorded into memory; when a request takes too long it takes a snapshot.
 */
#include <duet/control.h>
#include <duet/duet.h>

#include <stdio.h>
#include <time.h>

enum { SLOW_MS = 20 };

DUET_EVENT(shop, request, (i32, id), (i32, took_ms));

static void work(int ms)
{
	struct timespec t = { 0, ms * 1000000L };

	nanosleep(&t, NULL);
}

static void keep_what_led_to_it(int id)
{
	struct duet_control c = { .size = sizeof c };
	struct duet_snapshot_options o = { .size = sizeof o };
	char path[DUET_PATH_BYTES];

	o.last_ns = 1000000000; /* one second is enough */
	c.limit_ns = 5000000000u;
	if (duet_snapshot(&c, &o, path, sizeof path))
		printf("request %d was slow, but nothing is kept: %s\n", id, c.why);
	else
		printf("request %d was slow: duet view %s\n", id, path);
}

int main(void)
{
	for (int id = 0; id < 10; id++) {
		int ms = id == 7 ? SLOW_MS : 1;

		work(ms);
		trace_shop_request(id, ms);
		if (ms >= SLOW_MS)
			keep_what_led_to_it(id);
	}
	return 0;
}
