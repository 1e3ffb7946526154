/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/diff.c - `duet diff A B`: the differences between two recordings, significant ones
 * first.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "cmd/report/internal.h"

struct arguments {
	bool is_json, shows_all;
	uint64_t limit;
	const char *from, *to;
};

static const char usage[] =
	"usage: duet diff [OPTIONS] A B\n\n"
	"Shows the changes from recording A to recording B: system calls, functions, CPU time, "
	"events;\n"
	"significant changes first (Mann-Whitney, corrected for their number by Holm).\n\n"
	"  --pair X Y  also the time from an event like X to the next like Y of a thread\n"
	"  --all       also the rows without a significant change\n"
	"  --limit N   at most N lines in a table (default: 30)\n"
	"  --json      one JSON object, for programs\n"
	"  --no-pager  on a terminal, do not show it page by page\n";

static bool is_significant(const struct diff_row *row)
{
	return row->is_tested && row->p < DIFF_LEVEL;
}

/* The direction of a significant change, in one word. */
static const char *verdict(const struct diff_row *row)
{
	bool is_time = row->kind != DIFF_EVENT && row->kind != DIFF_CPU,
	     is_up = row->superiority > 0.5;

	if (!row->is_tested)
		return "too few";
	if (!is_significant(row))
		return "";
	return is_time ? is_up ? "slower" : "faster" : is_up ? "more" : "less";
}

static void end_row(struct table *t, const struct diff_row *row)
{
	if (row->is_tested) {
		table_real(t, row->superiority);
		table_real(t, row->p);
	} else {
		table_nothing(t);
		table_nothing(t);
	}
	table_text(t, verdict(row));
}

static double per_second(double n, const struct diff_half *h)
{
	return h->last_ns > h->first_ns ? n * 1e9 / (double)(h->last_ns - h->first_ns) : 0;
}

static void put_percent(struct table *t, double a, double b)
{
	if (a > 0)
		table_real(t, (b / a - 1) * 100);
	else
		table_nothing(t);
}

static void put_percentile(struct table *t, struct samples *s, double percent)
{
	table_number_or_nothing(t, s->n, (int64_t)samples_percentile(s, percent));
}

static void add_times(struct table *t, struct diff_row *row)
{
	struct samples *a = &row->side[0].time, *b = &row->side[1].time;

	table_text(t, row->name);
	table_number(t, (int64_t)a->n);
	table_number(t, (int64_t)b->n);
	table_number(t, (int64_t)a->sum);
	table_number(t, (int64_t)b->sum);
	put_percentile(t, a, 50);
	put_percentile(t, b, 50);
	put_percentile(t, a, 99);
	put_percentile(t, b, 99);
	put_percent(t, (double)samples_percentile(a, 50), (double)samples_percentile(b, 50));
	end_row(t, row);
}

static void add_function(struct table *t, struct diff_row *row)
{
	struct diff_side *a = &row->side[0], *b = &row->side[1];

	table_text(t, row->name);
	table_number(t, (int64_t)a->n);
	table_number(t, (int64_t)b->n);
	table_number(t, (int64_t)a->total_ns);
	table_number(t, (int64_t)b->total_ns);
	table_number(t, (int64_t)a->ns);
	table_number(t, (int64_t)b->ns);
	put_percentile(t, &a->time, 50);
	put_percentile(t, &b->time, 50);
	put_percent(t, (double)a->total_ns, (double)b->total_ns);
	end_row(t, row);
}

static void add_rates(struct table *t, const struct diff *d, const struct diff_row *row)
{
	double a = per_second((double)row->side[0].n, &d->half[0]);
	double b = per_second((double)row->side[1].n, &d->half[1]);

	table_text(t, row->name);
	table_number(t, (int64_t)row->side[0].n);
	table_number(t, (int64_t)row->side[1].n);
	table_real(t, a);
	table_real(t, b);
	put_percent(t, a, b);
	end_row(t, row);
}

static void add_cpu(struct table *t, const struct diff *d, const struct diff_row *row)
{
	double a = per_second((double)row->side[0].ns, &d->half[0]) / 1e7;
	double b = per_second((double)row->side[1].ns, &d->half[1]) / 1e7;

	table_text(t, row->name);
	table_number(t, (int64_t)row->side[0].ns);
	table_number(t, (int64_t)row->side[1].ns);
	table_real(t, a);
	table_real(t, b);
	put_percent(t, a, b);
	end_row(t, row);
}

#define END_COLUMNS                                                                                \
	{ "superiority", NULL, CELL_REAL }, { "p", NULL, CELL_REAL },                              \
	{                                                                                          \
		"verdict", "", CELL_TEXT                                                           \
	}
#define TIME_COLUMNS                                                                               \
	{ "n_a", "times A", CELL_COUNT }, { "n_b", "B", CELL_COUNT },                              \
		{ "total_a_ns", "total A", CELL_NS }, { "total_b_ns", "B", CELL_NS },              \
		{ "p50_a_ns", "p50 A", CELL_NS }, { "p50_b_ns", "B", CELL_NS },                    \
		{ "p99_a_ns", "p99 A", CELL_NS }, { "p99_b_ns", "B", CELL_NS },                    \
	{                                                                                          \
		"p50_percent", "p50", CELL_CHANGE                                                  \
	}

static const struct column call_columns[] = { { "call", "system call", CELL_TEXT },
					      TIME_COLUMNS,
					      END_COLUMNS };
static const struct column pair_columns[] = { { "from", "from", CELL_TEXT },
					      TIME_COLUMNS,
					      END_COLUMNS };
static const struct column function_columns[] = {
	{ "function", "function", CELL_TEXT },
	{ "n_a", "calls A", CELL_COUNT },
	{ "n_b", "B", CELL_COUNT },
	{ "total_a_ns", "total A", CELL_NS },
	{ "total_b_ns", "B", CELL_NS },
	{ "self_a_ns", "self A", CELL_NS },
	{ "self_b_ns", "B", CELL_NS },
	{ "p50_a_ns", "p50 A", CELL_NS },
	{ "p50_b_ns", "B", CELL_NS },
	{ "total_percent", "total", CELL_CHANGE },
	END_COLUMNS,
};
static const struct column cpu_columns[] = {
	{ "program", "program", CELL_TEXT },
	{ "a_ns", "CPU time A", CELL_NS },
	{ "b_ns", "B", CELL_NS },
	{ "a_percent", "of one CPU A", CELL_PERCENT },
	{ "b_percent", "B", CELL_PERCENT },
	{ "change_percent", "change", CELL_CHANGE },
	END_COLUMNS,
};
static const struct column event_columns[] = {
	{ "event", "event", CELL_TEXT },
	{ "n_a", "events A", CELL_COUNT },
	{ "n_b", "B", CELL_COUNT },
	{ "rate_a", "per second A", CELL_REAL },
	{ "rate_b", "B", CELL_REAL },
	{ "change_percent", "change", CELL_CHANGE },
	END_COLUMNS,
};

static const struct {
	const char *key, *heading;
	const struct column *columns;
	int n_columns;
} tables[DIFF_KINDS] = {
	[DIFF_PAIR] = { "pairs", "Time from event to event", pair_columns,
			sizeof pair_columns / sizeof *pair_columns },
	[DIFF_CALL] = { "syscalls", "System calls", call_columns,
			sizeof call_columns / sizeof *call_columns },
	[DIFF_FUNCTION] = { "functions", "Functions", function_columns,
			    sizeof function_columns / sizeof *function_columns },
	[DIFF_CPU] = { "programs", "CPU time of programs", cpu_columns,
		       sizeof cpu_columns / sizeof *cpu_columns },
	[DIFF_EVENT] = { "events", "Events", event_columns,
			 sizeof event_columns / sizeof *event_columns },
};

static void print_kind(struct page *p, struct diff *d, enum diff_kind kind,
		       const struct arguments *a)
{
	uint32_t n_same = 0;
	struct table t = { .columns = tables[kind].columns, .n_columns = tables[kind].n_columns };
	bool is_empty;

	for (uint32_t i = 0; i < d->n_rows; i++) {
		struct diff_row *row = &d->rows[i];

		if (row->kind != kind)
			continue;
		if (!is_significant(row) && !a->shows_all && !a->is_json && kind != DIFF_PAIR) {
			n_same++;
			continue;
		}
		if (kind == DIFF_EVENT)
			add_rates(&t, d, row);
		else if (kind == DIFF_CPU)
			add_cpu(&t, d, row);
		else if (kind == DIFF_FUNCTION)
			add_function(&t, row);
		else
			add_times(&t, row);
	}
	is_empty = !t.n_cells;
	page_table(p, tables[kind].key, tables[kind].heading, &t, a->limit);
	if (n_same)
		page_line(p, "%s%s%u without significant change (--all shows them)",
			  is_empty ? tables[kind].heading : "  and ", is_empty ? ": " : "", n_same);
}

static void print_half(struct page *p, const struct diff_half *h, const char *key, const char *path)
{
	char text[64], duration[32], moment[40], count[64], places[64];

	snprintf(text, sizeof text, "n_events_%s", key);
	page_number(p, text, (int64_t)h->n_events);
	snprintf(text, sizeof text, "lost_%s", key);
	page_number(p, text, (int64_t)(h->lost_events + h->lost_packets));
	snprintf(text, sizeof text, "damages_%s", key);
	page_number(p, text, (int64_t)h->n_damages);
	page_line(p, "%c: %s in %s from %s, %s", key[0] - 'a' + 'A',
		  cmd_count_text(h->n_events, "event", count),
		  duration_text((uint64_t)(h->last_ns - h->first_ns), duration),
		  moment_text(h->first_ns, moment), path);
	if (h->lost_events || h->lost_packets || h->n_damages)
		page_line(p, "   its counts are low: %s and %" PRIu64 " packets lost, %s damaged",
			  cmd_count_text(h->lost_events, "event", count), h->lost_packets,
			  cmd_count_text(h->n_damages, "place", places));
}

static int print_all(struct diff *d, const struct arguments *a, char **paths)
{
	struct page p;

	if (page_open(&p, "diff", a->is_json))
		return CMD_FAILED;
	print_half(&p, &d->half[0], "a", paths[0]);
	print_half(&p, &d->half[1], "b", paths[1]);
	page_number(&p, "n_tested", d->n_tested);
	page_number(&p, "n_significant", d->n_significant);
	page_line(&p,
		  "%u of %u tested rows changed significantly (p < 0.05 over all of them together)",
		  d->n_significant, d->n_tested);
	print_kind(&p, d, DIFF_PAIR, a);
	print_kind(&p, d, DIFF_FUNCTION, a);
	print_kind(&p, d, DIFF_CALL, a);
	print_kind(&p, d, DIFF_CPU, a);
	print_kind(&p, d, DIFF_EVENT, a);
	return page_close(&p);
}

enum { OPT_JSON = 256, OPT_NO_PAGER, OPT_PAIR, OPT_ALL, OPT_LIMIT };

static int take_option(struct arguments *a, int c, char **argv)
{
	char *end;

	switch (c) {
	case OPT_NO_PAGER:
		pager_disable();
		return 0;
	case OPT_JSON:
		a->is_json = true;
		return 0;
	case OPT_ALL:
		a->shows_all = true;
		return 0;
	case OPT_LIMIT:
		a->limit = strtoull(optarg, &end, 10);
		return *end || end == optarg || *optarg == '-'
			       ? cmd_error("diff", "--limit takes a number")
			       : 0;
	case OPT_PAIR: /* the second pattern is the next word after getopt's */
		if (!argv[optind])
			return cmd_usage("diff", "two patterns of events are needed");
		a->from = optarg;
		a->to = argv[optind++];
		return 0;
	case 'h':
		print_own(usage);
		exit(cmd_written("diff", 0));
	}
	return 0;
}

static int compare(const struct arguments *a, char **paths)
{
	const struct trace_options o = report_options("diff");
	struct trace *traces[2] = { NULL, NULL };
	struct diag d = { "" };
	struct diff diff;
	int err = 0, status = 0;

	pager_prepare();
	if (reader_confine(&(struct reader){ .verb = "diff" }))
		return CMD_FAILED;
	for (int i = 0; i < 2 && !err; i++)
		err = trace_open(&traces[i], (const char *const *)&paths[i], 1, &o, &d);
	if (!err) {
		progress_begin("diff", traces[0]);
		progress_also(traces[1]);
	}
	if (!err)
		err = diff_init(&diff, traces[0], traces[1], a->from, a->to, &d);
	if (err) {
		status = cmd_error("diff", "%s", *d.text ? d.text : strerror(-err));
	} else {
		status = print_all(&diff, a, paths);
		diff_fini(&diff);
	}
	trace_close(traces[0]);
	trace_close(traces[1]);
	return status;
}

int cmd_diff(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "pair", required_argument, NULL, OPT_PAIR },
		{ "all", no_argument, NULL, OPT_ALL },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct arguments a = { .limit = 30 };
	int c, status;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
		if (c == ':' || c == '?')
			return options_refuse("diff", c, options, argv);
		status = take_option(&a, c, argv);
		if (status)
			return status;
	}
	if (argc - optind != 2)
		return cmd_usage("diff", "two recordings are needed");
	signal(SIGPIPE, SIG_IGN);
	return compare(&a, argv + optind);
}
