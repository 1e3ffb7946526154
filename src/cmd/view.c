/* SPDX-License-Identifier: MIT */
/*
 * cmd/view.c - `duet view`: the events of recordings, one line each, ordered by time.
 *
 * Lost events are shown where they were lost, and summed at the end.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/choose.h"
#include "cmd/cmd.h"
#include "cmd/view_print.h"
#include "cmd/view_where.h"
#include "trace/match.h"
#include "trace/names.h"
#include "trace/trace.h"

enum { PATTERNS_MAX = 64 };

struct view {
	bool is_json;
	bool shows_state;
	uint64_t limit;
	struct moment from, to;
	const char *patterns[PATTERNS_MAX];
	int n_patterns;
	bool *is_wanted; /* by class number; NULL: all */
	const char *filter; /* NULL: none */
	struct match *match;
	struct trace *trace;
	struct names *names;
	struct out out;
	struct view_texts texts;
	const char *color; /* auto, always, never */
	bool has_no_pager;
	uint64_t lost_events, lost_packets, n_hidden;
};

static const char usage[] =
	"usage: duet view [OPTIONS] TRACE...\n"
	"\n"
	"  -e PATTERN   only events like this: shop:*, sched_*, malloc (may be repeated)\n"
	"  -f EXPR      only events for which this is true: 'size > 4096 && name ~ \"tmp*\"' (duet-filter(7))\n"
	"  --from T     from this time on: HH:MM:SS[.n], YYYY-MM-DD HH:MM:SS[.n], or seconds since 1970\n"
	"  --to T       up to this time\n"
	"  --limit N    at most N events\n"
	"  --state      also the dump of processes and files at the start, which is for programs\n"
	"  --json       one JSON object per line, with the state dump\n"
	"  --time FORM  clock (the default), date, utc, epoch, relative (to the first line)\n"
	"  --columns C  of time,delta,host,cpu,thread,event,fields\n"
	"  --color WHEN auto (the default), always, never\n"
	"  --no-pager   on a terminal, do not show it page by page\n";

static int complain(const char *what)
{
	fprintf(stderr, "duet view: %s\n", what);
	return 2;
}

static void warn(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "duet view: %s\n", text);
}

static void choose_all_but_state(struct view *v)
{
	for (uint32_t i = 0; i < trace_n_sources(v->trace); i++) {
		const struct trace_source *s = trace_source(v->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			v->is_wanted[c->number] = !choose_is_state(c->name);
	}
}

static int choose_events(struct view *v, struct diag *d)
{
	if (!v->n_patterns && (v->shows_state || v->is_json))
		return 0;
	v->is_wanted = calloc(trace_n_classes(v->trace) + (size_t)1, sizeof *v->is_wanted);
	if (!v->is_wanted)
		return diag_fail(d, -ENOMEM, "no memory");
	if (!v->n_patterns)
		choose_all_but_state(v);
	for (int i = 0; i < v->n_patterns; i++)
		if (!choose_like(v->trace, v->patterns[i], v->is_wanted))
			return diag_fail(d, -ENOENT, "-e %s: nothing recorded is called so",
					 v->patterns[i]);
	return 0;
}

static bool has_several_hosts(const struct trace *t)
{
	for (uint32_t i = 1; i < trace_n_sources(t); i++)
		if (strcmp(trace_source(t, i)->hostname, trace_source(t, 0)->hostname))
			return true;
	return false;
}

static void show_event(struct view *v, const struct trace_event *e, const struct who *w)
{
	if (v->is_json)
		view_json(&v->out, e, w);
	else
		view_text(&v->out, &v->texts, e, w);
}

static void show_lost(struct view *v, const struct trace_event *e)
{
	v->lost_events += e->lost_events;
	v->lost_packets += e->lost_packets;
	if (v->is_json)
		view_json_lost(&v->out, e);
	else
		view_text_lost(&v->out, &v->texts, e);
}

static bool is_chosen(const struct view *v, const struct trace_event *e, const struct who *w)
{
	return !v->match || match_event(v->match, e, w);
}

/* Events before --from are passed over one by one, for they may name threads of later ones. */
static int show_all(struct view *v, struct diag *d)
{
	struct trace_event e;
	struct who who;
	uint64_t n = 0;
	int item = TRACE_EVENT;

	while (n < v->limit && !v->out.is_over && (item = trace_next(v->trace, &e, d)) > 0) {
		if (v->to.is_given && e.time_ns > v->to.ns)
			break;
		if (item == TRACE_EVENT)
			names_see(v->names, &e, &who);
		if (v->from.is_given && e.time_ns < v->from.ns)
			continue;
		if (item == TRACE_LOST) {
			show_lost(v, &e);
		} else if (v->is_wanted && !v->is_wanted[trace_class_number(&e)]) {
			v->n_hidden++;
		} else if (is_chosen(v, &e, &who)) {
			show_event(v, &e, &who);
			n++;
		}
	}
	return item < 0 ? item : 0;
}

/* What was lost, and what was left out. */
static void tell_missing(const struct view *v)
{
	if (v->lost_events || v->lost_packets)
		fprintf(stderr,
			"duet view: %" PRIu64 " events and %" PRIu64
			" packets were lost while recording; larger or more buffers keep more\n",
			v->lost_events, v->lost_packets);
	if (v->n_hidden && !v->n_patterns)
		fprintf(stderr, "duet view: %" PRIu64 " events of the state dump are not shown (--state)\n",
			v->n_hidden);
}

static int view(struct view *v)
{
	struct view_look *look = &v->texts.look;
	struct diag d = { "no memory" };
	pid_t pager = 0;
	int err = names_open(&v->names, v->trace, &d);

	if (!err)
		err = choose_events(v, &d);
	if (!err && v->filter)
		err = match_open(&v->match, v->trace, v->filter, v->is_wanted, &d);
	if (!err)
		err = view_templates_open(&v->texts.templates, trace_n_classes(v->trace), look->name, look->plain);
	if (!err)
		err = out_init(&v->out, STDOUT_FILENO);
	if (err)
		return complain(d.text);
	moment_settle(&v->from, v->trace);
	moment_settle(&v->to, v->trace);
	if (!look->has_columns && has_several_hosts(v->trace))
		look->columns |= VIEW_COLUMN_HOST;
	if (!v->has_no_pager)
		pager = view_pager_open();
	err = show_all(v, &d);
	out_flush(&v->out);
	view_pager_close(pager);
	if (err)
		return complain(d.text);
	if (v->out.err) {
		snprintf(d.text, sizeof d.text, "cannot write: %s", strerror(-v->out.err));
		return complain(d.text);
	}
	tell_missing(v);
	return 0;
}

enum { OPT_JSON = 256, OPT_STATE, OPT_LIMIT, OPT_FROM, OPT_TO, OPT_TIME, OPT_COLUMNS, OPT_COLOR, OPT_NO_PAGER };

static int take_option(struct view *v, int c)
{
	char *end;

	switch (c) {
	case OPT_JSON:
		v->is_json = true;
		return 0;
	case OPT_STATE:
		v->shows_state = true;
		return 0;
	case OPT_LIMIT:
		v->limit = strtoull(optarg, &end, 10);
		return *end || end == optarg || *optarg == '-' ? complain("--limit takes a number") : 0;
	case OPT_FROM:
		return moment_parse(optarg, &v->from) ? 0 : complain("--from takes a time, as in 14:05:09.25");
	case OPT_TO:
		return moment_parse(optarg, &v->to) ? 0 : complain("--to takes a time, as in 14:05:09.25");
	case OPT_TIME:
		return view_look_time(&v->texts.look, optarg) ? 0 : CMD_FAILED;
	case OPT_COLUMNS:
		return view_look_columns(&v->texts.look, optarg) ? 0 : CMD_FAILED;
	case OPT_COLOR:
		v->color = optarg;
		return 0;
	case OPT_NO_PAGER:
		v->has_no_pager = true;
		return 0;
	case 'e':
		if (v->n_patterns == PATTERNS_MAX)
			return complain("more than 64 patterns; join some with *");
		v->patterns[v->n_patterns++] = optarg;
		return 0;
	case 'f':
		if (v->filter)
			return complain("more than one -f; join them with && or ||");
		v->filter = optarg;
		return 0;
	case ':':
		return cmd_usage("view", "an option lacks its value");
	}
	return cmd_usage("view", "no such option");
}

static int take_options(struct view *v, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },    { "limit", required_argument, NULL, OPT_LIMIT },
		{ "state", no_argument, NULL, OPT_STATE },  { "time", required_argument, NULL, OPT_TIME },
		{ "columns", required_argument, NULL, OPT_COLUMNS }, { "color", required_argument, NULL, OPT_COLOR },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "from", required_argument, NULL, OPT_FROM }, { "to", required_argument, NULL, OPT_TO },
		{ "help", no_argument, NULL, 'h' },	    { 0 },
	};
	int c, err;

	optind = 0; /* another verb may have used getopt */
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":e:f:h", options, NULL)) >= 0) {
		if (c == 'h') {
			fputs(usage, stdout);
			exit(0);
		}
		err = take_option(v, c);
		if (err)
			return err;
	}
	return optind < argc ? 0 : cmd_usage("view", "no recording given");
}

int cmd_view(int argc, char **argv)
{
	struct trace_options o = { .warn = warn };
	struct view v = { .limit = UINT64_MAX, .texts.look = VIEW_LOOK_DEFAULT, .color = "auto" };
	struct diag d = { "" };
	int status = take_options(&v, argc, argv);

	if (status)
		return status;
	if (!view_look_color(&v.texts.look, v.color))
		return CMD_FAILED;
	if (trace_open(&v.trace, (const char *const *)argv + optind, argc - optind, &o, &d) ||
	    view_where_open(&v.texts.where, (const char *const *)argv + optind, argc - optind, &d)) {
		trace_close(v.trace);
		return complain(d.text);
	}
	cmd_tell_hosts("view", trace_hosts(v.trace));
	signal(SIGPIPE, SIG_IGN);
	status = view(&v);
	out_fini(&v.out);
	view_where_close(v.texts.where);
	view_templates_close(&v.texts.templates);
	names_close(v.names);
	match_close(v.match);
	trace_close(v.trace);
	free(v.is_wanted);
	return status;
}
