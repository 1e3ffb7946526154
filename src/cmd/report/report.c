/* SPDX-License-Identifier: MIT */
/*
 * cmd/report/report.c - `duet report QUESTION`: its options, and the table of reports.
 *
 * Each report is a file with the name of its question.
 */
#include "cmd/report/internal.h"
#include "cmd/pager.h"
#include "cmd/progress.h"

#include <assert.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/selection.h"
#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/once.h"
#include "cmd/options.h"
#include "cmd/nearest.h"
#include "cmd/print/print.h"

static const struct {
	const char *name;
	int (*run)(const struct report *r);
	const char *by; /* the values of --by, between commas; "*": a field */
	const char *what;
} questions[] = {
	{ "syscalls", report_syscalls, ",process,", "system calls: errors, time, the slowest" },
	{ "sched", report_sched, ",process,thread,",
	  "scheduling: waits for a CPU, preemptions, the longest" },
	{ "cpu", report_cpu, ",process,thread,", "CPU time by process and CPU, idle, interrupts" },
	{ "functions", report_functions, ",",
	  "functions of programs: calls, time by kind, the slowest calls" },
	{ "heap", report_heap, ",process,",
	  "heap: live bytes over time, peak, by size and call site, blocks never freed" },
	{ "latency A B", report_latency, "*", "time from an event like A to the next like B" },
	{ "why", report_why, ",",
	  "how a thread spent its time: running, waiting, and for which thread or device" },
	{ "io", report_io, ",process,file,", "reads and writes by file, process and device" },
	{ "irq", report_irq, ",cpu,", "interrupts: time, durations, interrupted threads" },
	{ "locks", report_locks, "*",
	  "waits for futexes and their wakers; locks of programs (--pair)" },
	{ "scripts", report_scripts, ",", "tables that scripts have kept in the recording" },
};
enum { N_QUESTIONS = sizeof questions / sizeof *questions };

static void help(void)
{
	print_own("usage: duet report QUESTION [OPTIONS] TRACE...\n"
		  "       duet report QUESTION [OPTIONS] -- COMMAND [ARGUMENTS]\n\n"
		  "Answers about a recording, or about a command that it records for that:\n\n");
	for (int i = 0; i < N_QUESTIONS; i++)
		print_out("  %-13s %s\n", questions[i].name, questions[i].what);
	print_own(
		"\n"
		"  --by WHAT     syscalls: process; sched: thread (default) or process;\n"
		"                cpu: process (default) or thread;\n"
		"                latency, locks: a field that both events have (default: the "
		"thread);\n"
		"                io: file (default) or process; irq: cpu\n"
		"  -t TID        why, functions: of this thread;  -p PID: of this process's "
		"threads\n"
		"  --function P  functions: those like FILE:FUNCTION or FUNCTION, as globs\n"
		"  --between A B why: of each time from an event like A to the next like B of a "
		"thread\n"
		"  --pair A B    locks: held from an event like A to the next like B\n"
		"  --from T      from this time on; --to T: up to this time; as in duet view\n"
		"  --slowest N   the N slowest, with their times in the trace (default: 5); heap: "
		"the oldest\n"
		"  --limit N     at most N lines in a table (default: 30)\n"
		"  --json        one JSON object, for programs\n"
		"  --no-pager    on a terminal, do not show it page by page\n");
}

bool report_is_by(const struct report *r, const char *value)
{
	return r->by && !strcmp(r->by, value);
}

int report_lacks(const struct pass *run, const char *events, const char *options)
{
	return cmd_error("report", "no %s in this recording%s\n  `duet record %s` records them",
			 events,
			 run->n_of[TRACE_KERNEL] || *options != '-' || options[1] != 'k'
				 ? ""
				 : ", and no other event of the kernel",
			 options);
}

int report_run(const struct report *r, const struct report_kind *kind)
{
	char *analysis = calloc(1, kind->size);
	struct diag d = { "" };
	struct page p;
	int status;

	assert(kind->pass + sizeof(struct pass) <= kind->size);
	if (!analysis || kind->read(analysis, r, &d)) {
		free(analysis);
		return cmd_error("report", "%s", *d.text ? d.text : "no memory");
	}
	status = kind->check(analysis, r);
	if (!status)
		status = page_open(&p, "report", r->is_json);
	if (!status) {
		page_recording(&p, (const struct pass *)(analysis + kind->pass));
		kind->print(&p, analysis, r);
		status = page_close(&p);
	}
	kind->fini(analysis);
	free(analysis);
	return status;
}

static void warn(void *context, const char *text)
{
	cmd_error(context, "%s", text);
}

struct trace_options report_options(const char *verb)
{
	struct trace_options o = { .warn = warn, .context = (char *)verb };

	progress_hook(&o);
	return o;
}

int report_open(const char *verb, const char *const *paths, int n, struct trace **t)
{
	const struct trace_options o = report_options(verb);
	struct diag d = { "" };

	pager_prepare();
	if (reader_confine(&(struct reader){ .verb = verb }))
		return CMD_FAILED;
	if (trace_open(t, paths, n, &o, &d))
		return cmd_error(verb, "%s", d.text);
	cmd_report_hosts(verb, trace_hosts(*t));
	signal(SIGPIPE, SIG_IGN);
	progress_begin(verb, *t);
	return 0;
}

static bool parse_number(const char *text, uint64_t most, uint64_t *n)
{
	char *end;

	*n = strtoull(text, &end, 10);
	return end != text && !*end && *text != '-' && *n <= most;
}

void report_slow(struct table *t, const struct pass *run, const struct slow *slow)
{
	char name[48];

	table_number(t, (int64_t)slow->duration_ns);
	table_number(t, slow->time_ns);
	table_text(t, thread_text(run->threads, slow->thread, name));
	table_number(t, threads_at(run->threads, slow->thread)->tid);
}

struct asked {
	struct report report;
	struct moment from, to;
};

enum {
	OPT_JSON = 256,
	OPT_NO_PAGER,
	OPT_BY,
	OPT_SLOWEST,
	OPT_LIMIT,
	OPT_FROM,
	OPT_TO,
	OPT_PAIR,
	OPT_FUNCTION
};

static int take_number(const char *option, int64_t *n)
{
	uint64_t v;

	if (!parse_number(optarg, INT32_MAX, &v))
		return cmd_error("report", "%s takes a number, not %s", option, optarg);
	*n = (int64_t)v;
	return 0;
}

static int take_option(struct asked *o, int c, char **argv)
{
	struct report *r = &o->report;
	uint64_t n;

	switch (c) {
	case OPT_NO_PAGER:
		pager_disable();
		return 0;
	case OPT_JSON:
		r->is_json = true;
		return 0;
	case OPT_BY:
		r->by = optarg;
		return 0;
	case OPT_SLOWEST:
		if (!parse_number(optarg, 1000000, &n))
			return cmd_error("report", "--slowest takes a number up to 1000000");
		r->n_slowest = (uint32_t)n;
		return 0;
	case OPT_LIMIT:
		return parse_number(optarg, UINT64_MAX, &r->limit)
			       ? 0
			       : cmd_error("report", "--limit takes a number");
	case 't':
		return take_number("-t", &r->tid);
	case 'p':
		return take_number("-p", &r->pid);
	case OPT_FROM:
		return moment_parse(optarg, &o->from)
			       ? 0
			       : cmd_error("report",
					   "--from takes a time, as in 14:05:09.25 or +2.5s");
	case OPT_TO:
		return moment_parse(optarg, &o->to)
			       ? 0
			       : cmd_error("report",
					   "--to takes a time, as in 14:05:09.25 or +2.5s");
	case OPT_FUNCTION:
		r->function = optarg;
		return 0;
	case OPT_PAIR: /* the second pattern is the next word after getopt's */
		if (!argv[optind])
			return cmd_usage("report", "two patterns of events are needed");
		r->a = optarg;
		r->b = argv[optind++];
		return 0;
	}
	return 0;
}

static int take_options(struct asked *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPT_JSON },
		{ "no-pager", no_argument, NULL, OPT_NO_PAGER },
		{ "by", required_argument, NULL, OPT_BY },
		{ "slowest", required_argument, NULL, OPT_SLOWEST },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "from", required_argument, NULL, OPT_FROM },
		{ "to", required_argument, NULL, OPT_TO },
		{ "between", required_argument, NULL, OPT_PAIR },
		{ "pair", required_argument, NULL, OPT_PAIR },
		{ "function", required_argument, NULL, OPT_FUNCTION },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":ht:p:", options, NULL)) >= 0) {
		if (c == ':' || c == '?')
			return options_refuse("report", c, options, argv);
		if (c == 'h') {
			help();
			exit(cmd_written("report", 0));
		}
		status = take_option(o, c, argv);
		if (status)
			return status;
	}
	return 0;
}

static bool may_be_by(const char *allowed, const char *by)
{
	char wanted[64];

	if (!by || !strcmp(allowed, "*"))
		return true;
	snprintf(wanted, sizeof wanted, ",%s,", by);
	return strstr(allowed, wanted);
}

static int answer(struct asked *options, int question, char **paths, int n)
{
	struct report *r = &options->report;
	struct diag d = { "" };
	int status;

	if (!may_be_by(questions[question].by, r->by))
		return cmd_error("report",
				 "--by %s: %s has no such grouping; see `duet report --help`",
				 r->by, questions[question].name);
	if (n < 1)
		return cmd_usage("report", "no recording given");
	r->paths = (const char *const *)paths;
	r->n_paths = n;
	status = report_open("report", r->paths, n, &r->trace);
	if (status)
		return status;
	moments_resolve(&options->from, &options->to, r->trace);
	if (moments_check(&options->from, &options->to, r->trace, &d)) {
		progress_end();
		trace_close(r->trace);
		return cmd_error("report", "%s", d.text);
	}
	r->range.from_ns = options->from.is_given ? options->from.ns : INT64_MIN;
	r->range.to_ns = options->to.is_given ? options->to.ns : INT64_MAX;
	status = questions[question].run(r);
	trace_close(r->trace);
	return status;
}

/* The first word of the entry is the name of the question. */
static bool is_called(const char *word, const char *name)
{
	size_t n = strcspn(name, " ");

	return strlen(word) == n && !strncmp(word, name, n);
}

static int refuse_question(const char *word)
{
	struct nearest near = { .wanted = word };
	char text[NEAREST_MAX + 32], name[32];

	for (int i = 0; i < N_QUESTIONS; i++) {
		snprintf(name, sizeof name, "%.*s", (int)strcspn(questions[i].name, " "),
			 questions[i].name);
		nearest_try(&near, name);
	}
	if (!access(word, F_OK))
		return cmd_error(
			"report",
			"%s is a recording: name the question before it, as in `duet report "
			"syscalls %s`",
			word, word);
	return cmd_error("report", "no question \"%s\"%s", word,
			 *near.best ? nearest_text(&near, text)
				    : ": `duet report --help` lists them");
}

int report_unknown(const struct report *r, const char *pattern)
{
	struct nearest near = { .wanted = pattern };
	char text[NEAREST_MAX + 32];

	nearest_try_events(&near, r->trace);
	return cmd_error("report", "no recorded event matches %s%s", pattern,
			 *near.best ? nearest_text(&near, text)
				    : "; `duet stats --by event` lists the events");
}

static int run_report(int argc, char **argv)
{
	struct asked o = { .report = { .n_slowest = 5, .limit = 30, .tid = -1, .pid = -1 } };
	int status = take_options(&o, argc, argv), question = 0;

	if (status)
		return status;
	argv += optind;
	argc -= optind;
	if (!argc)
		return cmd_usage("report", "no question given");
	while (question < N_QUESTIONS && !is_called(argv[0], questions[question].name))
		question++;
	if (question == N_QUESTIONS)
		return refuse_question(argv[0]);
	if (!strchr(questions[question].name, ' '))
		return answer(&o, question, argv + 1, argc - 1);
	if (argc < 3)
		return cmd_usage("report", "two patterns of events are needed");
	o.report.a = argv[1];
	o.report.b = argv[2];
	return answer(&o, question, argv + 3, argc - 3);
}

int cmd_report(int argc, char **argv)
{
	return once_run("report", run_report, argc, argv);
}
