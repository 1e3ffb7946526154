/* SPDX-License-Identifier: MIT */
/*
 * tests/qemu/calls.c - makes system calls, exactly as many as requested, and prints its pid.
 *
 * usage: calls getppid|open|sleep N [FILE | MILLISECONDS]
 *        calls crowd N MILLISECONDS: N processes sleep so long, most of it at the same time
 *        calls loaded 1: prints how many programs and maps of BPF the kernel has instead
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void call(const char *what, const char *how)
{
	long ms = how ? atol(how) : 0;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
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

static void crowd(long n, const char *how)
{
	for (; n > 0; n--)
		if (!fork()) {
			call("sleep", how);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
}

static int count(enum bpf_cmd next)
{
	union bpf_attr a;
	int n = 0;

	memset(&a, 0, sizeof a);
	for (; !syscall(SYS_bpf, next, &a, sizeof a); n++)
		a.start_id = a.next_id;
	return n;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "loaded"))
		return printf("%d %d\n", count(BPF_PROG_GET_NEXT_ID), count(BPF_MAP_GET_NEXT_ID)) <
		       0;
	if (!strcmp(argv[1], "crowd"))
		crowd(atol(argv[2]), argv[3]);
	for (long n = strcmp(argv[1], "crowd") ? atol(argv[2]) : 0; n > 0; n--)
		call(argv[1], argc > 3 ? argv[3] : NULL);
	printf("%d\n", (int)getpid());
	return 0;
}
