/* SPDX-License-Identifier: MIT */
/*
 * `late [LIBRARY SECONDS]`: works in `busy_early` of its own, then opens the library, works in its
 * `busy_late` for so long, closes it and ends: a recorder that reads its maps now and then misses the
 * library.  Without arguments it works for a moment.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long spun;

__attribute__((noinline)) static void busy_early(double seconds)
{
	struct timespec t;

	do {
		for (int i = 0; i < 100000; i++)
			spun += (unsigned)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < seconds);
	spun++;
}

int main(int argc, char **argv)
{
	void (*busy_late)(double);
	void *library;

	busy_early(argc > 2 ? 0.2 : 0.02);
	if (argc < 3)
		return 0;
	library = dlopen(argv[1], RTLD_NOW);
	*(void **)&busy_late = library ? dlsym(library, "busy_late") : NULL;
	if (!busy_late)
		return 1;
	busy_late(atof(argv[2]));
	dlclose(library);
	return 0;
}
