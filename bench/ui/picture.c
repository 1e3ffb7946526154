/* SPDX-License-Identifier: MIT */
/*
 * bench/ui/picture.c - how long a picture takes, at every zoom: picture [INTERVALS [REQUESTS]].
 *
 * An index of 60 threads with states, system calls, spans in two depths and events is made in memory.
 * Each request is for all 60 rows and 2000 pixels.  Printed for each zoom: median, 99th percentile and
 * the largest of the times, the largest answer, and how many of the tracks were merged.  Then the same of
 * the other queries that need the index alone; the first search and the first item count names.
 */
#include <stdint.h>
#include <time.h>

#include "../../tests/unit/ui/made_index.h"

enum { THREADS = 60, WIDTH = 2000, REQUESTS_MOST = 10000 };

static uint64_t seed = 1;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* Times have a wide spread, as those of real threads. */
static int64_t some_time(void)
{
	return (int64_t)(100 + dice(1ull << (4 + dice(14))));
}

static void must(int err)
{
	if (err)
		abort();
}

/* One thread's life: calls with states in them, events, and spans around them. */
static int64_t make_thread(struct ui_index *x, uint32_t row, uint64_t n)
{
	uint32_t states = made_track(x, row, UI_TRACK_STATES, 0);
	uint32_t calls = made_track(x, row, UI_TRACK_SYSCALLS, 0);
	uint32_t outer = made_track(x, row, UI_TRACK_SPANS, 0);
	uint32_t inner = made_track(x, row, UI_TRACK_SPANS, 1);
	uint32_t events = made_track(x, row, UI_TRACK_EVENTS, 0);
	int64_t now = (int64_t)dice(1000), outer_begin = now;

	for (uint64_t i = 0; i < n;) {
		int64_t begin = now;

		must(track_add(&x->tracks[states], now, now + 300, UI_USER, 0));
		must(track_add(&x->tracks[states], now + 300, now + 500, UI_KERNEL, 0));
		now += 500 + some_time();
		must(track_add(&x->tracks[states], begin + 500, now, UI_BLOCKED, 0));
		must(track_add(&x->tracks[states], now, now + 200, UI_RUNNABLE, 0));
		must(track_add(&x->tracks[calls], begin + 300, now + 200, (uint32_t)dice(20), 0));
		must(track_add(&x->tracks[events], now + 200, now + 200, 20, 0));
		now += 200;
		must(track_add(&x->tracks[inner], begin, now, 21, 0));
		i += 7;
		if (!dice(16)) {
			must(track_add(&x->tracks[outer], outer_begin, now, 22, 0));
			outer_begin = now;
			i++;
		}
	}
	return now;
}

static struct ui_index *make(uint64_t n)
{
	struct ui_index *x = made_index(1);
	char name[32];

	for (int i = 0; i < 23; i++) {
		snprintf(name, sizeof name, "name %d", i);
		made_name(x, name);
	}
	for (int i = 0; i < THREADS; i++) {
		uint32_t row;
		int64_t end;

		snprintf(name, sizeof name, "thread %d", i);
		row = made_row(x, UI_ROW_THREAD, 0, name, 1000, 1000 + i);
		end = make_thread(x, row, n / THREADS);
		if (end > x->status.end_ns)
			x->status.end_ns = end;
	}
	x->status.ready_ns = x->known_ns = x->status.end_ns;
	return x;
}

/* Of this processor: other programs may be busy. */
static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double ask(struct ui_index *x, const char *request, size_t *largest, double *merged)
{
	double begin = now_ms(), end;
	int status;
	char *answer = ask_made(x, request, &status);
	const char *p = strstr(answer, "\"merged\":");

	end = now_ms();
	if (status != 200)
		abort();
	if (strlen(answer) > *largest)
		*largest = strlen(answer);
	*merged += p ? atof(p + 9) : 0;
	free(answer);
	return end - begin;
}

static void show(double *ms, int n, size_t largest)
{
	qsort(ms, (size_t)n, sizeof *ms, by_size);
	printf("  %7.2f  %7.2f  %7.2f ms  %7zu bytes", ms[n / 2], ms[n * 99 / 100], ms[n - 1],
	       largest);
}

static void measure(struct ui_index *x, const char *rows, int64_t span, int n)
{
	static double ms[REQUESTS_MOST];
	size_t largest = 0;
	double merged = 0;

	for (int i = 0; i < n; i++) {
		int64_t from = (int64_t)dice((uint64_t)(x->status.end_ns - span) + 1);
		char request[2048];

		snprintf(request, sizeof request, "/api/picture?rows=%s&from=%lld&to=%lld&width=%d",
			 rows, (long long)from, (long long)(from + span), WIDTH);
		ms[i] = ask(x, request, &largest, &merged);
	}
	printf("%14.6f s", (double)span / 1e9);
	show(ms, n, largest);
	printf("  %5.1f merged\n", merged / n);
	fflush(stdout);
}

/* @format gets a row or a track, then a number up to @limit. */
static void measure_other(struct ui_index *x, const char *name, const char *format, uint32_t first,
			  uint64_t limit, int n)
{
	static double ms[REQUESTS_MOST];
	size_t largest = 0;
	double none = 0;

	for (int i = 0; i < n; i++) {
		char request[256];

		snprintf(request, sizeof request, format, first, (unsigned long long)dice(limit));
		ms[i] = ask(x, request, &largest, &none);
	}
	printf("%16s", name);
	show(ms, n, largest);
	printf("\n");
	fflush(stdout);
}

static void measure_others(struct ui_index *x, int n)
{
	uint64_t end = (uint64_t)x->status.end_ns;
	uint32_t entries = ui_track_n(x, 1);

	measure_other(x, "overview", "/api/overview?width=1000&n=%u%llu", 0, end, n / 10 + 1);
	measure_other(x, "next", "/api/next?row=%u&at=%llu", 7, end, n);
	measure_other(x, "wakes", "/api/wakes?row=%u&from=%llu", 7, end, n);
	measure_other(x, "first search", "/api/search?text=9&m=%u&at=%llu", 0, end, 1);
	measure_other(x, "search", "/api/search?text=9&m=%u&at=%llu", 0, end, n / 10 + 1);
	measure_other(x, "item: state", "/api/item?id=%u.%llu", 0, entries, n);
	measure_other(x, "first call", "/api/item?id=%u.%llu", 1, 1, 1);
	measure_other(x, "the same call", "/api/item?id=%u.%llu", 1, 1, n);
}

int main(int argc, char **argv)
{
	uint64_t intervals = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	int n = argc > 2 ? atoi(argv[2]) : 100;
	struct ui_index *x = make(intervals);
	char rows[1024] = "";

	for (int i = 0; i < THREADS; i++)
		sprintf(rows + strlen(rows), "%s%d", i ? "," : "", i);
	printf("%llu intervals, %.0f MB; %d rows, %d tracks, %d pixels; median, p99, largest\n",
	       (unsigned long long)intervals, (double)index_count_bytes(x) / 1e6, THREADS,
	       x->n_tracks, WIDTH);
	for (int64_t span = x->status.end_ns; span > 1000; span /= 4)
		measure(x, rows, span, n < REQUESTS_MOST ? n : REQUESTS_MOST);
	measure_others(x, n);
	ui_index_close(x);
	return 0;
}
