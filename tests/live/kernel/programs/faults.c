/* SPDX-License-Identifier: MIT */
/*
 * Says how many page faults it had between pairs of getppid(): `faults ROUNDS`.  On one CPU, so
 * that two readings of its counter can be compared; a line for each round, with the
 * count of getrusage().
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES = 8, PAGE = 4096 };

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt + u.ru_majflt;
}

static long touch(volatile char *pages)
{
	long before, after;

	syscall(SYS_getppid);
	before = faults();
	for (int i = 0; i < PAGES; i++)
		pages[(size_t)i * PAGE] = 1;
	after = faults();
	syscall(SYS_getppid);
	return after - before;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, cpu = sched_getcpu();
	size_t size = (size_t)n * PAGES * PAGE;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long *found = calloc((size_t)n, sizeof *found);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (pages == MAP_FAILED || !found || sched_setaffinity(0, sizeof one, &one))
		return 1;
	madvise(pages, size, MADV_NOHUGEPAGE);
	for (int i = 0; i < n; i++)
		found[i] = -1; /* so that its pages are there */
	for (int i = 0; i < n; i++)
		found[i] = touch(pages + (size_t)i * PAGES * PAGE);
	for (int i = 0; i < n; i++)
		printf("%ld\n", found[i]);
	return 0;
}
