/* SPDX-License-Identifier: MIT */
/* cmd/record.c - duet record, and duet collect, which is the same without a command. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/clock.h"
#include "base/pattern.h"
#include "cmd/channels.h"
#include "cmd/cmd.h"
#include "cmd/send.h"
#include "collect/recorder.h"
#include "trace/summary.h"

static const char record_help[] =
	"usage: duet record [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
	"       duet record [OPTIONS] -p PID [-p PID]...\n"
	"       duet record [OPTIONS]\n\n"
	"Records the events of a command and its children, of running processes, or of all programs of\n"
	"this user, together with what the kernel did for them; then says what was recorded.\n\n"
	"  -o, --output DIR      where to; new or empty (default: ./duet-DATE-TIME)\n"
	"  -e, --event PATTERN   application events: a glob on \"channel:name\", a channel, or a name;\n"
	"                        \"!PATTERN\" excludes (default: all).  A pattern that names\n"
	"                        lttng_ust_libc events records malloc and free of any command.\n"
	"  -f, --filter EXPR     of the events of the -e before it, only those for which EXPR holds:\n"
	"                        'size > 4096 && name ~ \"tmp*\"' (duet-filter(7))\n"
	"  -k, --kernel PATTERN  kernel events (duet list -k), or a set: sched syscalls irq signal task\n"
	"                        block net mm timer (default: sched and syscalls)\n"
	"      --no-kernel       applications only\n"
	"      --all-kernel      the whole machine's kernel events, not just the recorded processes'\n"
	"      --overwrite       flight recorder: keep the newest events in memory, write them at the end\n"
	"  -b, --buffer SIZE     memory for application events, at most (default: 256M, begins with 64M;\n"
	"                        with --overwrite 64M)\n"
	CHANNELS_HELP
	"  -c, --context NAMES   record with each event: ip, callstack, procname, ppid, ... (duet(1))\n"
	"      --clock CLOCK     tsc, or mono where programs cannot read it: emulated ones\n"
	"  -p, --pid PID         record this process\n"
	SEND_HELP
	"  -q, --quiet           no summary\n\n"
	"Ends with the command, or with Ctrl-C (twice while a command runs).  The exit status is the\n"
	"command's; 2 if recording failed.\n\n"
	"  duet record -e 'lttng_ust_libc:*' -- find /usr -name '*.a'\n"
	"  duet record -p 4711 -e 'shop:*' -k syscalls\n";

static const char collect_help[] =
	"usage: duet collect [OPTIONS]\n\n"
	"Records all programs of this user, those that run and those that start, until Ctrl-C or SIGTERM.\n"
	"`duet enable` and `duet disable` change what is recorded meanwhile.\n\n"
	"  -o, --output DIR      where to; new or empty (default: ./duet-DATE-TIME)\n"
	"  -e, --event PATTERN   application events (default: none until `duet enable`, but what\n"
	"                        programs started with DUET_TRACE=1 DUET_EVENTS=PATTERN,... ask for)\n"
	"  -f, --filter EXPR     of the events of the -e before it, only those for which EXPR holds\n"
	"  -k, --kernel PATTERN  kernel events of the whole machine (default: none)\n"
	"      --overwrite       flight recorder: keep the newest events in memory, write them at the end\n"
	"  -b, --buffer SIZE     memory for application events, at most (default: 256M, begins with 64M;\n"
	"                        with --overwrite 64M)\n"
	CHANNELS_HELP
	"  -c, --context NAMES   record with each event: ip, callstack, procname, ppid, ... (duet(1))\n"
	"      --clock CLOCK     tsc, or mono where programs cannot read it: emulated ones\n"
	"  -s, --session NAME    name of the session (default: \"default\")\n"
	SEND_HELP
	"  -q, --quiet           no summary\n";

struct arguments {
	const char *verb;
	bool quiet;
	char default_path[64];
	char session[64];
	char library[PATH_MAX], preload[PATH_MAX];
	struct cmd_strings kernel_events;
	struct recorder_event *events;
	int n_events;
	struct cmd_channels channels;
	uint64_t buffer_bytes, contexts;
	struct cmd_pids pids;
	struct send send;
	struct recorder_options o;
};

enum { NO_KERNEL = 256, ALL_KERNEL, OVERWRITE, CLOCK, CHANNEL, HELP };

static const struct option record_options[] = {
	{ "output", required_argument, NULL, 'o' },    { "event", required_argument, NULL, 'e' },
	{ "kernel", required_argument, NULL, 'k' },    { "no-kernel", no_argument, NULL, NO_KERNEL },
	{ "all-kernel", no_argument, NULL, ALL_KERNEL }, { "overwrite", no_argument, NULL, OVERWRITE },
	{ "clock", required_argument, NULL, CLOCK },     { "channel", required_argument, NULL, CHANNEL },
	{ "context", required_argument, NULL, 'c' },   { "filter", required_argument, NULL, 'f' },
	{ "buffer", required_argument, NULL, 'b' },    { "pid", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },	       { "help", no_argument, NULL, HELP },
	SEND_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

static const struct option collect_options[] = {
	{ "output", required_argument, NULL, 'o' },  { "event", required_argument, NULL, 'e' },
	{ "kernel", required_argument, NULL, 'k' },  { "overwrite", no_argument, NULL, OVERWRITE },
	{ "clock", required_argument, NULL, CLOCK },     { "channel", required_argument, NULL, CHANNEL },
	{ "context", required_argument, NULL, 'c' },   { "filter", required_argument, NULL, 'f' },
	{ "buffer", required_argument, NULL, 'b' },  { "session", required_argument, NULL, 's' },
	{ "quiet", no_argument, NULL, 'q' },	     { "help", no_argument, NULL, HELP },
	SEND_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

static bool is_session_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n && !name[n] && n < 64 && *name != '.';
}

static int take_clock(struct arguments *a, const char *name)
{
	bool is_tsc = !strcmp(name, "tsc");

	if (!is_tsc && strcmp(name, "mono"))
		return cmd_error(a->verb, "--clock %s: clocks are \"tsc\" and \"mono\"", name);
	a->o.clock_kind = is_tsc ? ABI_CLOCK_TSC : ABI_CLOCK_MONOTONIC;
	return -1;
}

static int add_event(struct arguments *a, const char *pattern)
{
	if (!*pattern || !strcmp(pattern, "!"))
		return cmd_usage(a->verb, "-e: empty pattern");
	a->events = cmd_grow(a->events, a->n_events, sizeof *a->events);
	a->events[a->n_events++] = (struct recorder_event){ pattern, NULL };
	return -1;
}

/* Belongs to the -e before it; without one, to all events. */
static int add_filter(struct arguments *a, const char *expression)
{
	struct recorder_event *e;

	if (!a->n_events)
		add_event(a, "*");
	e = &a->events[a->n_events - 1];
	if (*e->pattern == '!')
		return cmd_error(a->verb, "-f %s: follows \"%s\", of which nothing is recorded", expression,
				 e->pattern);
	if (e->filter)
		return cmd_error(a->verb, "-f %s: \"%s\" has a filter: join both by &&", expression,
				 e->pattern);
	e->filter = expression;
	return -1;
}

/* Returns -1 to go on, else the exit status. */
static int take_option(struct arguments *a, int c, const char *help)
{
	int status = send_take(a->verb, &a->send, c);

	if (status != -2)
		return status;
	switch (c) {
	case 'o':
		a->o.path = optarg;
		return -1;
	case 'e':
		return add_event(a, optarg);
	case 'f':
		return add_filter(a, optarg);
	case 'c':
		return cmd_add_contexts(a->verb, optarg, &a->contexts) ? -1 : CMD_FAILED;
	case CHANNEL:
		return cmd_channels_add(a->verb, &a->channels, optarg) ? -1 : CMD_FAILED;
	case 'k':
		cmd_add_string(&a->kernel_events, optarg);
		a->o.kernel = true;
		return *optarg ? -1 : cmd_usage(a->verb, "-k: empty pattern");
	case 'b':
		return cmd_parse_size(a->verb, optarg, &a->buffer_bytes) ? -1 : CMD_FAILED;
	case 'p':
		return cmd_add_pid(a->verb, &a->pids, optarg) ? -1 : CMD_FAILED;
	case 's':
		if (!is_session_name(optarg))
			return cmd_error(a->verb, "-s %s: a name of letters, digits, . _ - (at most 63)",
					 optarg);
		snprintf(a->session, sizeof a->session, "%s", optarg);
		return -1;
	case 'q':
		a->quiet = true;
		return -1;
	case NO_KERNEL:
		a->o.kernel = false;
		return -1;
	case ALL_KERNEL:
		a->o.kernel = a->o.kernel_whole_machine = true;
		return -1;
	case CLOCK:
		return take_clock(a, optarg);
	case OVERWRITE:
		a->o.flight_recorder = true;
		return -1;
	case HELP:
		fputs(help, stdout);
		return 0;
	}
	return cmd_usage(a->verb, c == ':' ? "an option lacks its value" : "no such option");
}

/* Whether a pattern means malloc and its like: then they are put into the command.  "*" does not:
 * nobody who asks for all events of a program asks for those. */
static bool wants_libc(const struct arguments *a)
{
	static const char *const names[] = { "malloc",	   "calloc",	      "realloc",      "free",
					     "memalign",   "posix_memalign",  "aligned_alloc" };

	for (int i = 0; i < a->n_events; i++) {
		const char *p = a->events[i].pattern;

		if (*p == '!' || *p == '*')
			continue;
		for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
			if (pattern_matches_event(p, p + strlen(p), "lttng_ust_libc", names[k]))
				return true;
	}
	return false;
}

static bool can_execute(const char *file)
{
	struct stat st;

	return !access(file, X_OK) && !stat(file, &st) && S_ISREG(st.st_mode);
}

/* Looked up before anything is made, so that a typing error leaves nothing behind. */
static bool command_exists(const char *file)
{
	const char *path = getenv("PATH");
	char candidate[PATH_MAX];

	if (strchr(file, '/'))
		return can_execute(file);
	for (const char *p = path ? path : "/bin:/usr/bin"; p;) {
		const char *end = strchrnul(p, ':');

		if (snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)(end - p), p,
			     end > p ? "/" : "", file) < (int)sizeof candidate &&
		    can_execute(candidate))
			return true;
		p = *end ? end + 1 : NULL;
	}
	return false;
}

/* Prints why not and returns false. */
static bool fill_defaults(struct arguments *a)
{
	time_t now = time(NULL);
	struct tm tm;
	char date[40];

	if (!a->o.path) {
		localtime_r(&now, &tm);
		strftime(date, sizeof date, "duet-%Y%m%d-%H%M%S", &tm);
		snprintf(a->default_path, sizeof a->default_path, "%s", date);
		for (int i = 2; !access(a->default_path, F_OK); i++)
			snprintf(a->default_path, sizeof a->default_path, "%s-%d", date, i);
		a->o.path = a->default_path;
	}
	a->o.session = a->session;
	a->o.events = a->events;
	a->o.n_events = a->n_events;
	a->o.channels = a->channels.at;
	a->o.n_channels = a->channels.n;
	a->o.kernel_events = a->kernel_events.at;
	a->o.n_kernel_events = a->kernel_events.n;
	a->o.pids = a->pids.at;
	a->o.n_pids = a->pids.n;
	a->o.library = cmd_find_library("libduet.so.0", a->library, sizeof a->library);
	return cmd_channels_end(a->verb, &a->channels, a->buffer_bytes, a->o.flight_recorder, a->contexts);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_lost(uint64_t lost, const char *hint)
{
	if (lost)
		fprintf(stderr, ", %llu LOST (%s)\n", (unsigned long long)lost, hint);
	else
		fprintf(stderr, ", none lost\n");
}

/* The most frequent events of one side, in a line or two. */
static void print_names(const struct summary *s, enum trace_domain domain)
{
	uint64_t n = 0;
	int shown = 0;

	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain) {
			if (shown < 6)
				fprintf(stderr, "%s%.60s %llu", shown ? ", " : "                ",
				       s->events[i].name, (unsigned long long)s->events[i].n);
			n += shown++ >= 6;
		}
	if (n)
		fprintf(stderr, ", and %llu more kind%s", (unsigned long long)n, plural(n));
	if (shown)
		fputc('\n', stderr);
}

static uint64_t count_domain(const struct summary *s, enum trace_domain domain)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_event_names; i++)
		if (s->events[i].domain == domain)
			n += s->events[i].n;
	return n;
}

/* With one channel all is said already. */
static void print_channels_lost(const struct arguments *a, const struct recorder_result *r)
{
	for (int i = 0; i < a->channels.n && a->channels.n > 1; i++)
		if (r->channel_lost[i])
			fprintf(stderr, "                %llu of them in channel %s\n",
				(unsigned long long)r->channel_lost[i], a->channels.at[i].channel.name);
}

static void print_sources(const struct arguments *a, const struct recorder_result *r,
			  const struct summary *s)
{
	char size[32];

	fprintf(stderr, "  applications  %llu event%s from %u program%s, %s",
	       (unsigned long long)count_domain(s, TRACE_UST), plural(count_domain(s, TRACE_UST)),
	       r->programs, plural(r->programs), cmd_size_text(r->app_bytes, size));
	if (r->app_unwritten)
		fprintf(stderr, ", %s of events NOT WRITTEN", cmd_size_text(r->app_unwritten, size));
	if (r->app_unwritten && !r->app_lost)
		fputc('\n', stderr);
	else
		print_lost(r->app_lost, "more memory: -b 256M, or fewer events: -e");
	print_channels_lost(a, r);
	print_names(s, TRACE_UST);
	if (r->kernel_recorded) {
		fprintf(stderr, "  kernel        %llu event%s, %s",
		       (unsigned long long)count_domain(s, TRACE_KERNEL),
		       plural(count_domain(s, TRACE_KERNEL)), cmd_size_text(r->kernel_bytes, size));
		print_lost(r->kernel_lost, "fewer events: -k");
		print_names(s, TRACE_KERNEL);
	} else if (a->o.kernel) {
		fprintf(stderr, "  kernel        not recorded: %s\n", r->kernel_reason.text);
	}
}

/* What was recorded goes away as it is sent: what the recorder counted, not what lies here. */
static void print_counts(const struct arguments *a, const struct recorder_result *r)
{
	char size[32];

	fprintf(stderr, "\n%s: %.3f s\n  applications  %u program%s, %s", a->o.path, (double)r->duration_ns / 1e9,
		r->programs, plural(r->programs), cmd_size_text(r->app_bytes, size));
	print_lost(r->app_lost, "a faster link, more memory: -b, or fewer events: -e");
	print_channels_lost(a, r);
	if (r->kernel_recorded) {
		fprintf(stderr, "  kernel        %llu events, %s", (unsigned long long)r->kernel_events,
			cmd_size_text(r->kernel_bytes, size));
		print_lost(r->kernel_lost, "a faster link, or fewer events: -k");
	}
}

/* On standard error: standard output is the command's. */
static void print_summary(const struct arguments *a, const struct recorder_result *r)
{
	struct summary s;
	struct trace *t;
	struct diag d = { "" };
	char size[32];

	if (a->send.to && !a->send.keeps)
		return print_counts(a, r);
	if (trace_open(&t, &a->o.path, 1, NULL, &d) || trace_summary(t, &s, &d)) {
		cmd_error(a->verb, "cannot read what was recorded: %s", d.text);
		return;
	}
	fprintf(stderr, "\n%s: %.3f s, %s\n", a->o.path, (double)r->duration_ns / 1e9,
	       cmd_size_text(r->app_bytes + r->kernel_bytes, size));
	print_sources(a, r, &s);
	if (r->lives > 1)
		fprintf(stderr, "  the collector was killed %u time%s; another one went on each time\n",
			r->lives - 1, plural(r->lives - 1));
	fprintf(stderr, "\nNext: duet view %s | less          all of it, merged by time\n"
	       "      duet view -e 'PATTERN' %s    some events of it\n"
	       "%s%s%s"
	       "      babeltrace2 %s               it is CTF: other tools read it too\n",
	       a->o.path, a->o.path, r->kernel_recorded ? "      duet report syscalls " : "",
	       r->kernel_recorded ? a->o.path : "",
	       r->kernel_recorded ? "      how long its system calls took\n" : "", a->o.path);
	summary_fini(&s);
	trace_close(t);
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int record(struct arguments *a)
{
	struct recorder_result result;
	struct recorder *r;
	struct diag d = { "" }, end = { "" };
	int err, end_err, sent;

	if (send_start(a->verb, &a->send, a->o.path, a->session))
		return CMD_FAILED;
	if (a->send.to)
		a->o.quota = &a->send.sender.status->quota;
	err = recorder_open(&r, &a->o, &d);
	if (!err && send_follow(a->verb, &a->send)) {
		recorder_finish(r, NULL, NULL);
		return CMD_FAILED;
	}
	if (!err)
		err = recorder_run(r, &d);
	if (a->send.to)
		sender_lift(&a->send.sender);
	end_err = recorder_finish(r, &result, &end);
	if (err) {
		sender_fini(&a->send.sender);
		return cmd_error(a->verb, "%s", d.text);
	}
	if (!a->quiet)
		print_summary(a, &result);
	sent = send_finish(a->verb, &a->send, a->quiet);
	if (result.trouble.text[0] && strcmp(result.trouble.text, end.text) != 0)
		cmd_error(a->verb, "%s", result.trouble.text);
	if (end_err)
		return cmd_error(a->verb, "%s", end.text);
	if (sent)
		return sent;
	return exit_status(result.status);
}

int cmd_record(int argc, char **argv)
{
	struct arguments a = { .verb = "record", .o.kernel = true };
	int c, status;

	cmd_channels_begin(&a.channels);
	send_begin(&a.send);
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:o:e:f:c:k:b:p:q", record_options, NULL)) != -1) {
		status = take_option(&a, c, record_help);
		if (status >= 0)
			return status;
	}
	if (optind < argc) {
		if (a.pids.n)
			return cmd_usage("record", "either a command or -p, not both");
		if (!command_exists(argv[optind]))
			return cmd_error("record",
					 access(argv[optind], F_OK)
						 ? "%s: no such command (give a path, or check PATH)"
						 : "%s: not a program that may be executed",
					 argv[optind]);
		a.o.command = argv + optind;
	}
	snprintf(a.session, sizeof a.session,
		 a.o.command || a.pids.n ? "record-%d" : "default", (int)getpid());
	if (!fill_defaults(&a) || send_check(a.verb, &a.send))
		return CMD_FAILED;
	/* Without a process to follow the kernel's events are the machine's, if asked for by name. */
	if (!a.o.command && !a.pids.n) {
		a.o.kernel = a.kernel_events.n || a.o.kernel_whole_machine;
		a.o.kernel_whole_machine = a.o.kernel;
	}
	if (a.o.command && wants_libc(&a)) {
		a.o.preload = cmd_find_library("libduet-libc.so", a.preload, sizeof a.preload);
		if (!a.o.preload)
			return cmd_error("record", "libduet-libc.so is not installed: without it malloc "
						   "and free cannot be recorded");
	}
	return record(&a);
}

int cmd_collect(int argc, char **argv)
{
	struct arguments a = { .verb = "collect", .session = "default" };
	int c, status;

	cmd_channels_begin(&a.channels);
	send_begin(&a.send);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":o:e:f:c:k:b:s:q", collect_options, NULL)) != -1) {
		status = take_option(&a, c, collect_help);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return cmd_usage("collect", "no argument expected");
	if (!fill_defaults(&a) || send_check(a.verb, &a.send))
		return CMD_FAILED;
	a.o.kernel_whole_machine = a.o.kernel;
	a.o.no_default_events = true;
	a.o.keep = !a.send.to; /* the sender is a child of the process that waits for it */
	if (!a.quiet)
		fprintf(stderr, "duet collect: recording into %s until Ctrl-C\n", a.o.path);
	return record(&a);
}
