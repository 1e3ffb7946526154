/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/options.c - parses the command line of `duet strace`.
 *
 * Options of strace that do not apply are refused with the alternative, so that a user of strace
 * finds it.
 */
#include "cmd/strace/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/capture.h"
#include "cmd/options.h"
#include "cmd/print/print.h"

static const char help[] =
	"usage: duet strace [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
	"       duet strace [OPTIONS] -p PID[,PID]...\n"
	"       duet strace [OPTIONS] -i RECORDING...\n\n"
	"Shows the system calls of a command, of running processes, of their children, or in a "
	"recording: a line for\n"
	"each when it returns, as strace does.  Nothing is stopped for that: it costs the traced "
	"program some hundred\n"
	"nanoseconds a call, and -p attaches and detaches without its notice.\n\n"
	"  -e CALLS     only these: "
	"open,close,%file,%network,%process,%desc,%memory,%signal,%ipc,%sched,sched_*;\n"
	"               '!futex,poll': all but these; /REGEX; also written trace=CALLS\n"
	"  -e status=HOW  only those that are: successful, failed, unfinished;  -z, -Z: "
	"successful, failed\n"
	"  -e signal=SET  only these signals: SIGINT,SIGCHLD; none;  -qq: no ends of threads\n"
	"  -P, --trace-path PATH  only calls that name PATH, or have a descriptor of it\n"
	"  -c           no lines, but a summary: time, calls, errors;  -C: both\n"
	"  -S KEY       order the summary by time (the default), calls, errors, max, name\n"
	"  -T           how long each took, in seconds\n"
	"  -t, -tt, -ttt  when it began: the second, with microseconds, in seconds since 1970;  "
	"-r: since the line before\n"
	"  -y           print the files of descriptors;  -Y: the names of processes\n"
	"  -X HOW       constants as words (abbrev), numbers (raw), or both (verbose)\n"
	"  --const-print-style HOW  the same as -X\n"
	"  --decode-fds KINDS, --decode-pids comm  the same as -y, and -Y;  --quiet: as -q, or "
	"-qq\n"
	"  --strings-in-hex WHICH  as -x: all, non-ascii, non-ascii-chars, none;  --secontext: no "
	"effect "
	"without SELinux\n"
	"  -v           structures in full;  -e verbose=none: their addresses\n"
	"  -x, -xx      texts that do not print in hexadecimal; all texts\n"
	"  -e read=FDS, -e write=FDS  the data of these descriptors in full: 0,5; all; none\n"
	"  -k, --stack-traces  the call stack behind each call; data that calls return are "
	"addresses then\n"
	"  -o, --output FILE  print there, not to standard error (-i: standard output); "
	"'|COMMAND': to a command;  -A: append\n"
	"  -E VAR=VALUE, -E VAR  set, or unset, a variable of the command\n"
	"  -s, --string-limit N  N bytes of buffers and texts (32)\n"
	"  -n, --syscall-number  the numbers of calls;  -a N: results begin in column N (40)\n"
	"  --limit N    at most N lines\n"
	"  -p, --pid PID,...  -i, --input RECORDING: see above; both: of the recording only these\n"
	"  --keep DIR   the recording stays in DIR, for duet view and duet report\n"
	"  --kernel-buffer SIZE  memory for events, of each CPU (16M)\n"
	"  --kernel-backend NAME  auto, bpf, or ftrace, which has addresses where BPF has texts "
	"and buffers\n"
	"  -f, --follow-forks  children and other threads too;  -ff: with -o a file for each, "
	"FILE.PID\n"
	"  -b, --detach-on execve  with -f: no child after it executes a program\n\n"
	"  duet strace -c -- make\n"
	"  duet strace -p 4711 -T -e '%network' -e status=failed\n";

enum {
	OPT_HELP = 256,
	OPT_KEEP,
	OPT_LIMIT,
	OPT_SEPARATE,
	OPT_KERNEL_BUFFER,
	OPT_KERNEL_BACKEND,
	OPT_TIMES,
	OPT_TRACE,
	OPT_STATUS,
	OPT_SIGNAL,
	OPT_ABBREV,
	OPT_CONSTANTS,
	OPT_HEX,
	OPT_FDS,
	OPT_PIDS,
	OPT_SECURITY,
	OPT_QUIET,
	OPT_READ,
	OPT_WRITE,
	OPT_VERBOSE,
};

static int take_number(const char *option, uint64_t *to)
{
	char *end;

	errno = 0;
	*to = strtoull(optarg, &end, 10);
	if (*end || end == optarg || *optarg == '-' || errno || !*to)
		return cmd_error("strace", "%s %s: not a number", option, optarg);
	return -1;
}

/* With a recording, the processes need not exist any more. */
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
			s->record.pids.at = cmd_grow(s->record.pids.at, s->record.pids.n,
						     sizeof *s->record.pids.at);
			s->record.pids.at[s->record.pids.n++] = (pid_t)pid;
		} else if (*p) {
			is_right = cmd_add_pid("strace", &s->record.pids, p);
		}
	}
	free(copy);
	return is_right ? 0 : CMD_FAILED;
}

static int take_sort(struct strace_printer *p)
{
	static const char *const keys[] = { "time", "calls", "errors", "max", "name" };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(optarg, keys[i])) {
			p->sort = keys[i];
			return -1;
		}
	return cmd_error("strace", "-S %s: it may be time, calls, errors, max, name", optarg);
}

/* Adds the path as written, and without symbolic links. */
static int take_path(struct strace *s)
{
	char *real = realpath(optarg, NULL);

	cmd_add_string(&s->paths, optarg);
	if (real && strcmp(real, optarg) != 0)
		cmd_add_string(&s->paths, real); /* kept until exit, like the list */
	else
		free(real);
	return -1;
}

/* --quiet, -e quiet= */
static int take_quiet(struct strace_printer *p, const char *list)
{
	static const char *const kinds[] = { "attach",	     "personality",   "path-resolution",
					     "path-resolve", "thread-execve", "superseded" };
	char *copy = list ? strdup(list) : NULL, *rest = copy;
	int status = -1;

	p->quiet += !list;
	for (char *k; status < 0 && (k = strsep(&rest, ","));) {
		size_t i = 0;

		while (i < sizeof kinds / sizeof *kinds && strcmp(kinds[i], k) != 0)
			i++;
		p->hides_superseded |= !strcmp(k, "thread-execve") || !strcmp(k, "superseded");
		if (!strcmp(k, "exit") || !strcmp(k, "exits"))
			p->quiet = p->quiet > 2 ? p->quiet : 2;
		else if (!strcmp(k, "all"))
			p->quiet = 3;
		else if (i == sizeof kinds / sizeof *kinds && strcmp(k, "none") != 0)
			status = cmd_error("strace", "--quiet=%s: it may be exit, attach, all", k);
	}
	free(copy);
	return status;
}

/* --secontext. Without SELinux no file or process has a context. */
static int take_security(void)
{
	if (access("/sys/fs/selinux", F_OK))
		return -1;
	return cmd_error("strace", "--secontext: a recording has no security contexts");
}

static int take_expression(struct strace *s, const char *expression)
{
	int status;

	if (!strncmp(expression, "quiet=", 6))
		return take_quiet(&s->printer, expression + 6);
	if (!strncmp(expression, "secontext=", 10))
		return take_security();
	if (strace_style_takes(&s->printer.style, expression, &status))
		return status;
	status = strace_filter_parse(&s->printer.filter, expression);
	return status ? status : -1;
}

static int take_filter(struct strace *s, const char *what)
{
	char *text;
	int status;

	if (asprintf(&text, "%s=%s", what, optarg) < 0)
		return cmd_error("strace", "no memory");
	status = take_expression(s, text);
	free(text);
	return status;
}

/* --decode-pids */
static int take_pids(struct strace *s)
{
	s->printer.names_pids = !strcmp(optarg, "comm");
	if (s->printer.names_pids || !strcmp(optarg, "none"))
		return -1;
	return cmd_error("strace",
			 "--decode-pids=%s: it may be comm, none: a recording has process numbers "
			 "of one namespace",
			 optarg);
}

/* --absolute-timestamps */
static int take_times(struct strace_printer *p)
{
	const char *f = optarg ? optarg : "time";

	if (!strncmp(f, "format:", 7))
		f += 7;
	if (!strcmp(f, "time"))
		p->time = STRACE_TIME;
	else if (!strcmp(f, "time,us") || !strcmp(f, "precision:us"))
		p->time = STRACE_MICROSECONDS;
	else if (!strcmp(f, "unix,us") || !strcmp(f, "unix"))
		p->time = STRACE_EPOCH;
	else if (strcmp(f, "none") != 0)
		return cmd_error("strace",
				 "--absolute-timestamps=%s: it may be time; time,us; unix", optarg);
	return -1;
}

/* Refuses an option of strace that we do not have, and names the alternative. */
static int refuse(int c, const struct option *options, char *const *argv)
{
	static const struct {
		char option;
		const char *instead;
	} others[] = {
		{ 'u', "-u: run the command by setpriv or su" },
		{ 'I', "-I: nothing is stopped, so signals reach the command as ever" },
		{ 'O', "-O: nothing is stopped, so there is no overhead to take away" },
		{ 'U', "-U: the summary always has all columns; -S orders it" },
	};

	for (size_t i = 0; c == '?' && i < sizeof others / sizeof *others; i++)
		if (others[i].option == optopt)
			return cmd_error("strace", "%s", others[i].instead);
	return options_refuse("strace", c, options, argv);
}

/* Returns -1 to go on, else the exit status. */
static int take_option(struct strace *s, int c)
{
	struct strace_printer *p = &s->printer;
	int status;

	switch (c) {
	case 'D':
	case 'w':
		return -1; /* always on */
	case 'f':
		s->follows++;
		return -1;
	case OPT_SEPARATE:
		s->follows += 2;
		return -1;
	case 'b':
		s->leaves_at_exec = true;
		return strcmp(optarg, "execve")
			       ? cmd_error("strace", "-b %s: it may be execve", optarg)
			       : -1;
	case 'k':
		s->has_stacks = true;
		return -1;
	case 'q':
		p->quiet++;
		return -1;
	case 'A':
		p->appends = true;
		return -1;
	case 'E':
		cmd_add_string(&s->record.environment, optarg);
		return -1;
	case 'P':
		return take_path(s);
	case OPT_TRACE:
		return take_filter(s, "trace");
	case OPT_STATUS:
		return take_filter(s, "status");
	case OPT_SIGNAL:
		return take_filter(s, "signal");
	case OPT_TIMES:
		return take_times(p);
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
		return strace_style_fds(&p->style, p->style.names_fds ? "all" : NULL);
	case 'X':
	case OPT_CONSTANTS:
		return strace_style_constants(&p->style, optarg);
	case 'v':
		p->style.values.is_whole = true;
		return -1;
	case 'x':
		p->style.values.texts = p->style.values.texts == CALL_HEX_UNPRINTABLE
						? CALL_HEX_ALL
						: CALL_HEX_UNPRINTABLE;
		return -1;
	case OPT_HEX:
		return strace_style_texts(&p->style, optarg);
	case OPT_FDS:
		return strace_style_fds(&p->style, optarg);
	case OPT_PIDS:
		return take_pids(s);
	case OPT_SECURITY:
		return take_security();
	case OPT_QUIET:
		return take_quiet(p, optarg);
	case OPT_READ:
		return take_filter(s, "read");
	case OPT_WRITE:
		return take_filter(s, "write");
	case OPT_ABBREV:
		return take_filter(s, "abbrev");
	case OPT_VERBOSE:
		return take_filter(s, "verbose");
	case 'Y':
		p->names_pids = true;
		return -1;
	case 'z':
	case 'Z':
		p->filter.endings = c == 'z' ? STRACE_OK : STRACE_FAILED;
		return -1;
	case 'e':
		return take_expression(s, optarg);
	case 's':
		status = take_number("-s", &s->string_bytes);
		return status >= 0 || s->string_bytes <= ABI_CAPTURE_BUFFER_MAX
			       ? status
			       : cmd_error("strace",
					   "-s %s: at most %d bytes of a buffer are recorded",
					   optarg, ABI_CAPTURE_BUFFER_MAX);
	case 'S':
		return take_sort(p);
	case 'o':
		s->output = optarg;
		return -1;
	case 'n':
		p->numbers = true;
		return -1;
	case OPT_LIMIT:
		return take_number("--limit", &p->limit);
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
			return cmd_error("strace", "--kernel-buffer %s: it may be 64K to 4G",
					 optarg);
		return -1;
	case OPT_KERNEL_BACKEND:
		return strace_record_backend(&s->record, optarg) ? -1 : CMD_FAILED;
	case OPT_HELP:
		print_own(help);
		return 0;
	}
	return -1;
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

int strace_options(struct strace *s, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "keep", required_argument, NULL, OPT_KEEP },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "syscall-number", no_argument, NULL, 'n' },
		{ "output-separately", no_argument, NULL, OPT_SEPARATE },
		{ "detach-on", required_argument, NULL, 'b' },
		{ "input", required_argument, NULL, 'i' },
		{ "output", required_argument, NULL, 'o' },
		{ "pid", required_argument, NULL, 'p' },
		{ "summary-only", no_argument, NULL, 'c' },
		{ "summary", no_argument, NULL, 'C' },
		{ "follow-forks", no_argument, NULL, 'f' },
		{ "string-limit", required_argument, NULL, 's' },
		{ "trace", required_argument, NULL, OPT_TRACE },
		{ "status", required_argument, NULL, OPT_STATUS },
		{ "signal", required_argument, NULL, OPT_SIGNAL },
		{ "signals", required_argument, NULL, OPT_SIGNAL },
		{ "trace-path", required_argument, NULL, 'P' },
		{ "attach", required_argument, NULL, 'p' },
		{ "columns", required_argument, NULL, 'a' },
		{ "env", required_argument, NULL, 'E' },
		{ "quiet", optional_argument, NULL, OPT_QUIET },
		{ "silent", optional_argument, NULL, OPT_QUIET },
		{ "output-append-mode", no_argument, NULL, 'A' },
		{ "syscall-times", no_argument, NULL, 'T' },
		{ "relative-timestamps", no_argument, NULL, 'r' },
		{ "timestamps", optional_argument, NULL, OPT_TIMES },
		{ "absolute-timestamps", optional_argument, NULL, OPT_TIMES },
		{ "decode-fds", optional_argument, NULL, OPT_FDS },
		{ "decode-fd", optional_argument, NULL, OPT_FDS },
		{ "const-print-style", required_argument, NULL, OPT_CONSTANTS },
		{ "strings-in-hex", optional_argument, NULL, OPT_HEX },
		{ "no-abbrev", no_argument, NULL, 'v' },
		{ "abbrev", required_argument, NULL, OPT_ABBREV },
		{ "verbose", required_argument, NULL, OPT_VERBOSE },
		{ "read", required_argument, NULL, OPT_READ },
		{ "write", required_argument, NULL, OPT_WRITE },
		{ "decode-pids", required_argument, NULL, OPT_PIDS },
		{ "stack-traces", no_argument, NULL, 'k' },
		{ "secontext", optional_argument, NULL, OPT_SECURITY },
		{ "successful-only", no_argument, NULL, 'z' },
		{ "failed-only", no_argument, NULL, 'Z' },
		{ "summary-sort-by", required_argument, NULL, 'S' },
		{ "summary-wall-clock", no_argument, NULL, 'w' },
		{ "kernel-buffer", required_argument, NULL, OPT_KERNEL_BUFFER },
		{ "kernel-backend", required_argument, NULL, OPT_KERNEL_BACKEND },
		{ 0 },
	};
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:fDwqAcCTtryYnzZvxkX:e:E:P:s:S:o:b:a:i:p:h", options,
				NULL)) != -1) {
		status = c == ':' || c == '?' ? refuse(c, options, argv)
					      : take_option(s, c == 'h' ? OPT_HELP : c);
		if (status >= 0)
			return status;
	}
	if (optind < argc && s->inputs.n) {
		for (; optind < argc; optind++)
			cmd_add_string(&s->inputs, argv[optind]);
	} else if (optind < argc) {
		s->record.command = argv + optind;
	}
	status = check(s);
	for (int i = 0; !status && i < s->pids.n; i++)
		status = add_pids(s, s->pids.at[i]);
	if (!status && s->record.command)
		status = cmd_check_command("strace", argv[optind]);
	return status ? status : -1;
}
