/* SPDX-License-Identifier: MIT */
/*
 * bench/reading/write.c - a program for LTTng-UST to record: `write int|intstr|8ints N [1]`.
 *
 * Two threads, on the first two CPUs, write N events together: two finely interleaved streams,
 * which are the hard case of merging.  With 1, one thread: one stream.
 */
#include "lttng_tp.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct work {
	const char *what;
	int n, cpu;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct work *w = arg;
	cpu_set_t s;

	CPU_ZERO(&s);
	CPU_SET(w->cpu, &s);
	sched_setaffinity(0, sizeof s, &s);
	for (int i = 0; i < w->n; i++) {
		if (!strcmp(w->what, "int"))
			lttng_ust_tracepoint(bench, int1, i);
		else if (!strcmp(w->what, "intstr"))
			lttng_ust_tracepoint(bench, intstr, i, "sixteen letters!");
		else
			lttng_ust_tracepoint(bench, int8, i, 1, i + 1, 1, -i, 1, i * 1000, 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc == 4 ? 1 : 2;
	struct work w[2];

	if (argc != 3 && argc != 4)
		return 2;
	for (int i = 0; i < n; i++) {
		w[i] = (struct work){ .what = argv[1], .n = atoi(argv[2]) / n, .cpu = i };
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	return 0;
}
