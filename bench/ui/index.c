/* SPDX-License-Identifier: MIT */
/*
 * bench/ui/index.c - how long a recording takes to open: index DIRECTORY [--cache].
 *
 * One line of JSON: until something can be drawn and until all can, the processor's time of the
 * builder's threads, memory, and how long pictures took meanwhile: 32 tracks, 1920 pixels, every few
 * milliseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "ui/index/index.h"

enum { MOST = 1 << 20, TRACKS = 32, WIDTH = 1920 };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* As many tracks as a screen shows. */
static double draw(struct ui_index *x, const struct ui_index_status *s, uint32_t *first)
{
	static struct ui_scan scan;
	double begin_s = now_s();
	uint32_t track = *first;

	for (uint32_t i = 0; i < TRACKS; i++, track++) {
		struct ui_track_info info;

		if (!ui_track_info(x, track, &info))
			track = 0;
		scan.from_ns = 0;
		scan.to_ns = s->end_ns;
		scan.width = WIDTH;
		scan.grain = 1;
		scan.least_ns = s->end_ns / WIDTH;
		(void)ui_track_scan(x, track, &scan);
	}
	*first = track;
	return now_s() - begin_s;
}

static double processor_s(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static uint64_t count_entries(struct ui_index *x)
{
	struct ui_track_info info;
	uint64_t n = 0;

	for (uint32_t track = 0; ui_track_info(x, track, &info); track++)
		n += ui_track_n(x, track);
	return n;
}

static void report(struct ui_index *x, double first_s, double all_s, double *drawn, uint32_t n)
{
	struct ui_index_status s;
	struct rusage used;

	ui_index_status(x, &s);
	getrusage(RUSAGE_SELF, &used);
	qsort(drawn, n, sizeof *drawn, by_size);
	printf("{\"first_s\":%.3f,\"all_s\":%.3f,\"processor_s\":%.3f,\"rss_mib\":%ld,"
	       "\"events\":%llu,\"entries\":%llu,\"pictures\":%u,\"picture_p50_ms\":%.3f,"
	       "\"picture_p99_ms\":%.3f,\"picture_max_ms\":%.3f,\"cut\":%d}\n",
	       first_s, all_s, processor_s(RUSAGE_SELF) - processor_s(RUSAGE_THREAD),
	       used.ru_maxrss / 1024, (unsigned long long)s.n_events,
	       (unsigned long long)count_entries(x), n, n ? drawn[n / 2] * 1e3 : 0,
	       n ? drawn[n * 99 / 100] * 1e3 : 0, n ? drawn[n - 1] * 1e3 : 0, s.is_cut);
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	const char *const paths[] = { argv[1] };
	struct ui_index_options o = { .paths = paths, .n_paths = 1, .no_cache = argc < 3 };
	double *drawn = calloc(MOST, sizeof *drawn), begin_s = now_s(), first_s = 0;
	uint32_t n = 0, track = 0;
	struct ui_index_status s;
	struct ui_index *x;
	struct diag d = { "" };

	if (argc < 2 || !drawn || ui_index_open(&x, &o, &d)) {
		fprintf(stderr, "index: %s\n", d.text);
		return 1;
	}
	do {
		ui_index_status(x, &s);
		if (!first_s && s.ready_ns > 0)
			first_s = now_s() - begin_s;
		if (n < MOST)
			drawn[n++] = draw(x, &s, &track);
		nanosleep(&pause, NULL);
	} while (!s.is_done);
	report(x, first_s, now_s() - begin_s, drawn, n);
	while (!o.no_cache && !strstr(s.note, "the index was ")) {
		nanosleep(&pause, NULL); /* it is written after that */
		ui_index_status(x, &s);
	}
	ui_index_close(x);
	free(drawn);
	return 0;
}
