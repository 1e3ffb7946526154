/* SPDX-License-Identifier: MIT */
/* So many getppid: the cheapest system call there is, so what a tracer adds is all that is seen. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (long n = argc > 1 ? atol(argv[1]) : 100000; n > 0; n--)
		syscall(SYS_getppid);
	return 0;
}
