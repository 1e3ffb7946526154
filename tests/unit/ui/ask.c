/* SPDX-License-Identifier: MIT */
/*
 * unit/ui/ask.c - an index as JSON, for index.py: ask [--follow] [--cache] [--most BYTES] PATH...
 *
 * All rows with their tracks, and each track's sums over all time, over its halves and one by one.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "ui/index/index.h"

static const char *const row_kinds[] = { "host",   "group", "cpu",  "process",
					 "thread", "irq",   "disk", "counter" };
static const char *const track_kinds[] = { "states", "running", "spans",   "syscalls", "calls",
					   "busy",   "events",	"samples", "counter" };

static void put_text(const char *bytes)
{
	putchar('"');
	for (; *bytes; bytes++)
		if (*bytes == '"' || *bytes == '\\' || (unsigned char)*bytes < 32)
			printf("\\u%04x", (unsigned char)*bytes);
		else
			putchar(*bytes);
	putchar('"');
}

static void put_sums(const char *name, const struct ui_sums *s)
{
	printf(",\"%s\":{\"n\":%llu,\"ns\":[", name, (unsigned long long)s->n);
	for (int i = 0; i < UI_STATES; i++)
		printf("%s%llu", i ? "," : "", (unsigned long long)s->ns[i]);
	printf("]}");
}

static void put_intervals(struct ui_index *x, uint32_t track, uint32_t n)
{
	struct ui_sums all = { 0 };
	struct ui_interval v;
	int64_t last = INT64_MIN;
	bool ascends = true;

	printf(",\"items\":[");
	for (uint32_t i = 0; i < n && ui_track_get(x, track, i, &v); i++) {
		printf("%s[%lld,%lld,%u,%lld,%d]", i ? "," : "", (long long)v.begin_ns,
		       (long long)v.end_ns, v.what, (long long)v.aux, v.is_open);
		ascends &= v.begin_ns >= last && v.end_ns >= v.begin_ns;
		last = v.end_ns;
		all.ns[v.what < UI_STATES ? v.what : 0] += (uint64_t)(v.end_ns - v.begin_ns);
		all.n++;
	}
	printf("],\"ascends\":%s", ascends ? "true" : "false");
	put_sums("added", &all);
}

static void put_track(struct ui_index *x, uint32_t track, int64_t end_ns)
{
	struct ui_track_info info;
	struct ui_sums s;

	ui_track_info(x, track, &info);
	printf("{\"id\":%u,\"kind\":\"%s\",\"depth\":%u,\"n\":%u", track, track_kinds[info.kind],
	       info.depth, ui_track_n(x, track));
	ui_track_sums(x, track, INT64_MIN / 2, INT64_MAX / 2, &s);
	put_sums("sums", &s);
	ui_track_sums(x, track, INT64_MIN / 2, end_ns / 2, &s);
	put_sums("before", &s);
	ui_track_sums(x, track, end_ns / 2, INT64_MAX / 2, &s);
	put_sums("after", &s);
	put_intervals(x, track, ui_track_n(x, track));
	printf("}");
}

static void put_row(struct ui_index *x, uint32_t row, int64_t end_ns)
{
	struct ui_row r;

	ui_index_row(x, row, &r);
	printf("%s\n  {\"id\":%u,\"kind\":\"%s\",\"parent\":%lld,\"name\":", row ? "," : "", row,
	       row_kinds[r.kind], (long long)r.parent - 1);
	put_text(r.name);
	printf(",\"pid\":%lld,\"tid\":%lld,\"cpu\":%d,\"recording\":%u,\"first\":%lld,\"last\":%"
	       "lld,"
	       "\"tracks\":[",
	       (long long)r.pid, (long long)r.tid, r.cpu, r.recording, (long long)r.first_ns,
	       (long long)r.last_ns);
	for (uint32_t i = 0; i < r.n_tracks; i++) {
		printf(i ? "," : "");
		put_track(x, ui_row_track(x, row, i), end_ns);
	}
	printf("]}");
}

static void put_wakes(struct ui_index *x)
{
	static struct ui_wake wakes[100000];
	struct ui_row r;
	bool is_first = true;

	printf("],\n\"wakes\":[");
	for (uint32_t row = 0; row < ui_index_n_rows(x); row++) {
		uint32_t n = 0;

		if (ui_index_row(x, row, &r) && r.kind == UI_ROW_THREAD)
			n = ui_index_wakes(x, row, false, INT64_MIN, INT64_MAX, wakes, 100000);
		for (uint32_t i = 0; i < n; i++, is_first = false)
			printf("%s[%u,%lld,%lld,%lld]", is_first ? "" : ",", row,
			       (long long)wakes[i].waker - 1, (long long)wakes[i].time_ns,
			       (long long)wakes[i].runs_ns);
	}
}

static void put_all(struct ui_index *x)
{
	static struct ui_gap gaps[10000];
	struct ui_index_status s;
	uint32_t n;

	ui_index_status(x, &s);
	printf("{\"begin\":%lld,\"end\":%lld,\"ready\":%lld,\"done\":%d,\"cut\":%d,\"events\":%llu,"
	       "\"lost\":%llu,\"damages\":%llu,\"failure\":",
	       (long long)s.begin_ns, (long long)s.end_ns, (long long)s.ready_ns, s.is_done,
	       s.is_cut, (unsigned long long)s.n_events, (unsigned long long)s.lost_events,
	       (unsigned long long)s.n_damages);
	put_text(s.failure);
	printf(",\"note\":");
	put_text(s.note);
	printf(",\"damage\":");
	put_text(s.damage);
	printf(",\n\"names\":[");
	for (uint32_t i = 0; i < ui_index_n_names(x); i++) {
		printf(i ? "," : "");
		put_text(ui_index_name(x, i));
	}
	printf("],\n\"rows\":[");
	for (uint32_t row = 0; row < ui_index_n_rows(x); row++)
		put_row(x, row, s.end_ns);
	put_wakes(x);
	printf("],\n\"gaps\":[");
	n = ui_index_gaps(x, INT64_MIN, INT64_MAX, gaps, 10000);
	for (uint32_t i = 0; i < n; i++)
		printf("%s[%lld,%lld,%llu,%d]", i ? "," : "", (long long)gaps[i].begin_ns,
		       (long long)gaps[i].end_ns, (unsigned long long)gaps[i].lost, gaps[i].cpu);
	printf("]}\n");
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct ui_index_options o = { .no_cache = true };
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct diag d = { "" };
	struct ui_index_status s;
	struct ui_index *x;
	double begin_s = now_s();
	bool is_quiet = false;

	for (argv++, argc--; argc && !strncmp(*argv, "--", 2); argv++, argc--) {
		o.follows |= !strcmp(*argv, "--follow");
		o.no_cache &= !!strcmp(*argv, "--cache");
		o.cache_from = 1;
		is_quiet |= !strcmp(*argv, "--quiet");
		if (!strcmp(*argv, "--most") && argc--)
			o.most_bytes = strtoull(*++argv, NULL, 0);
	}
	o.paths = (const char *const *)argv;
	o.n_paths = argc;
	if (ui_index_open(&x, &o, &d)) {
		fprintf(stderr, "%s\n", d.text);
		return 1;
	}
	do {
		nanosleep(&pause, NULL);
		ui_index_status(x, &s);
	} while (!s.is_done);
	fprintf(stderr, "%.3f s\n", now_s() - begin_s);
	for (int i = 0; !o.no_cache && !strstr(s.note, "the index was ") && i < 10000; i++) {
		nanosleep(&pause, NULL); /* it is written after it is complete */
		ui_index_status(x, &s);
	}
	if (!is_quiet)
		put_all(x);
	ui_index_close(x);
	return 0;
}
