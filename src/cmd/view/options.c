/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/options.c - parses the command line of `duet view`.
 *
 * `duet live` passes the same options to view_follow(), so errors name the verb of struct view.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "cmd/view/internal.h"

static const char usage[] =
	"usage: duet view [OPTIONS] TRACE...\n"
	"\n" VIEW_HELP "  --syscalls   system calls only: beginning and end as one line, in words; "
	"see also duet strace\n"
	"  --calls WHAT calls of programs: line (the default; one each, at its end), both (entry "
	"and\n"
	"               exit), none; with -e or -f they are shown only if asked for\n"
	"  --strict     exit with 1 if no event is shown\n"
	"  --no-pager   on a terminal, do not show it page by page\n"
	"  --follow     print new events until the recording ends; see also duet live\n";

enum {
	OPT_JSON = 256,
	OPT_CSV,
	OPT_SYSCALLS,
	OPT_STATE,
	OPT_CALLS,
	OPT_LIMIT,
	OPT_FROM,
	OPT_TO,
	OPT_TIME,
	OPT_COLUMNS,
	OPT_COLOR,
	OPT_NO_PAGER,
	OPT_FOLLOW,
	OPT_STRICT
};

static int take_option(struct view *v, int c)
{
	char *end;
	int n;

	switch (c) {
	case OPT_JSON:
		v->form = AS_JSON;
		return 0;
	case OPT_CSV:
		v->form = AS_CSV;
		return 0;
	case OPT_SYSCALLS:
		v->form = AS_SYSCALLS;
		return 0;
	case OPT_STATE:
		v->shows_state = true;
		return 0;
	case OPT_CALLS:
		v->has_calls_form = true;
		return view_calls_form(optarg, &v->calls_form)
			       ? 0
			       : view_fail(v, "--calls takes line, both or none");
	case OPT_FOLLOW:
		v->follows = true;
		return 0;
	case OPT_LIMIT:
		v->limit = strtoull(optarg, &end, 10);
		return *end || end == optarg || *optarg == '-' || !v->limit
			       ? view_fail(v, "--limit takes a number, from 1")
			       : 0;
	case OPT_FROM:
		return moment_parse(optarg, &v->from)
			       ? 0
			       : view_fail(v, "--from takes a time, as in 14:05:09.25 or +2.5s");
	case OPT_TO:
		return moment_parse(optarg, &v->to)
			       ? 0
			       : view_fail(v, "--to takes a time, as in 14:05:09.25 or +2.5s");
	case OPT_TIME:
		return view_style_time(&v->texts.style, optarg) ? 0 : CMD_FAILED;
	case OPT_COLUMNS:
		return view_style_columns(&v->texts.style, optarg) ? 0 : CMD_FAILED;
	case OPT_COLOR:
		v->color = optarg;
		return 0;
	case OPT_NO_PAGER:
		v->has_no_pager = true;
		return 0;
	case 'e':
		n = selection_add(v->patterns, v->n_patterns, VIEW_PATTERNS_MAX, optarg);
		if (n < 0)
			return view_fail(v, n == -EINVAL
						    ? "-e: empty pattern"
						    : "more than 64 patterns; join some with *");
		v->n_patterns = n;
		return 0;
	case OPT_STRICT:
		v->is_strict = true;
		return 0;
	case 'f':
		if (v->filter)
			return view_fail(v, "more than one -f; join them with && or ||");
		v->filter = optarg;
		return 0;
	}
	return 0;
}

int view_options(struct view *v, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "csv", no_argument, NULL, OPT_CSV },
		{ "syscalls", no_argument, NULL, OPT_SYSCALLS },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "state", no_argument, NULL, OPT_STATE },
		{ "calls", required_argument, NULL, OPT_CALLS },
		{ "time", required_argument, NULL, OPT_TIME },
		{ "columns", required_argument, NULL, OPT_COLUMNS },
		{ "color", required_argument, NULL, OPT_COLOR },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "follow", no_argument, NULL, OPT_FOLLOW },
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "from", required_argument, NULL, OPT_FROM },
		{ "to", required_argument, NULL, OPT_TO },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, err;

	optind = 0; /* another verb may have used getopt */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":e:f:h", options, NULL)) >= 0) {
		if (c == ':' || c == '?')
			return options_refuse(v->verb, c, options, argv);
		if (c == 'h') {
			print_own(usage);
			exit(cmd_written(v->verb, 0));
		}
		err = take_option(v, c);
		if (err)
			return err;
	}
	return 0;
}

bool view_takes_value(const char *arg)
{
	static const char *const options[] = { "-e",	 "-f",	      "--limit", "--from", "--to",
					       "--time", "--columns", "--color", "--calls" };

	for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
		if (!strcmp(arg, options[i]))
			return true;
	return false;
}
