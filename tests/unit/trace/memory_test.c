/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/memory_test.c - a reader's memory does not grow with the amount it reads.
 *
 * 128 files of 4 MiB in one packet each.  Events are zeros, so the files are holes that cost no
 * disk.
 */
#include <sys/resource.h>

#include "unit/trace/make_trace.h"

#define EVENT                                                                                      \
	"event { name = \"e\"; id = 0; stream_id = 0; fields := struct { "                         \
	"integer { size = 8; align = 8; encoding = UTF8; } _t[1018]; }; };\n"

enum { FILES = 128, EVENTS = 4096, EVENT_BYTES = 6 + 1018, MOST_MIB = 256 };

static long largest_mib(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss / 1024;
}

static const char *make(void)
{
	static const char metadata[] = LARGE EVENT;
	const char *path = make_directory();
	static struct bytes b;
	char name[300];

	for (int i = 0; i < FILES; i++) {
		b.n = 0;
		begin_packet(&b, 0, 0, 0);
		put_at(&b, AT_CONTENT, (PACKET_HEAD + EVENTS * EVENT_BYTES) * 8, 8);
		put_at(&b, AT_PACKET, (PACKET_HEAD + EVENTS * EVENT_BYTES) * 8, 8);
		snprintf(name, sizeof name, "s%d", i);
		write_file(path, name, b.at, b.n);
		snprintf(name, sizeof name, "%.200s/s%d", path, i);
		is(truncate(name, PACKET_HEAD + EVENTS * EVENT_BYTES), 0);
	}
	write_file(path, "metadata", metadata, sizeof metadata - 1);
	return path;
}

static void memory_is_returned_after_reading_in_every_way(void)
{
	struct ctf_row rows[500];
	const char *path = make();
	uint64_t n_events = 0;
	struct trace_event e;
	struct trace *t;
	struct diag d;
	uint32_t n;

	is(trace_open(&t, &path, 1, NULL, &d), 0);
	while (trace_next(t, &e, &d) > 0)
		n_events++;
	is(n_events, FILES * EVENTS);
	trace_seek(t, INT64_MIN);
	while ((n = trace_batch(t, rows, 500)) > 0)
		n_events += n;
	is(n_events, 2 * FILES * EVENTS);
	trace_seek(t, INT64_MIN);
	do { /* as columns are read */
		trace_hold(t, true);
		for (n = 0; n < 1000 && trace_next(t, &e, &d) > 0; n++)
			n_events++;
		trace_hold(t, false);
	} while (n);
	is(n_events, 3 * FILES * EVENTS);
	ok(largest_mib() < MOST_MIB);
	printf("# at most %ld MiB\n", largest_mib());
	trace_close(t);
	remove_directory(path);
}

int main(void)
{
	run(memory_is_returned_after_reading_in_every_way);
	return test_status();
}
