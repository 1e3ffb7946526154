/* SPDX-License-Identifier: MIT */
/*
 * examples/count.c - count events by name, with a thread per stream: count TRACE...
 *
 *	cc -o count count.c -lduet-read -lpthread
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <duet/read.h>

struct work {
	pthread_t thread;
	struct duet_read *part;
	uint64_t *counts; /* by class */
	uint64_t lost;
};

static void damaged(void *context, const char *text)
{
	fprintf(stderr, "%s: %s\n", (const char *)context, text);
}

static void *count(void *argument)
{
	struct work *w = argument;
	struct duet_read_item item;

	while (duet_read_next(w->part, &item) > 0) {
		if (item.kind == DUET_READ_EVENT)
			w->counts[item.class_number]++;
		else
			w->lost += item.lost_events;
	}
	return NULL;
}

static void show(const struct duet_read *r, const struct work *works, uint32_t n)
{
	uint64_t lost = 0;

	for (uint32_t c = 0; c < duet_read_n_classes(r); c++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += works[i].counts[c];
		if (sum)
			printf("%10" PRIu64 " %s\n", sum, duet_read_class_info(r, c)->name);
	}
	for (uint32_t i = 0; i < n; i++)
		lost += works[i].lost;
	if (lost)
		printf("%10" PRIu64 " lost\n", lost);
}

int main(int argc, char **argv)
{
	struct duet_read_options options = { .size = sizeof options,
					     .damage = damaged,
					     .context = argv[0] };
	char why[DUET_READ_WHY];
	struct duet_read *r;
	struct work *works;
	uint32_t n;

	if (argc < 2 ||
	    duet_read_open(&r, (const char *const *)argv + 1, argc - 1, &options, why)) {
		fprintf(stderr, "%s\n", argc < 2 ? "usage: count TRACE..." : why);
		return 2;
	}
	n = duet_read_n_streams(r);
	works = calloc(n + (size_t)1, sizeof *works);
	for (uint32_t i = 0; works && i < n; i++) {
		works[i].counts =
			calloc(duet_read_n_classes(r) + (size_t)1, sizeof *works[i].counts);
		if (!works[i].counts || duet_read_part(r, i, &works[i].part) ||
		    pthread_create(&works[i].thread, NULL, count, &works[i]))
			return 2;
	}
	for (uint32_t i = 0; works && i < n; i++)
		pthread_join(works[i].thread, NULL);
	show(r, works, n);
	for (uint32_t i = 0; works && i < n; i++) {
		duet_read_close(works[i].part);
		free(works[i].counts);
	}
	free(works);
	duet_read_close(r);
	return 0;
}
