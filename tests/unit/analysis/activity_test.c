/* SPDX-License-Identifier: MIT */
/* A reading of new events ends early if it is asked to, and says that events are missing. */
#include "analysis/activity/activity.h"
#include "trace/public.h"
#include "unit/trace/make_trace.h"

enum { PACKETS = 20, EVENTS_OF_ONE = 10000, EVENTS = PACKETS * EVENTS_OF_ONE };

#define EVENT "event { name = \"said\"; id = 0; stream_id = 0; fields := struct { u32 _n; }; };\n"

static const char *path;
static int n_asked, stop_at;

static bool is_stopped(void)
{
	return ++n_asked >= stop_at;
}

static void make(void)
{
	static struct bytes all;
	FILE *f;
	char name[256];

	path = make_directory();
	write_file(path, "metadata", COMPACT EVENT, sizeof COMPACT EVENT - 1);
	snprintf(name, sizeof name, "%s/s0", path);
	f = fopen(name, "w");
	for (uint64_t p = 0; f && p < PACKETS; p++) {
		size_t at;

		all.n = 0;
		at = begin_packet(&all, 1000 + p * EVENTS_OF_ONE, p, 0);
		for (uint64_t i = 0; i < EVENTS_OF_ONE; i++) {
			put(&all, 0 | (1000 + p * EVENTS_OF_ONE + i) << 5, 4);
			put(&all, i, 4);
		}
		end_packet(&all, at);
		is(fwrite(all.at, 1, all.n, f), all.n);
	}
	is(f && !fclose(f), 1);
}

/* The events that one reading counts, if the @n-th question is answered by yes. */
static uint64_t counted(int n, bool *was_stopped)
{
	const struct trace_options o = { .follows = true };
	struct activity a;
	struct trace *t;
	struct diag d = { "" };
	uint64_t found;

	n_asked = 0;
	stop_at = n;
	is(trace_open(&t, &path, 1, &o, &d), 0);
	is(activity_open(&a, t, &path, 1, 0, &d), 0);
	is(trace_refresh(t, &d), 0); /* it has ended */
	a.is_stopped = is_stopped;
	is(activity_read(&a, &d), 0);
	found = a.n_events;
	*was_stopped = a.was_stopped;
	activity_close(&a);
	trace_close(t);
	return found;
}

static void a_reading_ends_early_and_says_so(void)
{
	bool was_stopped;

	make();
	is(counted(INT32_MAX, &was_stopped), EVENTS);
	is(was_stopped, false);
	ok(n_asked > 2);
	ok(counted(2, &was_stopped) < EVENTS / 2);
	is(was_stopped, true);
	is(n_asked, 2);
	remove_directory(path);
}

int main(void)
{
	run(a_reading_ends_early_and_says_so);
	return test_status();
}
