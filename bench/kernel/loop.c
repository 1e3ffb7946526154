/* SPDX-License-Identifier: MIT */
/*
 * bench/kernel/loop.c - one system call again and again: what does it cost?
 *
 * usage: loop getppid|openat COUNT CPU
 *
 * Prints nanoseconds per turn, the median of a thousand batches: what else runs on the machine disturbs some of them.
 * A turn of openat has a close, too.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 1000 };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void turn(int opens)
{
	if (opens)
		close(openat(AT_FDCWD, "/etc/passwd", O_RDONLY));
	else
		syscall(SYS_getppid);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	uint64_t batches[BATCHES], begin_ns;
	cpu_set_t cpus;
	int opens;
	long count;

	if (argc != 4)
		return 2;
	opens = !strcmp(argv[1], "openat");
	count = atol(argv[2]) / BATCHES;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[3]), &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	for (int b = 0; b < BATCHES; b++) {
		begin_ns = now_ns();
		for (long i = 0; i < count; i++)
			turn(opens);
		batches[b] = now_ns() - begin_ns;
	}
	qsort(batches, BATCHES, sizeof *batches, by_value);
	fprintf(stderr, "duet-loop %.1f\n", (double)batches[BATCHES / 2] / (double)count);
	return 0;
}
