/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/sched.c - `duet report sched`: tables of waits for a CPU, by thread or process, and
 * the longest.
 */
#include <inttypes.h>

#include "analysis/report/sched.h"
#include "cmd/cmd.h"
#include "cmd/report/report.h"

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
	struct table t;
	char name[48];

	table_init(&t, columns, sizeof columns / sizeof *columns);
	if (!r->is_json)
		add_row(&t, &s->all, "all", -1);
	for (uint32_t i = 0; i < s->n_rows; i++)
		add_row(&t, &s->rows[i], thread_text(s->run.threads, s->rows[i].thread, name),
			threads_at(s->run.threads, s->rows[i].thread)->tid);
	page_table(p, by_process ? "processes" : "threads",
		   "From wakeup to running (total to max); time off the CPU after preemptions", &t,
		   r->limit == UINT64_MAX ? r->limit : r->limit + 1);
	table_fini(&t);
}

static void print_slowest(struct page *p, const struct sched *s)
{
	static const struct column columns[] = {
		TABLE_SLOW("waited", "from"),
		{ "cpu", "got CPU", CELL_COUNT },
		{ "after", "after", CELL_TEXT },
	};
	struct table t;

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < s->slowest.n; i++) {
		const struct slow *slow = &s->slowest.at[i];

		report_slow(&t, &s->run, slow);
		if (slow->detail == TRACE_CPU_UNKNOWN)
			table_nothing(&t);
		else
			table_number(&t, slow->detail);
		table_text(&t, slow->what == SCHED_WOKEN ? "wakeup" : "preemption");
	}
	page_table(p, "slowest", "The longest waits", &t, UINT64_MAX);
	table_fini(&t);
}

static int print_all(const struct report *r, struct sched *s)
{
	char count[64];
	struct page p;

	if (!s->n_switches)
		return report_lacks(&s->run, "switches of threads", "-k sched");
	if (page_open(&p, "report", r->is_json))
		return CMD_FAILED;
	page_recording(&p, &s->run);
	page_number(&p, "n_switches", (int64_t)s->n_switches);
	page_number(&p, "n_cut", (int64_t)s->n_cut);
	page_number(&p, "n_left_out", (int64_t)s->n_left_out);
	if (!s->n_wakeups)
		page_line(&p, "no wakeups were recorded, so only preemptions are known: record "
			      "with -k sched");
	if (s->n_cut)
		page_line(&p, "left out, for events were lost meanwhile: %s",
			  cmd_count_text(s->n_cut, "wait", count));
	if (s->n_left_out)
		page_line(
			&p,
			"left out, for the recording does not follow them: %s (--all-kernel does)",
			cmd_count_text(s->n_left_out, "thread", count));
	print_rows(&p, s, r);
	print_slowest(&p, s);
	return page_close(&p);
}

int report_sched(const struct report *r)
{
	struct sched s;
	struct diag d = { "" };
	int status;

	if (sched_init(&s, r->trace, &r->range, report_is_by(r, "process"), r->n_slowest, &d))
		return cmd_error("report", "%s", d.text);
	status = print_all(r, &s);
	sched_fini(&s);
	return status;
}
