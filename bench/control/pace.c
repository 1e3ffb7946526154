/* SPDX-License-Identifier: MIT */
/*
 * bench/control/pace.c - a preload library that makes a collector's disk slow.
 *
 * Each write to files below PACE_DIRECTORY takes as long as PACE_BYTES_PER_S defines.  Every write
 * waits: unlike on a real disk, no page cache hides it for a while.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int is_paced(int fd)
{
	const char *directory = getenv("PACE_DIRECTORY");
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	if (n <= 0 || !directory)
		return 0;
	path[n] = 0;
	return !strncmp(path, directory, strlen(directory));
}

static void wait_for(ssize_t bytes)
{
	double s = (double)bytes / atof(getenv("PACE_BYTES_PER_S"));
	struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	while (bytes > 0 && nanosleep(&t, &t))
		;
}

ssize_t writev(int fd, const struct iovec *v, int n)
{
	ssize_t (*real)(int, const struct iovec *, int) =
		(ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
	ssize_t done = real(fd, v, n);

	if (is_paced(fd))
		wait_for(done);
	return done;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	ssize_t (*real)(int, const void *, size_t) =
		(ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	ssize_t done = real(fd, bytes, size);

	if (is_paced(fd))
		wait_for(done);
	return done;
}
