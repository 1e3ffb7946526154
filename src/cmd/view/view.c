/* SPDX-License-Identifier: MIT */
/*
 * cmd/view/view.c - `duet view`: prints the events of recordings, one line each, ordered by time.
 * Also follows recordings that are still written, for `duet live` and --follow.
 *
 * Lost events are shown where they were lost, and summed at the end.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/selection.h"
#include "cmd/cmd.h"
#include "cmd/view/csv.h"
#include "cmd/progress.h"
#include "cmd/strace/strace.h"
#include "cmd/view/view.h"
#include "cmd/view/print.h"
#include "cmd/view/symbols.h"
#include "trace/filter/match.h"
#include "trace/names.h"
#include "trace/trace.h"

enum {
	PATTERNS_MAX = 64,
	REFRESH_MS = 100,
	/* smaller streams are read from their beginning: they name threads */
	SKIP_BYTES_MIN = 4 << 20,
};

struct view {
	const char *verb;
	bool follows;
	bool is_from_now;
	enum { AS_TEXT, AS_JSON, AS_CSV, AS_SYSCALLS } form;
	bool shows_state;
	uint64_t limit;
	struct moment from, to;
	const char *patterns[PATTERNS_MAX];
	int n_patterns;
	bool *is_wanted;    /* by class number; NULL: all */
	uint32_t n_classes; /* size of is_wanted */
	const char *filter; /* NULL: none */
	struct match *match;
	struct trace *trace;
	struct names *names;
	struct out out;
	struct view_texts texts;
	struct csv csv;
	const char *color; /* auto, always, never */
	bool has_no_pager;
	uint64_t lost_events, lost_packets, n_hidden, n_shown, n_seen;
	const char *silent;	      /* the recording reported as silent last */
	uint64_t n_rounds;	      /* of following */
	const struct view_hook *hook; /* NULL: none */
};

static volatile sig_atomic_t is_interrupted;

#define VIEW_NEW(name)                                                                             \
	((struct view){ .verb = (name),                                                            \
			.limit = UINT64_MAX,                                                       \
			.texts.style = VIEW_STYLE_DEFAULT,                                         \
			.color = "auto" })

static const char usage[] =
	"usage: duet view [OPTIONS] TRACE...\n"
	"\n" VIEW_HELP "  --syscalls   system calls only: beginning and end as one line, in words; "
	"see also duet strace\n"
	"  --no-pager   on a terminal, do not show it page by page\n"
	"  --follow     go on with what is written, until the recording ends; see also duet live\n";

static int fail(const struct view *v, const char *what)
{
	return cmd_error(v->verb, "%s", what);
}

static void warn(void *context, const char *text)
{
	const struct view *v = context;

	cmd_error(v->verb, "%s", text);
}

static void select_all_but_state(struct view *v)
{
	for (uint32_t i = 0; i < trace_n_sources(v->trace); i++) {
		const struct trace_source *s = trace_source(v->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			v->is_wanted[c->number] = !selection_is_state_event(c->name);
	}
}

static int select_by_events(struct view *v, struct diag *d)
{
	uint32_t n = trace_n_classes(v->trace);
	bool *is_wanted;

	if ((!v->n_patterns && (v->shows_state || v->form == AS_JSON)) ||
	    (v->is_wanted && n == v->n_classes))
		return 0;
	is_wanted = realloc(v->is_wanted, (n + (size_t)1) * sizeof *is_wanted);
	if (!is_wanted)
		return diag_fail(d, -ENOMEM, "no memory");
	v->is_wanted = is_wanted;
	memset(is_wanted + v->n_classes, 0, (n + (size_t)1 - v->n_classes) * sizeof *is_wanted);
	v->n_classes = n;
	if (!v->n_patterns)
		select_all_but_state(v);
	for (int i = 0; i < v->n_patterns; i++)
		if (!selection_mark(v->trace, v->patterns[i], v->is_wanted) &&
		    !trace_may_grow(v->trace))
			return selection_refuse(v->trace, v->patterns[i], d);
	return 0;
}

static bool has_several_hosts(const struct trace *t)
{
	for (uint32_t i = 1; i < trace_n_sources(t); i++)
		if (strcmp(trace_source(t, i)->hostname, trace_source(t, 0)->hostname))
			return true;
	return false;
}

static void select_host(struct view *v)
{
	if (!v->texts.style.has_columns && has_several_hosts(v->trace))
		v->texts.style.columns |= VIEW_COLUMN_HOST;
}

static int show_event(struct view *v, const struct trace_event *e, const struct thread_identity *w)
{
	if (v->form == AS_CSV)
		return csv_event(&v->csv, e, w);
	if (v->form == AS_JSON)
		view_json(&v->out, e, w);
	else
		view_text(&v->out, &v->texts, e, w);
	return 0;
}

static void show_lost(struct view *v, const struct trace_event *e)
{
	v->lost_events += e->lost_events;
	v->lost_packets += e->lost_packets;
	if (v->form == AS_JSON)
		view_json_lost(&v->out, e);
	else if (v->form == AS_TEXT)
		view_text_lost(&v->out, &v->texts, e);
}

static bool is_chosen(const struct view *v, const struct trace_event *e,
		      const struct thread_identity *w)
{
	return !v->match || match_event(v->match, e, w);
}

/* Events before --from are read one by one: they may name threads of later events. */
static int print_events(struct view *v, struct diag *d)
{
	struct trace_event e;
	struct thread_identity who;
	int item = TRACE_EVENT;

	while (v->n_shown < v->limit && !v->out.is_over &&
	       (item = trace_next(v->trace, &e, d)) > 0) {
		v->n_seen++;
		if (progress_is_stopped())
			return diag_fail(d, -EINTR, "interrupted");
		if (v->to.is_given && e.time_ns > v->to.ns) {
			v->limit = 0; /* ends the loop of follow(), too */
			break;
		}
		if (item == TRACE_EVENT)
			names_on_event(v->names, &e, &who);
		if (v->from.is_given && e.time_ns < v->from.ns)
			continue;
		if (item == TRACE_LOST) {
			show_lost(v, &e);
		} else if (v->is_wanted && !v->is_wanted[trace_class_number(&e)]) {
			v->n_hidden++;
		} else if (is_chosen(v, &e, &who)) {
			if (show_event(v, &e, &who))
				return diag_fail(d, -ENOMEM, "no memory");
			v->n_shown++;
		}
	}
	return item < 0 ? item : 0;
}

/* ---------------------------------------------------------------- following */

static void interrupt(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

/* Adds new classes and sources to everything that is indexed by them. */
static int update(struct view *v, struct diag *d)
{
	int err = names_update(v->names, v->trace, d);

	if (!err)
		err = select_by_events(v, d);
	if (!err && v->match)
		err = match_update(v->match, v->trace, v->is_wanted, d);
	if (!err && view_templates_grow(&v->texts.templates, trace_n_classes(v->trace)))
		err = diag_fail(d, -ENOMEM, "no memory");
	select_host(v);
	return err;
}

static void report_silent(struct view *v)
{
	const char *silent = trace_following(v->trace)->silent;

	if (silent && silent != v->silent)
		fprintf(stderr,
			"duet %s: %s says nothing: its recorder or the link to it is stopped; it "
			"is waited for%s\n",
			v->verb, silent,
			trace_following(v->trace)->known_ns == INT64_MIN
				? "\n  if it is a flight recorder: duet snapshot writes what it "
				  "holds"
				: "");
	v->silent = silent;
}

/* Waits for the next round.  Returns false if the reader of our output is gone, or after Ctrl-C. */
static bool wait_for_more(struct view *v)
{
	struct pollfd p = { .fd = v->out.fd };

	if (poll(&p, 1, REFRESH_MS) > 0) { /* only errors are polled */
		if (p.revents & (POLLERR | POLLNVAL))
			v->out.is_over = true;
		else
			poll(NULL, 0, REFRESH_MS);
	}
	return !v->out.is_over && !is_interrupted && !progress_is_stopped();
}

static void begin_from_now(struct view *v)
{
	int64_t now_ns = trace_following(v->trace)->known_ns;

	if (!trace_may_grow(v->trace) || now_ns == INT64_MIN || v->from.is_given)
		return;
	trace_skip_to(v->trace, now_ns, SKIP_BYTES_MIN);
	v->from = (struct moment){ .is_given = true, .ns = now_ns };
}

static int follow(struct view *v, struct diag *d)
{
	const struct sigaction act = { .sa_handler = interrupt };
	int grows, err;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	do {
		bool is_first = !v->n_rounds++;
		uint64_t before = v->n_seen;

		grows = trace_refresh(v->trace, d);
		err = grows < 0 ? grows : update(v, d);
		if (is_first) { /* the recording's day is not known before */
			moments_resolve(&v->from, &v->to, v->trace);
		}
		if (is_first && v->is_from_now)
			begin_from_now(v);
		if (!err)
			err = print_events(v, d);
		out_flush(&v->out);
		report_silent(v);
		if (!err && v->hook && grows)
			err = v->hook->on_round(v->hook->context, v->trace, v->n_seen == before, d);
	} while (!err && grows && v->n_shown < v->limit && wait_for_more(v));
	return err;
}

static void report_followed(const struct view *v)
{
	const struct trace_following *f = trace_following(v->trace);

	if (f->n_late)
		fprintf(stderr,
			"duet %s: %" PRIu64
			" events came too late to be shown in order: duet view shows them\n",
			v->verb, f->n_late);
	if (f->n_gone)
		fprintf(stderr,
			"duet %s: %" PRIu64 " files of finished pieces were removed before they "
			"were read to their ends\n",
			v->verb, f->n_gone);
	if (f->n_cut)
		fprintf(stderr,
			"duet %s: the recording ended without its recorder saying so: it was "
			"killed\n",
			v->verb);
	else if (!trace_may_grow(v->trace))
		fprintf(stderr, "duet %s: the recording has ended\n", v->verb);
}

/* ---------------------------------------------------------------- the whole */

/* Reports losses, and events that are hidden by default. */
static void report_missing(const struct view *v)
{
	char text[160];

	if (v->lost_events || v->lost_packets)
		fprintf(stderr,
			"duet %s: %s lost while recording; larger or more buffers keep more\n",
			v->verb, cmd_lost_text(v->lost_events, v->lost_packets, text));
	if (v->n_hidden && !v->n_patterns)
		fprintf(stderr, "duet %s: not shown: %s of the state dump (--state)\n", v->verb,
			cmd_count_text(v->n_hidden, "event", text));
	if (v->follows)
		report_followed(v);
}

static int view(struct view *v)
{
	struct view_style *style = &v->texts.style;
	struct diag d = { "no memory" };
	pid_t pager = 0;
	int err = names_open(&v->names, v->trace, &d);

	if (!err)
		err = select_by_events(v, &d);
	if (!err && v->filter)
		err = match_open(&v->match, v->trace, v->filter, v->is_wanted, &d);
	if (!err)
		err = view_templates_open(&v->texts.templates, trace_n_classes(v->trace),
					  style->name, style->plain);
	if (!err)
		err = out_init(&v->out, STDOUT_FILENO);
	if (err)
		return fail(v, d.text);
	if (!v->follows) {
		moments_resolve(&v->from, &v->to, v->trace);
	}
	select_host(v);
	if (v->form == AS_CSV && csv_open(&v->csv, &v->out, v->trace, v->is_wanted))
		return fail(v, d.text);
	if (!v->has_no_pager && !v->follows)
		pager = view_pager_open();
	if (!v->follows && !isatty(STDOUT_FILENO))
		progress_begin(v->verb, v->trace);
	err = v->follows ? follow(v, &d) : print_events(v, &d);
	progress_end();
	out_flush(&v->out);
	view_pager_close(pager);
	if (err)
		return fail(v, d.text);
	if (v->out.err) {
		snprintf(d.text, sizeof d.text, "cannot write: %s", strerror(-v->out.err));
		return fail(v, d.text);
	}
	report_missing(v);
	return 0;
}

enum {
	OPT_JSON = 256,
	OPT_CSV,
	OPT_SYSCALLS,
	OPT_STATE,
	OPT_LIMIT,
	OPT_FROM,
	OPT_TO,
	OPT_TIME,
	OPT_COLUMNS,
	OPT_COLOR,
	OPT_NO_PAGER,
	OPT_FOLLOW
};

static int take_option(struct view *v, int c)
{
	char *end;

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
	case OPT_FOLLOW:
		v->follows = true;
		return 0;
	case OPT_LIMIT:
		v->limit = strtoull(optarg, &end, 10);
		return *end || end == optarg || *optarg == '-' ? fail(v, "--limit takes a number")
							       : 0;
	case OPT_FROM:
		return moment_parse(optarg, &v->from)
			       ? 0
			       : fail(v, "--from takes a time, as in 14:05:09.25 or +2.5s");
	case OPT_TO:
		return moment_parse(optarg, &v->to)
			       ? 0
			       : fail(v, "--to takes a time, as in 14:05:09.25 or +2.5s");
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
		if (v->n_patterns == PATTERNS_MAX)
			return fail(v, "more than 64 patterns; join some with *");
		v->patterns[v->n_patterns++] = optarg;
		return 0;
	case 'f':
		if (v->filter)
			return fail(v, "more than one -f; join them with && or ||");
		v->filter = optarg;
		return 0;
	case ':':
		return cmd_usage(v->verb, "an option lacks its value");
	}
	return cmd_usage(v->verb, "no such option");
}

static int take_options(struct view *v, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "csv", no_argument, NULL, OPT_CSV },
		{ "syscalls", no_argument, NULL, OPT_SYSCALLS },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "state", no_argument, NULL, OPT_STATE },
		{ "time", required_argument, NULL, OPT_TIME },
		{ "columns", required_argument, NULL, OPT_COLUMNS },
		{ "color", required_argument, NULL, OPT_COLOR },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "follow", no_argument, NULL, OPT_FOLLOW },
		{ "from", required_argument, NULL, OPT_FROM },
		{ "to", required_argument, NULL, OPT_TO },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
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
	return 0;
}

bool view_takes_value(const char *arg)
{
	static const char *const options[] = { "-e",   "-f",	 "--limit",   "--from",
					       "--to", "--time", "--columns", "--color" };

	for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
		if (!strcmp(arg, options[i]))
			return true;
	return false;
}

static int run(struct view *v, const char *const *paths, int n)
{
	struct trace_options o = { .warn = warn, .context = v, .follows = v->follows };
	struct diag d = { "" };
	int status;

	if (!view_style_color(&v->texts.style, v->color))
		return CMD_FAILED;
	progress_hook(&o);
	if (trace_open(&v->trace, paths, n, &o, &d) ||
	    view_symbols_open(&v->texts.symbols, paths, n, &d)) {
		trace_close(v->trace);
		return fail(v, d.text);
	}
	cmd_report_hosts(v->verb, trace_hosts(v->trace));
	signal(SIGPIPE, SIG_IGN);
	status = view(v);
	csv_close(&v->csv);
	out_fini(&v->out);
	view_symbols_close(v->texts.symbols);
	view_templates_close(&v->texts.templates);
	names_close(v->names);
	match_close(v->match);
	trace_close(v->trace);
	free(v->is_wanted);
	return status;
}

int view_follow(const char *verb, const char *const *paths, int n, bool is_from_now,
		const struct view_hook *hook, int argc, char **argv)
{
	struct view v = VIEW_NEW(verb);
	int status = take_options(&v, argc, argv);

	if (!status && v.form == AS_SYSCALLS)
		status = cmd_usage(
			verb,
			"--syscalls is for recordings: duet strace -p shows them as they happen");
	v.is_from_now = is_from_now;
	v.hook = hook;
	v.follows = true;
	return status ? status : run(&v, paths, n);
}

int cmd_view(int argc, char **argv)
{
	struct view v = VIEW_NEW("view");
	int status = take_options(&v, argc, argv);

	if (!status && optind == argc)
		status = cmd_usage("view", "no recording given");
	if (!status && v.form == AS_SYSCALLS && (v.n_patterns || v.filter || v.follows))
		status = cmd_usage("view", "--syscalls goes without -e, -f and --follow: duet "
					   "strace -i has filters of its own");
	if (!status && v.form == AS_SYSCALLS)
		return strace_view((const char *const *)argv + optind, argc - optind, &v.from,
				   &v.to, v.limit);
	return status ? status : run(&v, (const char *const *)argv + optind, argc - optind);
}
