/* SPDX-License-Identifier: MIT */
/*
 * tests/live/network/programs/relay_clock.c - preloaded: the wall clock of another host, RELAY_CLOCK_MS ahead.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t)
{
	const char *ahead = getenv("RELAY_CLOCK_MS");
	int err = (int)syscall(SYS_clock_gettime, id, t);
	long ms = ahead && id == CLOCK_REALTIME ? atol(ahead) : 0;

	t->tv_sec += ms / 1000;
	t->tv_nsec += ms % 1000 * 1000000;
	if (t->tv_nsec >= 1000000000) {
		t->tv_nsec -= 1000000000;
		t->tv_sec++;
	}
	return err;
}
