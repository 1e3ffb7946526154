/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/export.c - `duet export FORMAT`: writes recordings in formats of other viewers.  Each
 * format is a file of its own.
 *
 * An output file that is not complete is removed.
 */
#include "cmd/export/internal.h"
#include "cmd/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/confine/output_file.h"
#include "cmd/confine/reader.h"
#include "cmd/once.h"
#include "cmd/finding.h"
#include "cmd/options.h"
#include "cmd/nearest.h"
#include "cmd/print/print.h"

static const struct format {
	const char *name;
	int (*run)(struct export *x, struct diag *d);
	bool is_binary;
	const char *summary;
} formats[] = {
	{ "perfetto", export_perfetto, true, "ui.perfetto.dev: everything, as protocol buffers" },
	{ "chrome", export_chrome, false,
	  "Chrome's trace event JSON: Perfetto, chrome://tracing, Speedscope" },
	{ "speedscope", export_speedscope, false, "call stacks for speedscope.app" },
	{ "firefox", export_firefox, false, "call stacks for profiler.firefox.com" },
	{ "folded", export_folded, false, "call stacks, a line each: \"main;work;malloc 17\"" },
	{ "svg", export_svg, false, "call stacks as a flame graph, one file for any browser" },
	{ "csv", export_csv, false, "a line per event, for spreadsheets and scripts" },
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static void help(void)
{
	print_own("usage: duet export FORMAT [-o FILE] [OPTIONS] TRACE...\n"
		  "       duet export FORMAT [-o FILE] [OPTIONS] -- COMMAND [ARGUMENTS]\n\n"
		  "Writes recordings for other viewers:\n\n");
	for (int i = 0; i < N_FORMATS; i++)
		print_out("  %-11s %s\n", formats[i].name, formats[i].summary);
	print_own(
		"  ctf         a copy in which nothing is compressed, for other CTF readers: -o "
		"DIR, "
		"one recording,\n"
		"              all of it or a part (--from, --to)\n\n"
		"  -o FILE               write there (default: standard output)\n"
		"  -e PATTERN            only events like this: shop:*, sched_*, malloc (may be "
		"repeated)\n"
		"  -f EXPR               only events for which this is true (duet-filter(7))\n"
		"  --from T, --to T      only events from, or up to, this time (as in duet view)\n"
		"  --pair A,B            an event like A begins, one like B ends a slice (may be "
		"repeated)\n"
		"  --counter EVENT:FIELD draw this field as a counter (may be repeated)\n"
		"  --weight WHAT         stacks: a field to add up, time until the thread's next, "
		"or "
		"off-cpu; default: 1\n"
		"                        calls of programs: time (the default), on-cpu, off-cpu\n"
		"  --title TEXT          svg: its heading\n"
		"  --strict              exit with 1 if no event is exported\n");
}

static int fail(const char *summary)
{
	return cmd_error("export", "%s", summary);
}

static void warn(void *context, const char *text)
{
	(void)context;
	fail(text);
}

void export_ignore_warning(void *context, const char *text)
{
	(void)context;
	(void)text;
}

/* ---------------------------------------------------------------- shared by the formats */

int64_t export_from_ns(const struct export *x)
{
	return x->from.is_given ? x->from.ns : INT64_MIN;
}

int64_t export_to_ns(const struct export *x)
{
	return x->to.is_given ? x->to.ns : INT64_MAX;
}

static bool is_chosen(const struct export *x, const struct trace_event *e,
		      const struct thread_identity *w)
{
	if (x->is_wanted && !x->is_wanted[trace_class_number(e)])
		return false;
	return !x->match || match_event(x->match, e, w);
}

struct forwarding { /* calls the format with its context, and the filter with ours */
	struct export *x;
	timeline_take *take;
	void *context;
};

static int forward_item(void *context, const struct timeline_item *item)
{
	struct forwarding *p = context;
	int err = p->x->out.is_over ? 1 : p->take(p->context, item);

	out_room(&p->x->out);
	return err;
}

static bool is_forwarded(void *context, const struct trace_event *e,
			 const struct thread_identity *w)
{
	struct forwarding *p = context;
	bool is_match = !p->x->match || match_event(p->x->match, e, w);

	p->x->n_events += is_match;
	return is_match;
}

int export_timeline(struct export *x, struct timeline *t, timeline_take *take, void *context,
		    struct diag *d)
{
	struct forwarding p = { x, take, context };
	struct timeline_options o = { .is_wanted = x->is_wanted,
				      .is_chosen = is_forwarded,
				      .from_ns = export_from_ns(x),
				      .to_ns = export_to_ns(x),
				      .pairs = x->pairs,
				      .n_pairs = x->n_pairs,
				      .counters = x->counters,
				      .n_counters = x->n_counters,
				      .functions = kallsyms_open(x->paths, x->n_paths),
				      .has_calls = export_has_calls(x),
				      .take = forward_item,
				      .context = &p };
	struct trace_options quiet = { .warn = export_ignore_warning };
	struct trace *first = NULL;
	int err;

	progress_hook(&quiet);
	err = trace_open(&first, x->paths, x->n_paths, &quiet, d);
	if (!err)
		progress_also(first);
	if (!err && !o.functions)
		err = diag_fail(d, -ENOMEM, "no memory");
	if (!err)
		err = timeline_init(t, first, d);
	if (!err)
		err = timeline_run(t, x->trace, &o, d);
	kallsyms_close(o.functions);
	/* The timeline has copies of the names of threads and needs nothing else of it. */
	trace_close(first);
	return err < 0 ? err : 0;
}

bool export_has_calls(const struct export *x)
{
	return x->has_calls && !x->n_patterns && !x->filter;
}

static int look_for_calls(struct export *x, struct diag *d)
{
	struct fcalls *calls;
	int err = fcalls_open(&calls, x->trace, d);

	if (err)
		return err;
	x->has_calls = fcalls_has_calls(calls);
	fcalls_close(calls);
	return 0;
}

static int each_item(struct export *x, struct names *names, int item, struct trace_event *e,
		     export_on_event *on_event, void *context)
{
	struct thread_identity w;

	if (item != TRACE_EVENT)
		return 0;
	names_on_event(names, e, &w);
	if (e->time_ns < export_from_ns(x) || !is_chosen(x, e, &w))
		return 0;
	x->n_events++;
	out_room(&x->out);
	return on_event(context, e, &w);
}

int export_each(struct export *x, export_on_event *on_event, export_on_call *on_call, void *context,
		struct diag *d)
{
	bool has_calls = on_call && export_has_calls(x);
	struct view_calls calls = { 0 };
	struct view_call_item call;
	struct names *names;
	struct trace_event e;
	int item, err = names_open(&names, x->trace, d);

	if (!err)
		err = view_calls_open(&calls, x->trace,
				      has_calls ? VIEW_CALLS_LINE : VIEW_CALLS_NONE, d);
	while (!err && !x->out.is_over &&
	       (item = view_calls_next(&calls, &e, &call, d)) != TRACE_END) {
		err = item < 0		      ? item
		      : progress_is_stopped() ? diag_fail(d, -EINTR, "interrupted")
					      : 0;
		if (err || e.time_ns > export_to_ns(x))
			break;
		out_room(&x->out);
		if (item != VIEW_CALL)
			err = each_item(x, names, item, &e, on_event, context);
		else if (e.time_ns >= export_from_ns(x))
			err = on_call(context, &call);
		if (err < 0)
			diag_fail(d, err, "cannot go on: %s", strerror(-err));
	}
	view_calls_close(&calls);
	names_close(names);
	return err < 0 ? err : 0;
}

/* ---------------------------------------------------------------- options */

enum { OPT_FROM = 256, OPT_TO, OPT_PAIR, OPT_COUNTER, OPT_WEIGHT, OPT_TITLE, OPT_STRICT };

/* Cuts "A,B" in two. */
static int take_pair(struct export *x, char *text)
{
	char *comma = strchr(text, ',');

	if (!comma || comma == text || !comma[1])
		return fail("--pair takes two patterns, as in --pair shop:open,shop:close");
	if (x->n_pairs == EXPORT_CHOICES_MAX)
		return fail("more than 64 pairs");
	*comma = 0;
	x->pairs[x->n_pairs++] = (struct timeline_pair){ text, comma + 1 };
	return 0;
}

static int take_counter(struct export *x, char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon || colon == text || !colon[1])
		return fail("--counter takes an event and its field, as in --counter shop:stock:n");
	if (x->n_counters == EXPORT_CHOICES_MAX)
		return fail("more than 64 counters");
	*colon = 0;
	x->counters[x->n_counters++] = (struct timeline_counter){ text, colon + 1, false };
	return 0;
}

static int take_option(struct export *x, const char **file, int c)
{
	int n;

	switch (c) {
	case 'o':
		*file = optarg;
		return 0;
	case 'e':
		n = selection_add(x->patterns, x->n_patterns, EXPORT_CHOICES_MAX, optarg);
		if (n < 0)
			return fail(n == -EINVAL ? "-e: empty pattern"
						 : "more than 64 patterns; join some with *");
		x->n_patterns = n;
		return 0;
	case OPT_STRICT:
		x->is_strict = true;
		return 0;
	case 'f':
		if (x->filter)
			return fail("more than one -f; join them with && or ||");
		x->filter = optarg;
		return 0;
	case OPT_FROM:
		return moment_parse(optarg, &x->from)
			       ? 0
			       : fail("--from takes a time, as in 14:05:09.25 or +2.5s");
	case OPT_TO:
		return moment_parse(optarg, &x->to)
			       ? 0
			       : fail("--to takes a time, as in 14:05:09.25 or +2.5s");
	case OPT_PAIR:
		return take_pair(x, optarg);
	case OPT_COUNTER:
		return take_counter(x, optarg);
	case OPT_WEIGHT:
		x->weight = optarg;
		return 0;
	case OPT_TITLE:
		x->title = optarg;
		return 0;
	}
	return 0;
}

static int take_options(struct export *x, const char **file, int argc, char **argv)
{
	static const struct option options[] = {
		{ "from", required_argument, NULL, OPT_FROM },
		{ "to", required_argument, NULL, OPT_TO },
		{ "pair", required_argument, NULL, OPT_PAIR },
		{ "counter", required_argument, NULL, OPT_COUNTER },
		{ "weight", required_argument, NULL, OPT_WEIGHT },
		{ "title", required_argument, NULL, OPT_TITLE },
		{ "strict", no_argument, NULL, OPT_STRICT },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:e:f:h", options, NULL)) >= 0) {
		if (c == ':' || c == '?')
			return options_refuse("export", c, options, argv);
		if (c == 'h') {
			help();
			exit(cmd_written("export", 0));
		}
		status = take_option(x, file, c);
		if (status)
			return status;
	}
	return 0;
}

/* ---------------------------------------------------------------- one export */

static bool has_counter(const struct export *x, const struct timeline_counter *wanted)
{
	for (uint32_t i = 0; i < trace_n_sources(x->trace); i++) {
		const struct trace_source *s = trace_source(x->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next)
			if (pass_is_like(wanted->event, s, c->name) &&
			    ctf_class_find(c, CTF_PAYLOAD, wanted->field))
				return true;
	}
	return false;
}

static bool is_counted(const struct export *x, const char *event)
{
	for (uint32_t i = 0; i < x->n_counters; i++)
		if (!strcmp(x->counters[i].event, event))
			return true;
	return false;
}

/* Counters that the kernel recorded are always exported. */
static void add_kernel_counters(struct export *x)
{
	for (uint32_t i = 0; i < trace_n_sources(x->trace); i++) {
		const struct trace_source *s = trace_source(x->trace, i);

		for (const struct ctf_event_class *c = s->meta->events;
		     c && s->domain == TRACE_KERNEL; c = c->next)
			if (!strncmp(c->name, "counter_", 8) &&
			    ctf_class_find(c, CTF_PAYLOAD, "count") &&
			    x->n_counters < EXPORT_CHOICES_MAX && !is_counted(x, c->name))
				x->counters[x->n_counters++] =
					(struct timeline_counter){ c->name, "count", true };
	}
}

static int select_events(struct export *x, struct diag *d)
{
	const char *missing;

	x->is_wanted = calloc(trace_n_classes(x->trace) + (size_t)1, sizeof *x->is_wanted);
	if (!x->is_wanted)
		return diag_fail(d, -ENOMEM, "no memory");
	if (!x->n_patterns)
		selection_mark_default(x->trace, x->is_wanted);
	missing = selection_mark_all(x->trace, x->patterns, x->n_patterns, x->is_wanted);
	if (missing)
		return selection_refuse(x->trace, missing, d);
	for (uint32_t i = 0; i < x->n_counters; i++)
		if (!has_counter(x, &x->counters[i]))
			return diag_fail(d, -ENOENT,
					 "--counter %s:%s: no event like this has such a field",
					 x->counters[i].event, x->counters[i].field);
	add_kernel_counters(x);
	moments_resolve(&x->from, &x->to, x->trace);
	return x->filter ? match_open(&x->match, x->trace, x->filter, x->is_wanted, d) : 0;
}

static int write_all(struct export *x, const struct format *f, struct output_file *file,
		     struct diag *d)
{
	int err = output_file_begin(file, d);

	if (err)
		return err;
	err = out_init(&x->out, file->fd) ? diag_fail(d, -ENOMEM, "no memory") : 0;
	x->out.is_shown = isatty(file->fd);
	if (!err)
		err = f->run(x, d);
	if (!err)
		out_flush(&x->out);
	if (!err && x->out.err)
		err = diag_fail(d, x->out.err, "cannot write %s: %s",
				file->path ? file->path : "it", strerror(-x->out.err));
	if (err)
		x->out.is_over = true; /* the rest of the buffer is not written */
	out_fini(&x->out);
	return err;
}

/* A file without events looks like a recording without them. */
static void report_none(const struct export *x)
{
	struct diag d = { "" };

	selection_explain_none(x->trace, &x->from, &x->to, x->patterns, x->n_patterns, x->filter,
			       &d);
	cmd_finding("export", "%s", d.text);
}

static int export(struct export *x, const struct format *f, const char *file)
{
	struct trace_options o = { .warn = warn };
	struct output_file output;
	struct diag d = { "" };
	int err;

	if (output_file_open(&output, file, &d))
		return fail(d.text);
	if (reader_confine(&(struct reader){ .verb = "export" })) {
		output_file_close(&output, true, NULL);
		return CMD_FAILED;
	}
	progress_hook(&o);
	err = trace_open(&x->trace, x->paths, x->n_paths, &o, &d);
	signal(SIGPIPE, SIG_IGN);
	if (!err)
		err = look_for_calls(x, &d);
	if (!err)
		err = select_events(x, &d);
	if (!err) {
		progress_begin("export", x->trace);
		err = write_all(x, f, &output, &d);
		progress_end();
	}
	if (output_file_close(&output, err, &d) && !err)
		err = -EIO;
	if (!err && !x->n_events && !x->has_calls && !x->out.is_over)
		report_none(x);
	match_close(x->match);
	trace_close(x->trace);
	free(x->is_wanted);
	return err ? fail(d.text) : 0;
}

static int copy(const struct export *x, const char *to, int argc, char **argv)
{
	struct diag d = { "" };

	if (!to)
		return fail("ctf: name a new directory with -o");
	if (optind + 2 != argc)
		return cmd_usage("export", "ctf takes one recording");
	if (x->n_patterns || x->filter || x->n_pairs || x->n_counters)
		return fail("ctf: all events of the time are copied; -e, -f and the like do not "
			    "apply");
	return export_ctf(argv[optind + 1], to, &x->from, &x->to, &d) ? fail(d.text) : 0;
}

static int refuse_format(const char *name)
{
	struct nearest near = { .wanted = name };
	char text[NEAREST_MAX + 32];

	for (int i = 0; i < N_FORMATS; i++)
		nearest_try(&near, formats[i].name);
	if (!access(name, F_OK))
		return cmd_error("export",
				 "%s is a recording: name the format before it, as in `duet export "
				 "svg %s`",
				 name, name);
	if (!strncmp(name, "flame", 5))
		return cmd_error("export", "no format \"%s\": a flame graph is \"svg\"", name);
	return cmd_error("export", "no format \"%s\"%s", name,
			 *near.best ? nearest_text(&near, text)
				    : ": `duet export --help` lists them");
}

static int run_export(int argc, char **argv)
{
	struct export x = { 0 };
	const char *file = NULL;
	int status = take_options(&x, &file, argc, argv), f = 0;

	if (status)
		return status;
	if (optind == argc)
		return cmd_usage("export", "no format given");
	if (!strcmp(argv[optind], "ctf"))
		return cmd_findings_status(x.is_strict, copy(&x, file, argc, argv));
	while (f < N_FORMATS && strcmp(argv[optind], formats[f].name))
		f++;
	if (f == N_FORMATS)
		return refuse_format(argv[optind]);
	if (++optind == argc)
		return cmd_usage("export", "no recording given");
	if (!file && formats[f].is_binary && isatty(STDOUT_FILENO))
		return fail("this format is binary: name a file with -o");
	x.paths = (const char *const *)argv + optind;
	x.n_paths = argc - optind;
	return cmd_findings_status(x.is_strict, export(&x, &formats[f], file));
}

int cmd_export(int argc, char **argv)
{
	return once_run("export", run_export, argc, argv);
}
