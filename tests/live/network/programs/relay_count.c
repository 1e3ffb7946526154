/* SPDX-License-Identifier: MIT */
/*
 * tests/live/network/programs/relay_count.c - numbers from 0 up, each an event; then prints how many.
 *
 * usage: relay_count N PER_SECOND [WAIT_FOR_FILE [AT]]
 *
 * PER_SECOND 0: as fast as it goes.  With a file's name it goes on from number AT, or 0, when the
 * file is there.
 */
#include <duet/duet.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

DUET_EVENT(relay, number, (u64, n), (str, filler));

static void wait_ns(long ns)
{
	nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0,
		 at = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	long per_second = argc > 2 ? atol(argv[2]) : 0, burst = per_second / 200 + 1;

	for (uint64_t i = 0; i < n; i++) {
		while (argc > 3 && i == at && access(argv[3], F_OK))
			wait_ns(1000000);
		trace_relay_number(i, "what fills a link of 64 kB/s soon enough");
		if (per_second && i % (uint64_t)burst == 0)
			wait_ns(1000000000 / per_second * burst);
	}
	printf("%llu\n", (unsigned long long)n);
	return 0;
}
