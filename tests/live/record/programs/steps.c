/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/steps.c - a library to preload: clocks that are set, without touching the machine's.
 *
 * The file $STEPS has three numbers of 64 bits, read at each call: nanoseconds added to the wall clock, nanoseconds added
 * to CLOCK_BOOTTIME (as if the machine had been suspended), and a wall clock that stands still, or 0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct steps {
	volatile int64_t wall_ns, boot_ns, still_ns;
};

static const struct steps none, *steps = &none;

__attribute__((constructor)) static void open_steps(void)
{
	const char *path = getenv("STEPS");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		steps = p;
}

static void set(struct timespec *t, int64_t ns)
{
	t->tv_sec = (time_t)(ns / 1000000000);
	t->tv_nsec = (long)(ns % 1000000000);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int result = (int)syscall(SYS_clock_gettime, id, t);
	int64_t ns;

	if (result || (id != CLOCK_REALTIME && id != CLOCK_BOOTTIME))
		return result;
	ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
	if (id == CLOCK_BOOTTIME)
		set(t, ns + steps->boot_ns);
	else
		set(t, steps->still_ns ? steps->still_ns : ns + steps->wall_ns);
	return 0;
}

time_t time(time_t *to)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}
