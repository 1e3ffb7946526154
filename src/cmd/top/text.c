/* SPDX-License-Identifier: MIT */
/* cmd/top/text.c - `duet top --batch` and `--json`: one page an interval, or one object a line. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/pager.h"
#include "cmd/report/table.h"
#include "cmd/top/top.h"

static const struct column thread_columns[] = {
	{ "pid", "PID", CELL_COUNT },
	{ "tid", "TID", CELL_COUNT },
	{ "name", "NAME", CELL_TEXT },
	{ "cpu", "CPU", CELL_PERCENT },
	{ "user", "USER", CELL_PERCENT },
	{ "kernel", "KERNEL", CELL_PERCENT },
	{ "waits", "WAITS", CELL_PERCENT },
	{ "blocked", "BLOCKED", CELL_PERCENT },
	{ "unknown", NULL, CELL_PERCENT },
	{ "calls_per_s", "CALLS/S", CELL_REAL },
	{ "switches_per_s", "SWITCHES/S", CELL_REAL },
	{ "events_per_s", "EVENTS/S", CELL_REAL },
	{ "now", "NOW", CELL_TEXT },
};
static const struct column event_columns[] = {
	{ "event", "EVENT", CELL_TEXT },
	{ "events_per_s", "EVENTS/S", CELL_REAL },
	{ "kernel", NULL, CELL_COUNT },
};

static double seconds_of(const struct activity *a)
{
	return a->to_ns > a->from_ns ? (double)(a->to_ns - a->from_ns) / 1e9 : 1e-9;
}

static void add_share(struct table *t, const struct activity *a, uint64_t ns)
{
	table_real(t, 100 * (double)ns / 1e9 / seconds_of(a));
}

static void add_thread(struct table *t, const struct activity *a, const struct top_row *row,
		       enum top_by by)
{
	const struct thread *is = threads_at(a->pass->threads, row->thread);
	const struct activity_thread *s = &row->sum;
	char name[64], now[TOP_NOW_BYTES];

	top_name_text(a, row, by, name);
	top_now_text(a, s, now);
	table_number(t, is->pid >= 0 ? is->pid : is->tid);
	table_number(t, is->tid);
	table_text(t, name);
	add_share(t, a, top_row_cpu_ns(s));
	add_share(t, a, s->ns[WAIT_USER]);
	add_share(t, a, s->ns[WAIT_KERNEL]);
	add_share(t, a, s->ns[WAIT_RUNNABLE] + s->ns[WAIT_PREEMPTED]);
	add_share(t, a, s->ns[WAIT_BLOCKED]);
	add_share(t, a, s->ns[WAIT_UNKNOWN]);
	table_real(t, (double)s->n_calls / seconds_of(a));
	table_real(t, (double)s->n_switches / seconds_of(a));
	table_real(t, (double)s->n_events / seconds_of(a));
	table_text(t, now);
}

static void add_event(struct table *t, const struct activity *a, const struct top_row *row)
{
	char name[64];

	top_name_text(a, row, TOP_EVENTS, name);
	table_text(t, name);
	table_real(t, (double)row->sum.n_events / seconds_of(a));
	table_number(t, a->classes[row->thread].is_kernel);
}

static void show(const struct top_source *s, const struct top_options *o, const struct top_rows *r)
{
	const struct activity *a = &s->activity;
	struct table threads = TABLE(thread_columns), events = TABLE(event_columns);
	bool by_event = o->by == TOP_EVENTS;
	char moment[40], lost[160];
	struct page p;

	pager_disable(); /* one page follows the other */
	page_open(&p, "top", o->is_json);
	page_number(&p, "from_ns", a->from_ns);
	page_number(&p, "to_ns", a->to_ns);
	page_number(&p, "events", (int64_t)a->n_events);
	page_number(&p, "lost_events", (int64_t)a->lost_events);
	page_number(&p, "lost_packets", (int64_t)a->lost_packets);
	page_number(&p, "running", r->n_running);
	page_number(&p, "runnable", r->n_runnable);
	page_number(&p, "blocked", r->n_blocked);
	page_line(&p, "%s  %.0f events/s, %s lost; now %u running, %u runnable, %u blocked",
		  moment_text(a->to_ns, moment), (double)a->n_events / seconds_of(a),
		  a->lost_events || a->lost_packets
			  ? cmd_lost_text(a->lost_events, a->lost_packets, lost)
			  : "none",
		  r->n_running, r->n_runnable, r->n_blocked);
	for (uint32_t i = 0; i < r->n; i++)
		if (by_event)
			add_event(&events, a, &r->at[i]);
		else
			add_thread(&threads, a, &r->at[i], o->by);
	page_table(&p,
		   by_event		  ? "rates"
		   : o->by == TOP_THREADS ? "threads"
					  : "processes",
		   NULL, by_event ? &events : &threads, o->limit);
	page_close(&p);
}

/* Sleeps until the interval is over or a signal came. */
static void wait_for(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000) };

	if (!top_is_stopped())
		nanosleep(&t, NULL);
}

int top_text(struct top_source *s, const struct top_options *o)
{
	struct top_rows rows = { 0 };
	int status = 0;

	for (uint64_t i = 0; (!o->n_intervals || i < o->n_intervals) && !status; i++) {
		wait_for(o->interval_ns);
		status = top_source_read(s);
		if (!status && top_rows_make(&rows, &s->activity, o))
			status = cmd_error("top", "no memory for rows");
		if (!status && !s->activity.was_stopped)
			show(s, o, &rows);
		activity_begin(&s->activity);
		if (s->has_ended || top_is_stopped())
			break;
	}
	top_rows_fini(&rows);
	return status;
}
