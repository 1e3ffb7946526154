/* SPDX-License-Identifier: MIT */
/* bench/strace/loop.c - getppid N times: the cheapest system call shows a tracer's cost best. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (long n = argc > 1 ? atol(argv[1]) : 100000; n > 0; n--)
		syscall(SYS_getppid);
	return 0;
}
