/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/locks.c - `duet report locks`: waits for futexes; with --pair, locks from events of a
 * program.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"

/* The cells of a futex: its address, its name. */
static void add_futex(struct table *t, const struct locks *l, uint32_t number)
{
	const struct object *f = objects_at(&l->objects, number);
	struct text words = { 0 };
	char address[32];

	snprintf(address, sizeof address, "0x%" PRIx64, f ? (uint64_t)f->number : 0);
	table_text(t, address);
	objects_words(&l->objects, number, &words);
	table_text(t, words.size ? words.bytes : address);
	text_fini(&words);
}

#define TABLE_FUTEX                                                                                \
	{ "address", NULL, CELL_TEXT },                                                            \
	{                                                                                          \
		"futex", "futex", CELL_TEXT                                                        \
	}

static void print_rows(struct page *p, const struct locks *l, const struct report *r)
{
	static const struct column columns[] = {
		{ "process", "process", CELL_TEXT },
		{ "pid", NULL, CELL_COUNT },
		TABLE_FUTEX,
		{ "is_pi", NULL, CELL_COUNT },
		{ "n", "waits", CELL_COUNT },
		TABLE_SAMPLES,
		{ "n_timed_out", "timed out", CELL_COUNT },
		{ "n_interrupted", "interrupted", CELL_COUNT },
		{ "n_changed", "no wait", CELL_COUNT },
		{ "n_open", "open", CELL_COUNT },
		{ "n_wakes", "wakes", CELL_COUNT },
		{ "n_woken", "woken", CELL_COUNT },
	};
	char name[48];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < l->n_rows; i++) {
		struct lock_row *row = &l->rows[i];

		table_text(&t, thread_text(l->run.threads, row->process, name));
		table_number(&t, threads_at(l->run.threads, row->process)->tid);
		add_futex(&t, l, row->futex);
		table_number(&t, row->is_pi);
		table_number(&t, (int64_t)row->waits.n);
		table_samples(&t, &row->waits);
		table_number(&t, (int64_t)row->n_timed_out);
		table_number(&t, (int64_t)row->n_interrupted);
		table_number(&t, (int64_t)row->n_changed);
		table_number(&t, (int64_t)row->n_open);
		table_number(&t, (int64_t)row->n_wakes);
		table_number(&t, (int64_t)row->n_woken);
	}
	page_table(p, "futexes", "By futex (no wait: the value had already changed)", &t, r->limit);
}

static void print_edges(struct page *p, const struct locks *l, const struct report *r)
{
	static const struct column columns[] = {
		{ "waiter", "waited", CELL_TEXT },
		{ "waiter_tid", NULL, CELL_COUNT },
		{ "waker", "until woken by", CELL_TEXT },
		{ "waker_tid", NULL, CELL_COUNT },
		TABLE_FUTEX,
		{ "n", "times", CELL_COUNT },
		{ "ns", "total", CELL_NS },
		{ "max_ns", "longest", CELL_NS },
	};
	char name[48];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < l->n_edges; i++) {
		const struct lock_edge *edge = &l->edges[i];

		table_text(&t, thread_text(l->run.threads, edge->waiter, name));
		table_number(&t, threads_at(l->run.threads, edge->waiter)->tid);
		table_text(&t, thread_text(l->run.threads, edge->waker, name));
		table_number(&t, threads_at(l->run.threads, edge->waker)->tid);
		add_futex(&t, l, edge->futex);
		table_number(&t, (int64_t)edge->n);
		table_number(&t, (int64_t)edge->ns);
		table_number(&t, (int64_t)edge->max_ns);
	}
	page_table(p, "wakers", "Waiters and wakers", &t, r->limit);
}

static void print_slowest(struct page *p, const struct locks *l)
{
	static const struct column columns[] = {
		TABLE_SLOW("waited", "from"),
		TABLE_FUTEX,
		{ "waker", "woken by", CELL_TEXT },
	};
	char name[48];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < l->slowest.n; i++) {
		const struct slow *s = &l->slowest.at[i];

		report_slow(&t, &l->run, s);
		add_futex(&t, l, (uint32_t)s->detail);
		if (s->subject)
			table_text(&t, thread_text(l->run.threads, s->subject, name));
		else
			table_nothing(&t);
	}
	page_table(p, "slowest", "The longest waits", &t, UINT64_MAX);
}

static int read_futexes(void *analysis, const struct report *r, struct diag *d)
{
	const struct locks_options o = { r->n_slowest, r->paths, r->n_paths };

	return locks_init(analysis, r->trace, &r->range, &o, d);
}

static int check_futexes(const void *analysis, const struct report *r)
{
	const struct locks *l = analysis;

	(void)r;
	if (!l->has_calls)
		return report_lacks(&l->run, "system calls", "-k syscalls -k sched");
	if (!l->n_calls)
		return report_lacks(&l->run, "futex calls", "-k syscalls -k sched");
	return 0;
}

static void print_futexes(struct page *p, void *analysis, const struct report *r)
{
	struct locks *l = analysis;
	char text[32], count[64];

	page_number(p, "n_calls", (int64_t)l->n_calls);
	page_number(p, "n_waits", (int64_t)l->waits.n);
	page_number(p, "n_without_waker", (int64_t)l->n_without_waker);
	page_line(p, "%s for futexes, %s in all", cmd_count_text(l->waits.n, "wait", count),
		  duration_text(l->waits.sum, text));
	if (!l->has_wakeups)
		page_line(p, "no wakeups were recorded, so the wakers are unknown: record with -k "
			     "sched");
	else if (l->n_without_waker)
		page_line(p, "ended without a recorded waker: %s",
			  cmd_count_text(l->n_without_waker, "wait", count));
	print_rows(p, l, r);
	page_histogram(p, "histogram", "Durations of waits", &l->waits, CELL_NS);
	print_edges(p, l, r);
	print_slowest(p, l);
}

static void fini_futexes(void *analysis)
{
	locks_fini(analysis);
}

/* ---------------------------------------------------------------- locks of programs */

static void print_held(struct page *p, struct latency *l, const struct report *r)
{
	const struct column columns[] = {
		{ "key", r->by ? r->by : "thread", CELL_TEXT },
		{ "n", "times", CELL_COUNT },
		TABLE_SAMPLES,
	};
	char name[48];
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < l->n_keys; i++) {
		if (!l->times[i].n)
			continue;
		if (!r->by)
			table_text(&t, thread_text(l->run.threads, l->keys[i].thread, name));
		else
			table_text(&t, latency_key_text(l, i, r, name));
		table_number(&t, (int64_t)l->times[i].n);
		table_samples(&t, &l->times[i]);
	}
	page_table(p, "held", "Held", &t, r->limit);
}

static int read_pairs(void *analysis, const struct report *r, struct diag *d)
{
	return latency_init(analysis, r->trace, &r->range, r->a, r->b, r->by, r->n_slowest, true,
			    d);
}

static void print_pairs(struct page *p, void *analysis, const struct report *r)
{
	report_latency_print(p, analysis, r, print_held);
}

static void fini_pairs(void *analysis)
{
	latency_fini(analysis);
}

int report_locks(const struct report *r)
{
	static const struct report_kind futexes = {
		sizeof(struct locks), offsetof(struct locks, run),
		read_futexes,	      check_futexes,
		print_futexes,	      fini_futexes
	};
	static const struct report_kind pairs = { sizeof(struct latency),
						  offsetof(struct latency, run),
						  read_pairs,
						  report_latency_check,
						  print_pairs,
						  fini_pairs };

	if (r->a)
		return report_run(r, &pairs);
	if (r->by)
		return cmd_error("report", "locks: --by names a field of the events of --pair");
	return report_run(r, &futexes);
}
