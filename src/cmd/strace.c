/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace.c - duet strace: the system calls of a command, of running processes, or of a recording, in words.
 *
 * Beside strace, nothing is ever stopped: the kernel records, and what is shown is read from there a little later.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/strace.h"
#include "cmd/strace_print.h"
#include "cmd/strace_record.h"
#include "trace/trace.h"

enum { REFRESH_MS = 50 };
#define LASTING_NS 1000000000

static const char help[] =
	"usage: duet strace [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
	"       duet strace [OPTIONS] -p PID[,PID]...\n"
	"       duet strace [OPTIONS] -i RECORDING...\n\n"
	"Shows the system calls of a command and its children, of running processes, or in a recording: a line for\n"
	"each when it returns, as strace does.  Nothing is stopped for that: it costs the traced program some hundred\n"
	"nanoseconds a call, and -p attaches and detaches without its notice.\n\n"
	"  -e CALLS     only these: open,close,%file,%network,%process,%desc,%memory,%signal,%ipc,%sched,sched_*;\n"
	"               '!futex,poll': all but these; also written trace=CALLS\n"
	"  -e status=HOW  only those that are: successful, failed, unfinished;  -z, -Z: successful, failed\n"
	"  -e signal=none  neither signals nor ends of threads\n"
	"  -c           no lines, but a summary: time, calls, errors;  -C: both\n"
	"  -S KEY       order the summary by time (the default), calls, errors, max, name\n"
	"  -T           how long each took, in seconds\n"
	"  -t, -tt, -ttt  when it began: the second, with microseconds, in seconds since 1970;  -r: since the line before\n"
	"  -y           which files descriptors are;  -Y: whom process numbers mean\n"
	"  -o, --output FILE  there instead of to standard error (-i: standard output)\n"
	"  -s, --string-limit N  of what is read and written N bytes (32)\n"
	"  -n, --limit N  at most N lines;  -a N: results begin in column N (40)\n"
	"  -p, --pid PID,...  -i, --input RECORDING: see above; both: of the recording only these\n"
	"  --keep DIR   the recording stays in DIR, for duet view and duet report\n"
	"  --kernel-buffer SIZE  memory for events, of each CPU (16M)\n"
	"  -f           children too, as always\n\n"
	"  duet strace -c -- make\n"
	"  duet strace -p 4711 -T -e '%network' -e status=failed\n";

struct strace {
	struct strace_page page;
	struct strace_record record;
	struct cmd_strings inputs, pids;
	const char *output;
	bool names_fds, names_pids;
	uint64_t string_bytes; /* -s */
	struct moment from, to;
};

#define STRACE_NEW                                                                                                   \
	((struct strace){ .page = { .choice = { .how = STRACE_ALL }, .prints = true, .column = 40, .limit = UINT64_MAX, \
				    .sort = "time" },                                                                \
			  .record = { .program = -1 }, .string_bytes = 32 })

static volatile sig_atomic_t n_interrupts, is_stopped;

static void interrupt(int signal)
{
	if (signal == SIGINT)
		n_interrupts++;
	else
		is_stopped = 1;
}

static void warn(void *context, const char *text)
{
	(void)context;
	cmd_error("strace", "%s", text);
}

/* ---------------------------------------------------------------- showing */

static struct pairs_options options_of(struct strace *s)
{
	return (struct pairs_options){ .has_text = s->page.prints, .string_bytes = (uint32_t)s->string_bytes, .names_fds = s->names_fds, .names_pids = s->names_pids,
					.command = -1, .range = { INT64_MIN, INT64_MAX }, .wants = strace_wants_call,
					.give = strace_give, .context = &s->page };
}

static uint32_t width_of(int fd)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return columns && atoi(columns) > 0 ? (uint32_t)atoi(columns) : 120;
}

/* What the reader should know besides. */
static void tell_missing(const struct strace *s, const struct pairs *j)
{
	const struct strace_page *p = &s->page;
	char text[128];

	if (p->lost_events || p->lost_packets)
		fprintf(stderr, "duet strace: %s lost: more memory (--kernel-buffer) keeps more\n",
			cmd_lost_text(p->lost_events, p->lost_packets, text));
	if (j->lacks_paths && p->prints)
		fprintf(stderr, "duet strace: file names are shown as addresses: that is what this kernel records\n");
	if (!j->calls.has_entries && !j->calls.has_exits && s->inputs.n)
		fprintf(stderr, "duet strace: the recording has no system calls: record with -k syscalls\n");
}

static int finish(struct strace *s, struct pairs *j)
{
	struct strace_page *p = &s->page;

	if (p->counts) {
		if (p->prints)
			out_byte(&p->out, '\n');
		strace_summary(p, width_of(p->out.fd));
	}
	out_flush(&p->out);
	if (p->out.err)
		return cmd_error("strace", "cannot write: %s", strerror(-p->out.err));
	tell_missing(s, j);
	return 0;
}

/* ---------------------------------------------------------------- a recording */

static int show_recording(struct strace *s)
{
	struct trace_options o = { .warn = warn };
	struct pairs_options how = options_of(s);
	struct pairs j = { .is_over = false };
	struct diag d = { "" };
	struct trace *t;
	int status = 0;

	progress_hook(&o);
	if (trace_open(&t, s->inputs.at, s->inputs.n, &o, &d))
		return cmd_error("strace", "%s", d.text);
	if (!isatty(STDOUT_FILENO) || !s->page.prints)
		progress_begin("strace", t);
	moments_settle(&s->from, &s->to, t);
	how.range = (struct run_range){ s->from.is_given ? s->from.ns : INT64_MIN, s->to.is_given ? s->to.ns : INT64_MAX };
	how.pids = s->record.pids.at;
	how.n_pids = s->record.pids.n;
	if (pairs_open(&j, t, &how, &d)) {
		trace_close(t);
		return cmd_error("strace", "%s", d.text);
	}
	s->page.threads = j.run.threads;
	if (pairs_read(&j, &d))
		status = cmd_error("strace", "%s", d.text);
	progress_end();
	pairs_end(&j);
	if (!status)
		status = finish(s, &j);
	pairs_close(&j);
	trace_close(t);
	return status;
}

/* ---------------------------------------------------------------- live */

/* Until there is perhaps more. */
static void wait_for_more(struct strace *s)
{
	struct pollfd p = { .fd = s->page.out.fd };

	if (poll(&p, 1, REFRESH_MS) > 0) { /* only errors are asked for */
		if (p.revents & (POLLERR | POLLNVAL))
			s->page.out.is_over = true;
		else
			poll(NULL, 0, REFRESH_MS);
	}
}

static void pass_interrupts_on(struct strace *s)
{
	static int n_passed;

	if (is_stopped)
		strace_record_interrupt(&s->record, 0);
	for (; n_passed < n_interrupts; n_passed++)
		strace_record_interrupt(&s->record, n_passed + 1);
}

static int follow(struct strace *s, struct trace *t, struct pairs *j, struct diag *d)
{
	int grows, err;

	for (;;) {
		const struct trace_following *f;

		grows = trace_refresh(t, d);
		err = grows < 0 ? grows : pairs_update(j, d);
		if (!err)
			err = pairs_read(j, d);
		f = trace_following(t);
		if (!err && grows && s->page.prints && f->known_ns > INT64_MIN + LASTING_NS)
			pairs_tell_lasting(j, f->known_ns - LASTING_NS);
		out_flush(&s->page.out);
		if (err || !grows || j->is_over || s->page.out.is_over)
			break;
		pass_interrupts_on(s);
		wait_for_more(s);
	}
	if (!err && trace_following(t)->n_late)
		fprintf(stderr, "duet strace: %" PRIu64 " events came too late to be shown\n", trace_following(t)->n_late);
	if (!err && trace_following(t)->n_cut)
		fprintf(stderr, "duet strace: the recorder was killed: this is not all\n");
	return err;
}

static int show_live(struct strace *s)
{
	const struct trace_options o = { .warn = warn, .follows = true };
	struct pairs_options how = options_of(s);
	const char *path = s->record.path;
	struct pairs j = { .is_over = false };
	struct diag d = { "" };
	struct trace *t;
	int status = 0;

	how.command = s->record.program;
	if (trace_open(&t, &path, 1, &o, &d))
		return cmd_error("strace", "%s", d.text);
	if (pairs_open(&j, t, &how, &d)) {
		trace_close(t);
		return cmd_error("strace", "%s", d.text);
	}
	s->page.threads = j.run.threads;
	for (int i = 0; s->page.prints && i < s->record.pids.n; i++)
		strace_show_now(&s->page, s->record.pids.at[i]);
	if (follow(s, t, &j, &d))
		status = cmd_error("strace", "%s", d.text);
	pairs_end(&j);
	if (!status)
		status = finish(s, &j);
	pairs_close(&j);
	trace_close(t);
	return status;
}

static int run_live(struct strace *s)
{
	const struct sigaction act = { .sa_handler = interrupt };
	int status, ended;

	strace_patterns(&s->page.choice, s->names_fds, &s->record.patterns);
	s->record.capture_bytes = s->page.prints || s->record.keep ? (uint32_t)s->string_bytes : 0;
	status = strace_record_start(&s->record);
	if (status)
		return status;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	status = show_live(s);
	ended = strace_record_end(&s->record, status || s->page.out.is_over || s->page.n_lines >= s->page.limit);
	return status ? status : ended;
}

/* ---------------------------------------------------------------- the command line */

enum { OPT_HELP = 256, OPT_KEEP, OPT_KERNEL_BUFFER };

static int take_number(const char *option, uint64_t *to)
{
	char *end;

	errno = 0;
	*to = strtoull(optarg, &end, 10);
	if (*end || end == optarg || *optarg == '-' || errno || !*to)
		return cmd_error("strace", "%s %s: not a number", option, optarg);
	return -1;
}

/* In a recording they need not live any more. */
static int add_pids(struct strace *s, const char *list)
{
	char *copy = strdup(list), *rest = copy;
	bool is_right = copy;

	for (char *p, *end; is_right && (p = strsep(&rest, ", "));) {
		long pid = strtol(p, &end, 10);

		if (*p && s->inputs.n && (*end || pid <= 0 || pid > INT_MAX)) {
			cmd_error("strace", "-p %s: not a process number", p);
			is_right = false;
		} else if (*p && s->inputs.n) {
			s->record.pids.at = cmd_grow(s->record.pids.at, s->record.pids.n, sizeof *s->record.pids.at);
			s->record.pids.at[s->record.pids.n++] = (pid_t)pid;
		} else if (*p) {
			is_right = cmd_add_pid("strace", &s->record.pids, p);
		}
	}
	free(copy);
	return is_right ? 0 : CMD_FAILED;
}

static int take_sort(struct strace_page *p)
{
	static const char *const keys[] = { "time", "calls", "errors", "max", "name" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(optarg, keys[i])) {
			p->sort = keys[i];
			return -1;
		}
	return cmd_error("strace", "-S %s: it may be time, calls, errors, max, name", optarg);
}

/* -1 to go on, else the exit status. */
static int take(struct strace *s, int c)
{
	struct strace_page *p = &s->page;
	int status;

	switch (c) {
	case 'f':
		return -1; /* always */
	case 'c':
		p->counts = true;
		p->prints = false;
		return -1;
	case 'C':
		p->counts = p->prints = true;
		return -1;
	case 'T':
		p->has_durations = true;
		return -1;
	case 't':
		p->time = p->time >= STRACE_EPOCH ? STRACE_EPOCH : p->time + 1;
		return -1;
	case 'r':
		p->time = STRACE_RELATIVE;
		return -1;
	case 'y':
		s->names_fds = true;
		return -1;
	case 'Y':
		s->names_pids = true;
		return -1;
	case 'z':
	case 'Z':
		p->choice.how = c == 'z' ? STRACE_OK : STRACE_FAILED;
		return -1;
	case 'e':
		status = strace_choose(&p->choice, optarg);
		return status ? status : -1;
	case 's':
		status = take_number("-s", &s->string_bytes);
		return status >= 0 || s->string_bytes <= KERNEL_CAPTURE_BUFFER_MAX
			       ? status : cmd_error("strace", "-s %s: of a buffer at most %d bytes are recorded", optarg,
						    KERNEL_CAPTURE_BUFFER_MAX);
	case 'S':
		return take_sort(p);
	case 'o':
		s->output = optarg;
		return -1;
	case 'n':
		return take_number("-n", &p->limit);
	case 'a':
		return take_number("-a", &p->column);
	case 'i':
		cmd_add_string(&s->inputs, optarg);
		return -1;
	case 'p':
		cmd_add_string(&s->pids, optarg);
		return -1;
	case OPT_KEEP:
		s->record.keep = optarg;
		return -1;
	case OPT_KERNEL_BUFFER:
		if (!cmd_parse_size("strace", optarg, &s->record.kernel_buffer))
			return CMD_FAILED;
		if (s->record.kernel_buffer < 64 << 10 || s->record.kernel_buffer > 4ull << 30)
			return cmd_error("strace", "--kernel-buffer %s: it may be 64K to 4G", optarg);
		return -1;
	case OPT_HELP:
		fputs(help, stdout);
		return 0;
	}
	return cmd_usage("strace", c == ':' ? "an option lacks its value" : "no such option");
}

static int check(const struct strace *s)
{
	int n = !!s->inputs.n + !!s->record.command + (!s->inputs.n && s->pids.n);

	if (!n)
		return cmd_usage("strace", "give a command, -p, or -i");
	if (n > 1)
		return cmd_usage("strace", "either a command, or -p, or -i");
	if (s->inputs.n && s->record.keep)
		return cmd_usage("strace", "--keep is for what is recorded now");
	return 0;
}

static int open_output(struct strace *s)
{
	int fd = s->inputs.n ? STDOUT_FILENO : STDERR_FILENO;

	if (s->output)
		fd = open(s->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return cmd_error("strace", "-o %s: %s", s->output, strerror(errno));
	return out_init(&s->page.out, fd) ? cmd_error("strace", "no memory") : 0;
}

int strace_view(const char *const *paths, int n, const struct moment *from, const struct moment *to, uint64_t limit)
{
	static struct strace s; /* its lists last until exit */
	int status;

	s = STRACE_NEW;
	for (int i = 0; i < n; i++)
		cmd_add_string(&s.inputs, paths[i]);
	s.from = *from;
	s.to = *to;
	s.names_fds = s.page.names_all = s.page.has_durations = true;
	s.page.time = STRACE_MICROSECONDS;
	s.page.limit = limit;
	signal(SIGPIPE, SIG_IGN);
	status = open_output(&s);
	if (!status)
		status = show_recording(&s);
	strace_page_fini(&s.page);
	return status;
}

int cmd_strace(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, OPT_HELP },	 { "keep", required_argument, NULL, OPT_KEEP },
		{ "limit", required_argument, NULL, 'n' },	 { "input", required_argument, NULL, 'i' },
		{ "output", required_argument, NULL, 'o' },	 { "pid", required_argument, NULL, 'p' },
		{ "summary-only", no_argument, NULL, 'c' },	 { "summary", no_argument, NULL, 'C' },
		{ "follow-forks", no_argument, NULL, 'f' },	 { "string-limit", required_argument, NULL, 's' },
			 { "trace", required_argument, NULL, 'e' },
		{ "kernel-buffer", required_argument, NULL, OPT_KERNEL_BUFFER }, { 0 },
	};
	static struct strace s; /* its lists last until exit */
	int c, status;

	s = STRACE_NEW;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:fcCTtryYzZe:s:S:o:n:a:i:p:h", options, NULL)) != -1) {
		status = take(&s, c == 'h' ? OPT_HELP : c);
		if (status >= 0)
			return status;
	}
	if (optind < argc && s.inputs.n) {
		for (; optind < argc; optind++)
			cmd_add_string(&s.inputs, argv[optind]);
	} else if (optind < argc) {
		s.record.command = argv + optind;
	}
	status = check(&s);
	for (int i = 0; !status && i < s.pids.n; i++)
		status = add_pids(&s, s.pids.at[i]);
	if (!status && s.record.command)
		status = cmd_check_command("strace", argv[optind]);
	if (!status)
		status = open_output(&s);
	if (status)
		return status;
	signal(SIGPIPE, SIG_IGN);
	s.page.names_all = !s.record.command;
	status = s.inputs.n ? show_recording(&s) : run_live(&s);
	strace_page_fini(&s.page);
	return status;
}
