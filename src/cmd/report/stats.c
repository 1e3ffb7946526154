/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/stats.c - `duet stats`: numbers of events by event, process, thread, CPU, stream,
 * function or value.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/public.h"
#include "cmd/pager.h"
#include "cmd/cmd.h"
#include "cmd/once.h"
#include "cmd/options.h"
#include "cmd/nearest.h"
#include "cmd/print/print.h"
#include "cmd/report/internal.h"
#include "trace/symbols/public.h"

static const char usage[] =
	"usage: duet stats [--by WHAT] [--limit N] [--json] [-f EXPRESSION] TRACE...\n"
	"       duet stats [OPTIONS] -- COMMAND [ARGUMENTS]\n"
	"\n"
	"Counts events: their number, rate and bytes, and the losses.\n"
	"\n"
	"  --by WHAT    only by this, all of it: event, process, thread, cpu, stream, function, or "
	"a context\n"
	"               or field of events, as uid, cgroup, $ctx.procname, fd; otherwise the most "
	"frequent\n"
	"               ten of each of the former kinds\n"
	"  --limit N    at most N lines of each kind\n"
	"  --json       one JSON object, with everything\n"
	"  --no-pager   on a terminal, do not show it page by page\n"
	"  -f EXPR      only events for which this is true: 'size > 4096' (duet-filter(7))\n";

struct arguments {
	bool is_json;
	int by;		   /* -1: all */
	const char *value; /* COUNT_VALUE: its name; else NULL */
	uint64_t limit;
	const char *filter; /* NULL: none */
};

static const struct {
	const char *name, *key, *heading, *title;
} kinds[COUNT_KINDS] = {
	[COUNT_EVENT] = { "event", "events", "By event", "event" },
	[COUNT_PROCESS] = { "process", "processes", "By process", "process" },
	[COUNT_THREAD] = { "thread", "threads", "By thread", "thread" },
	[COUNT_CPU] = { "cpu", "cpus", "By CPU", "CPU" },
	[COUNT_STREAM] = { "stream", "streams", "By stream", "stream" },
	[COUNT_FUNCTION] = { "function", "functions", "By kernel function", "function" },
	[COUNT_VALUE] = { "value", "values", NULL, NULL }, /* named after the value */
};

static const char *name_of(const struct counts *c, enum count_by by, const struct count_row *row,
			   struct kallsyms *functions, char buffer[48])
{
	const char *name;

	switch (by) {
	case COUNT_EVENT:
		return row->name;
	case COUNT_PROCESS:
	case COUNT_THREAD:
		return thread_text(c->run.threads, row->number, buffer);
	case COUNT_STREAM:
		return trace_stream(c->run.trace, row->number)->path;
	case COUNT_FUNCTION:
		name = kallsyms_find(functions, row->address);
		snprintf(buffer, 48, "0x%" PRIx64, row->address);
		return name ? name : buffer;
	case COUNT_VALUE:
		return values_text(c->values, row->number);
	default:
		break;
	}
	if (row->number == TRACE_CPU_UNKNOWN)
		return "?";
	snprintf(buffer, 48, "%" PRIu32, row->number);
	return buffer;
}

static void add_counts(struct table *t, const struct counts *c, const struct count *n)
{
	double seconds = (double)(c->run.last_ns - c->run.first_ns) / 1e9;

	table_number(t, (int64_t)n->n);
	table_real(t, c->total.n ? 100.0 * (double)n->n / (double)c->total.n : 0);
	table_real(t, seconds > 0 ? (double)n->n / seconds : 0);
	table_number(t, (int64_t)(n->bits / 8));
	table_number(t, n->first_ns);
	table_number(t, n->last_ns);
}

/* The columns after the counts depend on the kind: a tid or pid in JSON, losses, or the domain of
 * events. */
static void print_kind(struct page *p, const struct counts *c, enum count_by by,
		       const struct arguments *a, struct kallsyms *functions)
{
	bool is_thread = by == COUNT_PROCESS || by == COUNT_THREAD;
	bool has_lost = by == COUNT_CPU || by == COUNT_STREAM;
	struct column columns[10] = {
		{ kinds[by].name, kinds[by].title, CELL_TEXT },
		{ "n", "events", CELL_COUNT },
		{ "percent", "of all", CELL_PERCENT },
		{ "per_second", "per second", CELL_REAL },
		{ "bytes", "bytes", CELL_BYTES },
		{ "first_ns", NULL, CELL_TIME },
		{ "last_ns", NULL, CELL_TIME },
	};
	int n = 7;
	struct table t = { .columns = columns };
	char buffer[48], heading[64];

	if (by == COUNT_VALUE) {
		snprintf(heading, sizeof heading, "By %s", a->value);
		columns[0].title = a->value;
	}
	if (is_thread) {
		columns[n++] =
			(struct column){ by == COUNT_PROCESS ? "pid" : "tid", NULL, CELL_COUNT };
	} else if (has_lost) {
		columns[n++] = (struct column){ "lost_events", "lost events", CELL_COUNT };
		columns[n++] = (struct column){ "lost_packets", "lost packets", CELL_COUNT };
	} else if (by == COUNT_EVENT) {
		columns[n++] = (struct column){ "domain", NULL, CELL_TEXT };
	}
	t.n_columns = n;
	for (uint32_t i = 0; i < c->by[by].n; i++) {
		static const char *const domains[] = { "other", "ust", "kernel" };
		const struct count_row *row = &c->by[by].at[i];

		const char *name = name_of(c, by, row, functions, buffer);

		if (name)
			table_text(&t, name);
		else
			table_nothing(&t); /* events without the value */
		add_counts(&t, c, &row->count);
		if (is_thread) {
			table_number(&t, threads_at(c->run.threads, row->number)->tid);
		} else if (has_lost) {
			table_number(&t, (int64_t)row->count.lost_events);
			table_number(&t, (int64_t)row->count.lost_packets);
		} else if (by == COUNT_EVENT) {
			table_text(&t, domains[row->domain]);
		}
	}
	page_table(p, kinds[by].key, by == COUNT_VALUE ? heading : kinds[by].heading, &t, a->limit);
}

static int print_all(const struct arguments *a, const struct counts *c, struct kallsyms *functions)
{
	struct page p;

	if (page_open(&p, "stats", a->is_json))
		return CMD_FAILED;
	page_recording(&p, &c->run);
	if (a->filter) {
		page_number(&p, "n_matching", (int64_t)c->total.n);
		page_line(&p, "%" PRIu64 " of them match and are counted", c->total.n);
	}
	page_number(&p, "bytes", (int64_t)(c->total.bits / 8));
	if (a->by == COUNT_FUNCTION && !c->by[COUNT_FUNCTION].n)
		page_line(&p, "none is a call of a kernel function: `duet record -k function:F` or "
			      "--graph F records them");
	for (int by = 0; by < COUNT_KINDS; by++)
		if (a->by == by || (a->by < 0 && by != COUNT_VALUE &&
				    (by != COUNT_FUNCTION || a->is_json || c->by[by].n)))
			print_kind(&p, c, (enum count_by)by, a, functions);
	return page_close(&p);
}

enum { OPT_JSON = 256, OPT_NO_PAGER, OPT_BY, OPT_LIMIT };

static int take_option(struct arguments *a, int c)
{
	char *end;

	switch (c) {
	case OPT_NO_PAGER:
		pager_disable();
		return 0;
	case OPT_JSON:
		a->is_json = true;
		return 0;
	case OPT_LIMIT:
		a->limit = strtoull(optarg, &end, 10);
		return *end || end == optarg || *optarg == '-'
			       ? cmd_error("stats", "--limit takes a number")
			       : 0;
	case OPT_BY:
		a->value = NULL;
		for (a->by = 0; a->by < COUNT_VALUE; a->by++)
			if (!strcmp(optarg, kinds[a->by].name))
				return 0;
		a->value = optarg;
		return 0;
	case 'f':
		if (a->filter)
			return cmd_error("stats", "more than one -f; join them with && or ||");
		a->filter = optarg;
		return 0;
	}
	return 0;
}

static int take_options(struct arguments *a, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "by", required_argument, NULL, OPT_BY },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":f:h", options, NULL)) >= 0) {
		if (c == ':' || c == '?')
			return options_refuse("stats", c, options, argv);
		if (c == 'h') {
			print_own(usage);
			exit(cmd_written("stats", 0));
		}
		status = take_option(a, c);
		if (status)
			return status;
	}
	if (!a->limit)
		a->limit = a->by < 0 ? 10 : UINT64_MAX;
	return optind < argc ? 0 : cmd_usage("stats", "no recording given");
}

static int refuse_value(const struct trace *t, const char *value)
{
	struct nearest near = { .wanted = value };
	char text[NEAREST_MAX + 32];

	for (int i = 0; i < COUNT_VALUE; i++)
		nearest_try(&near, kinds[i].name);
	nearest_try_fields(&near, t, "*");
	return cmd_error(
		"stats", "--by %s: no recorded event has such a context or field%s", value,
		*near.best ? nearest_text(&near, text)
			   : "; event, process, thread, cpu, stream and function are always there");
}

static int run_stats(int argc, char **argv)
{
	struct arguments a = { .by = -1 };
	struct counts counts;
	struct diag d = { "" };
	struct kallsyms *functions;
	struct trace *t;
	int status = take_options(&a, argc, argv), err;

	if (!status)
		status =
			report_open("stats", (const char *const *)argv + optind, argc - optind, &t);
	if (status)
		return status;
	functions = kallsyms_open((const char *const *)argv + optind, argc - optind);
	if (!functions) {
		status = cmd_error("stats", "no memory");
	} else if ((err = counts_init(&counts, t, NULL, a.filter, a.value, &d))) {
		status = err == -ENOENT && !*d.text ? refuse_value(t, a.value)
						    : cmd_error("stats", "%s", d.text);
	} else {
		status = print_all(&a, &counts, functions);
		counts_fini(&counts);
	}
	kallsyms_close(functions);
	trace_close(t);
	return status;
}

int cmd_stats(int argc, char **argv)
{
	return once_run("stats", run_stats, argc, argv);
}
