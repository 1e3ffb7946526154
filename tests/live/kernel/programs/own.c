/* SPDX-License-Identifier: MIT */
/*
 * Sleeps N times, has page faults, works for WORK_MS of CPU time: `own_program N`.  Prints its number,
 * how often it left its CPU, voluntarily and not, and its number of faults.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4 << 20, PAGE = 4096, WORK_MS = 200 };

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	volatile char *pages =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rusage u;

	if (pages == MAP_FAILED)
		return 1;
	while (n--)
		usleep(1000);
	for (int i = 0; i < BYTES; i += PAGE)
		pages[i] = 1;
	for (long end = cpu_ms() + WORK_MS; cpu_ms() < end;)
		for (volatile int i = 0; i < 100000; i++)
			;
	getrusage(RUSAGE_SELF, &u);
	printf("%d %ld %ld %ld\n", (int)getpid(), u.ru_nvcsw, u.ru_nivcsw, u.ru_minflt);
	return 0;
}
