/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/trace/vanish_test.c - a recording is opened while its oldest trace chunks are removed: each
 * one is read whole or not at all.
 *
 * A thread rotates as a session does, without a pause: the new trace chunk gets its name when it is
 * complete, the oldest one loses it before it is removed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "unit/trace/make_trace.h"

enum { KEPT = 12, STREAMS = 6, OPENED = 300 };

#define EVENT "event { name = \"said\"; id = 0; stream_id = 0; fields := struct { u32 _n; }; };\n"

static const char *path;
static atomic_bool is_over;

static void name_of(char to[256], unsigned number, bool is_hidden)
{
	snprintf(to, 256, "%s/%schunk-%06u", path, is_hidden ? "." : "", number);
}

static void make(unsigned number)
{
	struct bytes *b = calloc(1, sizeof *b);
	char hidden[256], whole[256], stream[16];
	size_t at;

	name_of(hidden, number, true);
	name_of(whole, number, false);
	if (!b || mkdir(hidden, 0700))
		exit(1);
	at = begin_packet(b, 1000, 0, 0);
	put(b, 0 | 1000 << 5, 4);
	put(b, number, 4);
	end_packet(b, at);
	for (int i = 0; i < STREAMS; i++) {
		snprintf(stream, sizeof stream, "s%d", i);
		write_file(hidden, stream, b->at, b->n);
	}
	write_file(hidden, "metadata", COMPACT EVENT, sizeof COMPACT EVENT - 1);
	free(b);
	if (rename(hidden, whole))
		exit(1);
}

static void destroy(unsigned number)
{
	char hidden[256], whole[256];

	name_of(hidden, number, true);
	name_of(whole, number, false);
	if (rename(whole, hidden))
		exit(1);
	remove_directory(hidden);
}

static void *rotate(void *end)
{
	unsigned newest = KEPT;

	for (; !is_over; newest++) {
		make(newest);
		destroy(newest - KEPT);
	}
	*(unsigned *)end = newest;
	return NULL;
}

static uint64_t count(struct trace *t)
{
	struct trace_event e;
	struct diag d = { "" };
	uint64_t n = 0;
	int item;

	while ((item = trace_next(t, &e, &d)) > 0)
		n += item == TRACE_EVENT;
	is(item, TRACE_END);
	return n;
}

static void a_vanishing_trace_chunk_is_whole_or_not_there(void)
{
	pthread_t thread;
	unsigned newest;

	path = make_directory();
	for (unsigned i = 0; i < KEPT; i++)
		make(i);
	is(pthread_create(&thread, NULL, rotate, &newest), 0);
	for (int i = 0; i < OPENED; i++) {
		struct diag d = { "" };
		struct trace *t;
		uint64_t n;

		if (trace_open(&t, &path, 1, NULL, &d)) {
			is_text(d.text, "");
			break;
		}
		n = count(t);
		is(n % STREAMS, 0);
		ok(n >= STREAMS && n <= (KEPT + 1) * STREAMS);
		is(trace_n_damages(t), 0);
		trace_close(t);
	}
	is_over = true;
	pthread_join(thread, NULL);
	for (unsigned i = newest - KEPT; i < newest; i++)
		destroy(i);
	rmdir(path);
}

static void what_is_not_there_is_said(void)
{
	const char *none = "/nowhere/at/all";
	struct diag d = { "" };
	struct trace *t;

	is(trace_open(&t, &none, 1, NULL, &d), -ENOTDIR);
	is_text(d.text, "/nowhere/at/all: no such directory");
}

int main(void)
{
	run(a_vanishing_trace_chunk_is_whole_or_not_there);
	run(what_is_not_there_is_said);
	return test_status();
}
