/* SPDX-License-Identifier: MIT */
/* cmd/report/functions.c - `duet report functions`: functions of programs, their callers, the
 * slowest calls, and what was not recorded. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "analysis/calls/calls.h"
#include "analysis/names/public.h"
#include "cmd/cmd.h"
#include "cmd/nearest.h"
#include "cmd/report/internal.h"

struct functions {
	struct fcalls_report report;
	struct fcalls *calls;
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The line where the function begins; "" if it is unknown. */
static const char *line_text(struct lines *l, const struct fcalls_function *f,
			     char buffer[LINE_BYTES])
{
	char id[2 * ABI_BUILD_ID_BYTES + 1];

	lines_build_id(f->build_id, f->build_id_bytes, id, sizeof id);
	return lines_text(l, f->object, id, f->address, buffer);
}

/* @lines: NULL: the row is not among those that are printed. */
static void put_function(struct table *t, const struct fcalls *c, uint32_t number,
			 struct lines *lines)
{
	const struct fcalls_function *f = fcalls_function(c, number);
	char line[LINE_BYTES];

	table_text(t, number ? f->shown : "-");
	table_text(t, number ? line_text(lines, f, line) : "");
	table_text(t, base_of(f->object));
}

static void put_split(struct table *t, const struct fcalls_split *s, bool has)
{
	for (int i = 0; i < FCALLS_PARTS; i++)
		table_number_or_nothing(t, has, (int64_t)s->ns[i]);
}

static void put_times(struct table *t, const struct spread *s)
{
	static const double percents[] = { 50, 90, 99 };

	table_number_or_nothing(t, s->n, s->n ? (int64_t)(s->sum / s->n) : 0);
	table_number_or_nothing(t, s->n, (int64_t)s->min);
	for (int i = 0; i < 3; i++)
		table_number_or_nothing(t, s->n, (int64_t)spread_percentile(s, percents[i]));
	table_number_or_nothing(t, s->n, (int64_t)s->max);
}

static void put_hook(struct table *t, const struct fcalls_row *row)
{
	table_number_or_nothing(t, row->hook_ns_x256, (int64_t)(row->hook_ns_x256 + 128) / 256);
	table_text(t, fcalls_is_hook_heavy(row) ? "!" : "");
}

static void print_rows(struct page *p, const struct fcalls_report *f, const struct report *r,
		       struct lines *lines)
{
	bool has = f->has_split;
	const struct column columns[] = {
		{ "function", "function", CELL_TEXT },
		{ "line", "line", CELL_LINE },
		{ "file", "file", CELL_TEXT },
		{ "n", "calls", CELL_COUNT },
		{ "total_ns", "total", CELL_NS },
		{ "self_ns", "self", CELL_NS },
		{ "user_ns", has ? "user" : NULL, CELL_NS },
		{ "kernel_ns", has ? "kernel" : NULL, CELL_NS },
		{ "blocked_ns", has ? "blocked" : NULL, CELL_NS },
		{ "runnable_ns", has ? "runnable" : NULL, CELL_NS },
		{ "interrupted_ns", has ? "interrupted" : NULL, CELL_NS },
		{ "self_user_ns", NULL, CELL_NS },
		{ "self_kernel_ns", NULL, CELL_NS },
		{ "self_blocked_ns", NULL, CELL_NS },
		{ "self_runnable_ns", NULL, CELL_NS },
		{ "self_interrupted_ns", NULL, CELL_NS },
		{ "mean_ns", "mean", CELL_NS },
		{ "min_ns", "min", CELL_NS },
		{ "p50_ns", "p50", CELL_NS },
		{ "p90_ns", "p90", CELL_NS },
		{ "p99_ns", "p99", CELL_NS },
		{ "max_ns", "max", CELL_NS },
		{ "n_open", NULL, CELL_COUNT },
		{ "n_unwound", NULL, CELL_COUNT },
		{ "hook_ns", "hook", CELL_NS },
		{ "hook_heavy", "", CELL_TEXT },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < f->n_rows; i++) {
		const struct fcalls_row *row = &f->rows[i];

		put_function(&t, f->calls, row->function, i < r->limit ? lines : NULL);
		table_number(&t, (int64_t)row->calls);
		table_number(&t, (int64_t)row->total_ns);
		table_number(&t, (int64_t)row->self_ns);
		put_split(&t, &row->total, has);
		put_split(&t, &row->self, has);
		put_times(&t, &row->time);
		table_number(&t, (int64_t)row->n_open);
		table_number(&t, (int64_t)row->n_unwound);
		put_hook(&t, row);
	}
	page_table(p, "functions", NULL, &t, r->limit);
}

static void print_edges(struct page *p, const struct fcalls_report *f, const struct report *r,
			struct lines *lines)
{
	static const struct column columns[] = {
		{ "caller", "caller", CELL_TEXT },    { "caller_line", "line", CELL_LINE },
		{ "caller_file", NULL, CELL_TEXT },   { "callee", "callee", CELL_TEXT },
		{ "callee_line", "line", CELL_LINE }, { "callee_file", NULL, CELL_TEXT },
		{ "n", "calls", CELL_COUNT },	      { "total_ns", "total", CELL_NS },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < f->n_edges; i++) {
		put_function(&t, f->calls, f->edges[i].caller, i < r->limit ? lines : NULL);
		put_function(&t, f->calls, f->edges[i].callee, i < r->limit ? lines : NULL);
		table_number(&t, (int64_t)f->edges[i].calls);
		table_number(&t, (int64_t)f->edges[i].total_ns);
	}
	page_table(p, "callers", "Callers and callees", &t, r->limit);
}

static void print_slowest(struct page *p, const struct fcalls_report *f, struct lines *lines)
{
	static const struct column columns[] = {
		TABLE_SLOW("duration", "began"),
		{ "function", "function", CELL_TEXT },
		{ "line", "line", CELL_LINE },
		{ "file", "file", CELL_TEXT },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 0; i < f->slowest.n; i++) {
		report_slow(&t, &f->run, &f->slowest.at[i]);
		put_function(&t, f->calls, f->slowest.at[i].subject, lines);
	}
	page_table(p, "slowest", "The slowest", &t, UINT64_MAX);
}

static void print_elided(struct page *p, const struct fcalls_report *f, const struct report *r)
{
	static const struct column columns[] = {
		{ "function", "function", CELL_TEXT }, { "line", NULL, CELL_LINE },
		{ "file", "file", CELL_TEXT },	       { "n", "calls before", CELL_COUNT },
		{ "mean_ns", "mean", CELL_NS },
	};
	struct table t = TABLE(columns);

	for (uint32_t i = 1; i <= fcalls_n_functions(f->calls); i++) {
		const struct fcalls_function *one = fcalls_function(f->calls, i);

		if (!one->is_elided || (r->function && !fcalls_is_like(f->calls, i, r->function)))
			continue;
		put_function(&t, f->calls, i, NULL);
		table_number(&t, (int64_t)one->n_governed);
		table_number_or_nothing(
			&t, one->n_governed,
			one->n_governed ? (int64_t)(one->governed_ns / one->n_governed) : 0);
	}
	page_table(p, "elided", "Too short to record: unpatched by duet after some calls", &t,
		   r->limit);
}

static void print_threads(struct page *p, const struct fcalls *c)
{
	for (uint32_t i = 0; i < fcalls_n_threads(c); i++) {
		const struct fcalls_thread *t = fcalls_thread(c, i);

		if (t->n_lost_batches || t->lost || t->n_torn || t->n_damaged || t->n_before)
			page_line(p,
				  "  thread %" PRId64 ": %u batches lost, %u before the first, "
				  "%" PRIu64 " calls not recorded, %u torn, %u damaged",
				  t->tid, t->n_lost_batches, t->n_before, t->lost, t->n_torn,
				  t->n_damaged);
	}
}

static void print_losses(struct page *p, const struct fcalls_report *f)
{
	const struct fcalls_losses *l = &f->losses;

	page_number(p, "n_lost_batches", (int64_t)l->lost_batches);
	page_number(p, "n_lost_calls", (int64_t)l->lost_calls);
	page_number(p, "n_torn", (int64_t)l->n_torn);
	page_number(p, "n_damaged", (int64_t)l->n_damaged);
	page_number(p, "n_misnested", (int64_t)l->n_misnested);
	page_number(p, "n_crossings", (int64_t)l->n_crossings);
	page_number(p, "n_unseen_switches", (int64_t)l->n_unseen_switches);
	page_number(p, "n_without_file", l->n_without_file);
	page_number(p, "n_without_plan", l->n_without_plan);
	if (l->lost_batches || l->lost_calls || l->n_torn || l->n_damaged) {
		page_line(p, "calls are missing:");
		print_threads(p, f->calls);
	}
	if (l->n_misnested || l->n_crossings)
		page_line(p,
			  "%" PRIu64 " calls and %" PRIu64
			  " spans of the kernel did not nest: they are cut",
			  l->n_misnested, l->n_crossings);
	if (l->n_unseen_switches)
		page_line(p,
			  "%" PRIu64 " switches to a thread were not reported by the kernel: "
			  "\"runnable\" is too long there",
			  l->n_unseen_switches);
	if (l->n_without_file || l->n_without_plan)
		page_line(p,
			  "functions without names: %u processes without a calls file, %u files "
			  "without a plan",
			  l->n_without_file, l->n_without_plan);
}

static int read_recording(void *analysis, const struct report *r, struct diag *d)
{
	struct functions *f = analysis;
	const struct fcalls_options o = { .range = r->range,
					  .pid = r->pid < 0 ? 0 : r->pid,
					  .tid = r->tid < 0 ? 0 : r->tid,
					  .pattern = r->function };
	int err = fcalls_open(&f->calls, r->trace, d);

	if (!err)
		err = fcalls_report_open(&f->report, f->calls, &o, r->n_slowest, d);
	if (!err && fcalls_add_elided(f->calls))
		err = diag_fail(d, -1, "no memory for functions");
	if (err)
		fcalls_close(f->calls);
	return err;
}

static int check(const void *analysis, const struct report *r)
{
	const struct functions *f = analysis;
	struct nearest near = { .wanted = r->function ? r->function : "" };
	char text[NEAREST_MAX + 32];

	if (!fcalls_has_calls(f->calls))
		return report_lacks(&f->report.run, "calls of functions", "--graph 'PROGRAM:*'");
	if (f->report.n_rows || !r->function)
		return 0;
	for (uint32_t i = 1; i <= fcalls_n_functions(f->calls); i++)
		nearest_try(&near, fcalls_function(f->calls, i)->shown);
	return cmd_error("report", "no recorded function matches %s%s", r->function,
			 *near.best ? nearest_text(&near, text) : "");
}

static void print(struct page *p, void *analysis, const struct report *r)
{
	struct functions *f = analysis;
	const struct fcalls_report *c = &f->report;
	struct lines *lines = lines_open(); /* without memory: no lines */
	char count[64], functions[64];

	page_number(p, "n_calls", (int64_t)c->n_calls);
	page_line(p, "%s of %s%s", cmd_count_text(c->n_calls, "call", count),
		  cmd_count_text(c->n_rows, "function", functions),
		  c->is_estimated ? "; times are estimated from samples" : "");
	print_losses(p, c);
	print_rows(p, c, r, lines);
	for (uint32_t i = 0; i < c->n_rows; i++)
		if (fcalls_is_hook_heavy(&c->rows[i])) {
			page_line(p, "!: recording a call costs more than 30 %% of its mean");
			break;
		}
	print_edges(p, c, r, lines);
	print_slowest(p, c, lines);
	print_elided(p, c, r);
	lines_close(lines);
}

static void fini(void *analysis)
{
	struct functions *f = analysis;

	fcalls_report_close(&f->report);
	fcalls_close(f->calls);
}

int report_functions(const struct report *r)
{
	static const struct report_kind kind = { sizeof(struct functions),
						 offsetof(struct functions, report.run),
						 read_recording,
						 check,
						 print,
						 fini };

	return report_run(r, &kind);
}
