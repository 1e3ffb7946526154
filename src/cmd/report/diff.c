/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/diff.c - `duet diff A B`: the differences between recordings of two sides, changes
 * beyond the difference of two runs first.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "cmd/repeat/turns.h"
#include "cmd/report/diff.h"
#include "cmd/report/internal.h"

struct arguments {
	struct diff_view view;
	struct diff_options o;
	struct turns turns; /* .n: 0 without --repeat */
};

static const char usage[] =
	"usage: duet diff [OPTIONS] A B\n"
	"       duet diff [OPTIONS] A1 A2 ... -- B1 B2 ...\n"
	"       duet diff [OPTIONS] --repeat N COMMAND... -- COMMAND...\n\n"
	"Shows the changes from recordings A to recordings B: system calls, functions, CPU time, "
	"events;\n"
	"changes that are more than the difference between two runs first.  That takes several "
	"recordings\n"
	"a side, of four or more the most is found; --repeat makes them, in turn, of two "
	"commands.\n\n"
	"  --repeat N  record two commands N times each, in turn, and compare them; 20 find more\n"
	"              than 5.  Their standard output is dropped\n"
	"  -o BASE     with --repeat: keep the recordings, as BASE-a-1, BASE-b-1, ...\n"
	"  -k SET, -e PATTERN, --no-kernel\n"
	"              with --repeat: which events, as in duet record\n"
	"  --pair X Y  also the time from an event like X to the next like Y of a thread\n"
	"  --totals    compare numbers and CPU time of whole recordings (default if each is of a "
	"command)\n"
	"  --rates     compare them per second (default otherwise)\n"
	"  --all       also the rows without a change\n"
	"  --limit N   at most N lines in a table (default: 30)\n"
	"  --json      one JSON object, for programs\n"
	"  --no-pager  on a terminal, do not show it page by page\n";

/* ---------------------------------------------------------------- the verb */

enum {
	OPT_JSON = 256,
	OPT_NO_PAGER,
	OPT_PAIR,
	OPT_ALL,
	OPT_LIMIT,
	OPT_TOTALS,
	OPT_RATES,
	OPT_REPEAT,
	OPT_NO_KERNEL
};

static int take_option(struct arguments *a, int c, char **argv)
{
	char *end;

	switch (c) {
	case OPT_NO_PAGER:
		pager_disable();
		return 0;
	case OPT_JSON:
		a->view.is_json = true;
		return 0;
	case OPT_ALL:
		a->view.shows_all = true;
		return 0;
	case OPT_TOTALS:
	case OPT_RATES:
		a->o.amounts = c == OPT_TOTALS ? DIFF_TOTALS : DIFF_RATES;
		return 0;
	case OPT_LIMIT:
		a->view.limit = strtoull(optarg, &end, 10);
		return *end || end == optarg || *optarg == '-'
			       ? cmd_error("diff", "--limit takes a number")
			       : 0;
	case OPT_PAIR: /* the second pattern is the next word after getopt's */
		if (!argv[optind])
			return cmd_usage("diff", "two patterns of events are needed");
		a->o.from = optarg;
		a->o.to = argv[optind++];
		return 0;
	case OPT_REPEAT:
		return turns_take(&a->turns, optarg);
	case 'o':
		a->turns.base = optarg;
		return 0;
	case 'k':
	case 'e':
		cmd_add_string(&a->turns.options, c == 'k' ? "-k" : "-e");
		cmd_add_string(&a->turns.options, optarg);
		return 0;
	case OPT_NO_KERNEL:
		cmd_add_string(&a->turns.options, "--no-kernel");
		return 0;
	case 'h':
		print_own(usage);
		exit(cmd_written("diff", 0));
	}
	return 0;
}

static int open_all(struct trace **traces, const struct arguments *a, struct diag *diag)
{
	const struct trace_options o = report_options("diff");
	uint32_t n = a->o.sides.n_a + a->o.sides.n_b;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		err = trace_open(&traces[i], (const char *const *)&a->view.paths[i], 1, &o, diag);
		if (!err && !i)
			progress_begin("diff", traces[i]);
		else if (!err)
			progress_also(traces[i]);
	}
	return err;
}

static int compare(const struct arguments *a, struct trace **traces)
{
	uint32_t n = a->o.sides.n_a + a->o.sides.n_b;
	struct diag diag = { "" };
	struct diff d = { 0 };
	int err, status;

	pager_prepare();
	if (reader_confine(&(struct reader){ .verb = "diff" }))
		return CMD_FAILED;
	err = open_all(traces, a, &diag);
	if (!err)
		err = diff_begin(&d, &a->o);
	for (uint32_t i = 0; i < n && !err; i++)
		err = diff_read(&d, traces[i], &diag);
	if (!err)
		err = diff_end(&d);
	status = err ? cmd_error("diff", "%s", *diag.text ? diag.text : strerror(-err))
		     : diff_print(&d, &a->view);
	diff_fini(&d);
	return status;
}

/* The words behind the options: A B, or A1 A2 ... -- B1 B2 ...; getopt moves the "--" before them, so
 * @n_behind words were counted behind it in time, -1 without one. */
static int take_paths(struct arguments *a, int n, int n_behind, char **words)
{
	bool is_pair = n == 2 && (n_behind < 0 || n_behind == 2);

	if (!is_pair && n < 2)
		return cmd_usage("diff", "two recordings are needed");
	if (!is_pair && (n_behind < 1 || n_behind >= n))
		return cmd_usage("diff", "several recordings a side: A1 A2 ... -- B1 B2 ...");
	a->o.sides.n_b = is_pair ? 1 : (uint32_t)n_behind;
	a->o.sides.n_a = (uint32_t)n - a->o.sides.n_b;
	a->view.paths = words;
	return 0;
}

static int parse(struct arguments *a, const char *letters, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "pair", required_argument, NULL, OPT_PAIR },
		{ "totals", no_argument, NULL, OPT_TOTALS },
		{ "rates", no_argument, NULL, OPT_RATES },
		{ "all", no_argument, NULL, OPT_ALL },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "repeat", required_argument, NULL, OPT_REPEAT },
		{ "no-kernel", no_argument, NULL, OPT_NO_KERNEL },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status = 0;

	optind = 0;
	opterr = 0;
	while (!status && (c = getopt_long(argc, argv, letters, options, NULL)) >= 0)
		status = c == ':' || c == '?' ? options_refuse("diff", c, options, argv)
					      : take_option(a, c, argv);
	return status;
}

static int compare_all(const struct arguments *a)
{
	uint32_t n = a->o.sides.n_a + a->o.sides.n_b;
	struct trace **traces = calloc(n, sizeof(struct trace *));
	int status;

	signal(SIGPIPE, SIG_IGN);
	if (!traces)
		return cmd_error("diff", "no memory for the comparison");
	status = compare(a, traces);
	for (uint32_t i = 0; i < n; i++)
		trace_close(traces[i]);
	free(traces);
	return status;
}

static int compare_commands(struct arguments *a, char **words)
{
	int status = turns_take_commands(&a->turns, words);

	if (!status)
		status = turns_record(&a->turns);
	if (!status) {
		a->o.sides = (struct diff_sides){ a->turns.n, a->turns.n };
		a->view.paths = a->turns.paths;
		if (!a->turns.base)
			reader_trusts();
		status = compare_all(a);
	}
	turns_end(&a->turns);
	return status;
}

int cmd_diff(int argc, char **argv)
{
	struct arguments a = { .view.limit = 30 };
	int status, n_behind = -1;

	for (int i = 1; i < argc && n_behind < 0; i++)
		if (!strcmp(argv[i], "--"))
			n_behind = argc - i - 1;
	/* Options stand before commands, whose own follow; but anywhere between recordings. */
	status = parse(&a, "+:ho:k:e:", argc, argv);
	if (!status && a.turns.n)
		return compare_commands(&a, argv + optind);
	if (!status)
		status = parse(&a, ":ho:k:e:", argc, argv);
	if (!status && a.turns.n)
		status = cmd_usage("diff", "--repeat stands before the commands");
	else if (!status && (a.turns.base || a.turns.options.n))
		status = cmd_usage("diff", "-o, -k, -e and --no-kernel are for --repeat");
	if (!status)
		status = take_paths(&a, argc - optind, n_behind, argv + optind);
	turns_end(&a.turns);
	return status ? status : compare_all(&a);
}
