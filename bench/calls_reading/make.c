/* SPDX-License-Identifier: MIT */
/*
 * bench/calls_reading/make.c - a recording of many calls, for run.py.
 *
 *	calls-make DIRECTORY CALLS THREADS
 *
 * The tree is like that of an interpreter: 200 functions, depth up to 30, many short calls and few
 * long ones.  It prints the number of calls of f1.
 */
#include <inttypes.h>

#include "lib/make_calls.h"

static uint64_t state = 88172645463325252ull;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

int main(int argc, char **argv)
{
	static struct made m;
	uint64_t n, now = 1000000, n_first = 0;
	uint32_t n_threads;

	if (argc != 4)
		return 2;
	n = strtoull(argv[2], NULL, 10);
	n_threads = (uint32_t)atoi(argv[3]);
	if (n_threads < 1 || n_threads > MADE_THREADS)
		return 2;
	made_open(&m, argv[1], 200);
	for (uint32_t i = 0; i < n_threads; i++)
		made_thread(&m, now);
	for (uint64_t i = 0; i < n;) {
		struct made_thread *t = &m.threads[i / 1000 % n_threads];
		uint64_t random = draw();
		uint32_t depth = t->now->depth;

		now += random & 15 ? 8 + (random >> 4 & 63) : 200 + (random >> 4 & 4095);
		if (!depth || (depth < 30 && (random >> 20 & 1023) < 520)) {
			/* what a function calls depends on the function, as in programs */
			uint32_t caller = depth ? t->now->frames[depth - 1].function : 0;
			uint32_t f = 1 + (caller * 7 + (random >> 40 & 7)) % 200;

			made_enter(&m, t, f, now);
			n_first += f == 1;
		} else {
			made_leave(&m, t, now, 0);
			i++;
		}
	}
	for (uint32_t i = 0; i < n_threads; i++)
		while (m.threads[i].now->depth)
			made_leave(&m, &m.threads[i], now += 8, 0);
	made_close(&m);
	printf("%" PRIu64 "\n", n_first);
	return 0;
}
