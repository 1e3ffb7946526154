/* SPDX-License-Identifier: MIT */
/*
 * tests/qemu/calls.c - makes system calls, exactly as many as it is told, and tells its pid.
 *
 * usage: calls getppid|open|sleep N [FILE | MILLISECONDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void call(const char *what, const char *how)
{
	struct timespec t = { .tv_nsec = how ? atol(how) * 1000000 : 0 };
	int fd;

	if (!strcmp(what, "getppid"))
		syscall(SYS_getppid);
	if (!strcmp(what, "sleep"))
		nanosleep(&t, NULL);
	if (!strcmp(what, "open")) {
		fd = (int)syscall(SYS_openat, AT_FDCWD, how, O_RDONLY);
		if (fd >= 0)
			close(fd);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	for (long n = atol(argv[2]); n > 0; n--)
		call(argv[1], argc > 3 ? argv[3] : NULL);
	printf("%d\n", (int)getpid());
	return 0;
}
