/* SPDX-License-Identifier: MIT */
/*
 * bench/kernel/loop.c - the cost of one operation, repeated.
 *
 * usage: loop getppid|openat|write|switch COUNT CPU
 *
 * Prints nanoseconds per turn, of the 100th fastest of a thousand batches, since other work on the
 * machine disturbs many of them.  A turn of openat includes a close.  A turn of switch is a byte
 * through a pipe to another process on the same CPU, and back: two switches, two wake-ups.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 1000 };

static int ping[2], pong[2];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void get_parent(void)
{
	syscall(SYS_getppid);
}

static void open_and_close(void)
{
	close(openat(AT_FDCWD, "/etc/passwd", O_RDONLY));
}

static void write_some(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/null", O_WRONLY);
	if (write(fd, "what is written, more than 32 bytes of it\n", 42) != 42)
		exit(2);
}

static void ask(void)
{
	char byte = 0;

	if (write(ping[1], &byte, 1) != 1 || read(pong[0], &byte, 1) != 1)
		exit(2);
}

/* The other process. */
static void answer(void)
{
	char byte;

	if (pipe(ping) || pipe(pong))
		exit(2);
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ping[1]);
	while (read(ping[0], &byte, 1) == 1)
		if (write(pong[1], &byte, 1) != 1)
			break;
	_exit(0);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	uint64_t batches[BATCHES], begin_ns;
	void (*turn)(void);
	cpu_set_t cpus;
	long count;

	if (argc != 4)
		return 2;
	turn = !strcmp(argv[1], "openat")   ? open_and_close
	       : !strcmp(argv[1], "switch") ? ask
	       : !strcmp(argv[1], "write")  ? write_some
					    : get_parent;
	count = atol(argv[2]) / BATCHES;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[3]), &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	setpriority(PRIO_PROCESS, 0, -20); /* other work there seldom comes in between */
	if (turn == ask)
		answer();
	for (int b = 0; b < BATCHES; b++) {
		begin_ns = now_ns();
		for (long i = 0; i < count; i++)
			turn();
		batches[b] = now_ns() - begin_ns;
	}
	qsort(batches, BATCHES, sizeof *batches, by_value);
	fprintf(stderr, "duet-loop %.1f\n", (double)batches[BATCHES / 10] / (double)count);
	return 0;
}
