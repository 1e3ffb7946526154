/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/sched.c - `duet report sched`: tables of waits for a CPU, by thread or process, and
 * the longest.
 */
#include <inttypes.h>
#include <stddef.h>

#include "analysis/report/public.h"
#include "cmd/cmd.h"
#include "cmd/report/internal.h"

static void add_row(struct table *t, struct sched_row *row, const char *name, int tid)
{
	table_text(t, name);
	if (tid >= 0)
		table_number(t, tid);
	else
		table_nothing(t);
	table_number(t, (int64_t)row->n_switches);
	table_number(t, (int64_t)row->n_preempted);
	table_number(t, (int64_t)row->n_migrations);
	table_number(t, (int64_t)row->woken.n);
	table_samples(t, &row->woken);
	table_number(t, (int64_t)row->preempted.sum);
	if (row->preempted.n)
		table_number(t, (int64_t)row->preempted.max);
	else
		table_nothing(t);
}

static void print_rows(struct page *p, struct sched *s, const struct report *r)
{
	bool by_process = report_is_by(r, "process");
	const struct column columns[] = {
		{ by_process ? "process" : "thread", by_process ? "process" : "thread", CELL_TEXT },
		{ by_process ? "pid" : "tid", NULL, CELL_COUNT },
		{ "n_switches", "switches", CELL_COUNT },
		{ "n_preempted", "preempted", CELL_COUNT },
		{ "n_migrations", NULL, CELL_COUNT },
		{ "n", "wakeups", CELL_COUNT },
		TABLE_SAMPLES,
		{ "preempted_ns", "preempted for", CELL_NS },
		{ "preempted_max_ns", "longest", CELL_NS },
	};
	struct table t = TABLE(columns);
	char name[48];

	if (!r->is_json)
		add_row(&t, &s->all, "all", -1);
	for (uint32_t i = 0; i < s->n_rows; i++)
		add_row(&t, &s->rows[i], thread_text(s->run.threads, s->rows[i].thread, name),
			threads_at(s->run.threads, s->rows[i].thread)->tid);
	page_table(p, by_process ? "processes" : "threads",
		   "From wakeup to running (total to max); time off the CPU after preemptions", &t,
		   r->limit == UINT64_MAX ? r->limit : r->limit + 1);
}

static void print_slowest(struct page *p, const struct sched *s)
{
	static const struct column columns[] = {
		TABLE_SLOW("waited", "from"),
		{ "cpu", "got CPU", CELL_COUNT },
		{ "after", "after", CELL_TEXT },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < s->slowest.n; i++) {
		const struct slow *slow = &s->slowest.at[i];

		report_slow(&t, &s->run, slow);
		if (slow->detail == TRACE_CPU_UNKNOWN)
			table_nothing(&t);
		else
			table_number(&t, slow->detail);
		table_text(&t, slow->subject == SCHED_WOKEN ? "wakeup" : "preemption");
	}
	page_table(p, "slowest", "The longest waits", &t, UINT64_MAX);
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	return sched_init(analysis, r->trace, &r->range, report_is_by(r, "process"), r->n_slowest,
			  d);
}

static int check(const void *analysis, const struct report *r)
{
	const struct sched *s = analysis;

	(void)r;
	return s->n_switches ? 0 : report_lacks(&s->run, "switches of threads", "-k sched");
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct sched *s = analysis;
	char count[64];

	page_number(p, "n_switches", (int64_t)s->n_switches);
	page_number(p, "n_cut", (int64_t)s->n_cut);
	page_number(p, "n_left_out", (int64_t)s->n_left_out);
	if (!s->n_wakeups)
		page_line(p, "no wakeups were recorded, so only preemptions are known: record "
			     "with -k sched");
	if (s->n_cut)
		page_line(p, "left out because events were lost during them: %s",
			  cmd_count_text(s->n_cut, "wait", count));
	if (s->n_left_out)
		page_line(p,
			  "left out because the recording does not follow them: %s (record with "
			  "--all-kernel)",
			  cmd_count_text(s->n_left_out, "thread", count));
	print_rows(p, s, r);
	print_slowest(p, s);
}

static void fini(void *analysis)
{
	sched_fini(analysis);
}

int report_sched(const struct report *r)
{
	static const struct report_kind kind = { sizeof(struct sched),
						 offsetof(struct sched, run),
						 read_recording,
						 check,
						 print,
						 fini };

	return report_run(r, &kind);
}
