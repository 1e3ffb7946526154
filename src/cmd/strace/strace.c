/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/strace.c - `duet strace`: prints the system calls of a command, of running processes,
 * or of a recording, as strace does.
 *
 * Unlike strace, it stops nothing: the kernel records, and this process reads the recording a
 * little later.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/capture.h"
#include "cmd/cmd.h"
#include "cmd/confine/reader.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"
#include "cmd/strace/strace.h"
#include "cmd/strace/options.h"
#include "trace/public.h"

enum { REFRESH_MS = 50 };
#define LASTING_NS 1000000000

static volatile sig_atomic_t n_interrupts, ended_by; /* ended_by: a signal; 0: none */

/* A terminal sends SIGINT to the command too; a process that sends it to us means us. */
static void interrupt(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (signal == SIGINT && info->si_code > 0)
		n_interrupts++;
	else
		ended_by = signal;
}

static void warn(void *context, const char *text)
{
	(void)context;
	cmd_error("strace", "%s", text);
}

/* ---------------------------------------------------------------- showing */

static struct pairing_options options_of(struct strace *s)
{
	return (struct pairing_options){ .has_text = s->printer.prints || s->paths.n,
					 .has_stacks = s->has_stacks,
					 .string_bytes = (uint32_t)s->string_bytes,
					 .paths = s->paths.at,
					 .n_paths = s->paths.n,
					 .names_fds = s->printer.style.names_fds,
					 .fd_kinds = s->printer.style.fd_kinds,
					 .dumps = strace_style_has_dumps(&s->printer.style)
							  ? strace_on_data
							  : NULL,
					 .names_pids = s->printer.names_pids,
					 .is_alone = !s->inputs.n && !s->follows,
					 .leaves_at_exec = s->leaves_at_exec,
					 .command = -1,
					 .range = { INT64_MIN, INT64_MAX },
					 .wants = strace_on_call,
					 .give = strace_print_item,
					 .context = &s->printer };
}

/* Whether a process is in another pid namespace than this one; not if it is gone. */
static bool has_other_numbers(void *context, pid_t pid)
{
	char path[32];
	struct stat own, its;

	(void)context;
	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	return !stat("/proc/self/ns/pid", &own) && !stat(path, &its) && own.st_ino != its.st_ino;
}

static uint32_t width_of(int fd)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");

	if (!ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return columns && atoi(columns) > 0 ? (uint32_t)atoi(columns) : 120;
}

/* Reports losses, and a recording without system calls. */
static void report_missing(const struct strace *s, const struct pairing *j)
{
	const struct strace_printer *p = &s->printer;
	char text[160];

	if (p->lost_events || p->lost_packets)
		print_err("duet strace: %s lost: larger buffers (--kernel-buffer) keep more\n",
			  cmd_lost_text(p->lost_events, p->lost_packets, text));
	if (!j->calls.has_entries && !j->calls.has_exits && s->inputs.n)
		print_err("duet strace: the recording has no system calls: record with -k "
			  "syscalls\n");
}

/* Reports once, before the first line, that arguments are printed as addresses, and how to get
 * texts. */
static void report_addresses(struct strace *s, const struct pairing *j)
{
	enum pairing_lack lacks = s->printer.prints && !s->has_reported_addresses
					  ? pairing_lacks(j)
					  : PAIRING_LACKS_NOTHING;

	s->has_reported_addresses |= lacks != PAIRING_LACKS_NOTHING;
	if (lacks == PAIRING_LACKS_PATHS)
		print_err("duet strace: file names, buffers and structures are shown as addresses: "
			  "only BPF programs record "
			  "them, and %s--kernel-backend bpf says why not\n",
			  s->inputs.n ? "duet record " : "");
	else if (lacks == PAIRING_LACKS_MEMORY)
		print_err("duet strace: buffers and structures are shown as addresses: duet "
			  "record --capture 32 has them\n");
}

static int finish(struct strace *s, struct pairing *j)
{
	struct strace_printer *p = &s->printer;

	if (p->counts) {
		if (p->prints)
			out_byte(&p->out, '\n');
		strace_summary(p, width_of(p->out.fd));
	}
	strace_outputs_flush(p);
	if (p->out.err)
		return cmd_error("strace", "cannot write: %s", strerror(-p->out.err));
	report_missing(s, j);
	return 0;
}

/* ---------------------------------------------------------------- a recording */

static int show_recording(struct strace *s)
{
	struct trace_options o = { .warn = warn };
	struct pairing_options options = options_of(s);
	struct pairing j = { .is_over = false };
	struct diag d = { "" };
	struct trace *t;
	int status = 0;

	if (reader_confine(&(struct reader){ .verb = "strace" }))
		return CMD_FAILED;
	progress_hook(&o);
	if (trace_open(&t, s->inputs.at, s->inputs.n, &o, &d))
		return cmd_error("strace", "%s", d.text);
	if (!isatty(STDOUT_FILENO) || !s->printer.prints)
		progress_begin("strace", t);
	moments_resolve(&s->from, &s->to, t);
	if (moments_check(&s->from, &s->to, t, &d)) {
		progress_end();
		trace_close(t);
		return cmd_error("strace", "%s", d.text);
	}
	options.range = (struct pass_range){ s->from.is_given ? s->from.ns : INT64_MIN,
					     s->to.is_given ? s->to.ns : INT64_MAX };
	options.pids = s->record.pids.at;
	options.n_pids = s->record.pids.n;
	if (pairing_open(&j, t, &options, &d)) {
		trace_close(t);
		return cmd_error("strace", "%s", d.text);
	}
	s->printer.threads = j.run.threads;
	report_addresses(s, &j);
	if (s->has_stacks &&
	    strace_stacks_open(&s->printer.stacks, s->inputs.at, s->inputs.n, false, &d))
		status = cmd_error("strace", "%s", d.text);
	else if (pairing_read(&j, &d))
		status = cmd_error("strace", "%s", d.text);
	progress_end();
	pairing_end(&j);
	if (!status)
		status = finish(s, &j);
	pairing_close(&j);
	trace_close(t);
	return status;
}

/* ---------------------------------------------------------------- live */

/* Waits for the next round, or for the recorder's end: @recorder, a pidfd, is then closed. */
static void wait_for_more(struct strace *s, int *recorder)
{
	struct pollfd p[2] = { { .fd = s->printer.out.fd }, { .fd = *recorder, .events = POLLIN } };

	if (poll(p, 2, REFRESH_MS) <= 0)
		return;
	if (p[0].revents & (POLLERR | POLLNVAL)) { /* only errors are polled */
		s->printer.out.is_over = true;
	} else if (p[1].revents) {
		close(*recorder);
		*recorder = -1;
	} else {
		poll(NULL, 0, REFRESH_MS);
	}
}

/* As strace, which sends the signal that ends it to the command that it started, and to no other. */
static void end_by_signal(const struct strace *s, int command)
{
	static bool is_passed;

	if (!is_passed && command >= 0)
		syscall(SYS_pidfd_send_signal, command, (int)ended_by, NULL, 0);
	is_passed = true;
	recorder_child_interrupt(&s->record.child, 0);
}

/* @command: a pidfd; -1: there is none. */
static void pass_interrupts_on(struct strace *s, int command)
{
	static int n_passed;

	if (ended_by)
		end_by_signal(s, command);
	for (; n_passed < n_interrupts; n_passed++)
		recorder_child_interrupt(&s->record.child, n_passed + 1);
}

static int follow(struct strace *s, struct trace *t, struct pairing *j, struct diag *d)
{
	int recorder = (int)syscall(SYS_pidfd_open, s->record.child.recorder, 0), grows, err;
	int command = s->record.child.has_command
			      ? (int)syscall(SYS_pidfd_open, s->record.child.program, 0)
			      : -1;

	for (;;) {
		const struct trace_following *f;

		grows = trace_refresh(t, d);
		err = grows < 0 ? grows : pairing_update(j, d);
		report_addresses(s, j);
		if (!err)
			err = pairing_read(j, d);
		f = trace_following(t);
		if (!err && grows && s->printer.prints && f->known_ns > INT64_MIN + LASTING_NS)
			pairing_report_lasting(j, f->known_ns - LASTING_NS);
		strace_outputs_flush(&s->printer);
		if (err || !grows || j->is_over || s->printer.out.is_over)
			break;
		pass_interrupts_on(s, command);
		wait_for_more(s, &recorder);
	}
	if (recorder >= 0)
		close(recorder);
	if (command >= 0)
		close(command);
	if (!err && trace_following(t)->n_late)
		print_err("duet strace: %" PRIu64 " events came too late to be shown\n",
			  trace_following(t)->n_late);
	if (!err && trace_following(t)->n_cut)
		print_err("duet strace: the recorder was killed: the output is incomplete\n");
	return err;
}

static int show_live(struct strace *s)
{
	const struct trace_options o = { .warn = warn, .follows = true };
	struct pairing_options options = options_of(s);
	const char *path = s->record.child.path;
	char cwd[PATH_MAX];
	struct pairing j = { .is_over = false };
	struct diag d = { "" };
	struct trace *t;
	int status = 0;

	options.command = s->record.child.program;
	options.has_other_numbers = has_other_numbers;
	options.n_threads = s->record.pids.n ? 0 : 1;
	for (int i = 0; i < s->record.pids.n; i++)
		options.n_threads += s->follows ? strace_count_threads(s->record.pids.at[i]) : 1;
	if (options.is_alone) {
		options.pids = s->record.pids.at;
		options.n_pids = s->record.pids.n;
	}
	options.cwd = options.command >= 0 ? getcwd(cwd, sizeof cwd) : NULL;
	if (trace_open(&t, &path, 1, &o, &d))
		return cmd_error("strace", "%s", d.text);
	if (pairing_open(&j, t, &options, &d)) {
		trace_close(t);
		return cmd_error("strace", "%s", d.text);
	}
	s->printer.threads = j.run.threads;
	for (int i = 0; s->printer.prints && !s->printer.separate && i < s->record.pids.n; i++)
		strace_print_in_progress(&s->printer, s->record.pids.at[i], options.is_alone,
					 options.n_threads);
	if ((s->has_stacks && strace_stacks_open(&s->printer.stacks, &path, 1, true, &d)) ||
	    follow(s, t, &j, &d))
		status = cmd_error("strace", "%s", d.text);
	pairing_end(&j);
	if (!status)
		status = finish(s, &j);
	pairing_close(&j);
	trace_close(t);
	return status;
}

/* One byte more than is shown: it decides whether a text continues. */
static uint32_t bytes_for(uint64_t shown)
{
	return shown < ABI_CAPTURE_BUFFER_MAX ? (uint32_t)shown + 1 : ABI_CAPTURE_BUFFER_MAX;
}

static int run_live(struct strace *s)
{
	const struct sigaction act = { .sa_sigaction = interrupt, .sa_flags = SA_SIGINFO };
	int status, ended;

	strace_filter_patterns(&s->printer.filter, s->printer.style.names_fds || s->paths.n,
			       s->printer.names_pids, s->has_stacks, &s->record.patterns);
	s->record.capture_bytes = strace_style_has_dumps(&s->printer.style) ? ABI_CAPTURE_BUFFER_MAX
				  : s->printer.prints || s->record.keep ? bytes_for(s->string_bytes)
									: 0;
	s->record.names_pids = s->printer.names_pids;
	s->record.captures_environment = s->printer.style.values.is_whole;
	s->record.captures_files = s->printer.style.names_fds || s->paths.n;
	status = strace_record_start(&s->record);
	if (status)
		return status;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	status = show_live(s);
	ended = recorder_child_end(&s->record.child,
				   status || s->printer.out.is_over ||
					   s->printer.n_lines >= s->printer.limit);
	if (status)
		return status;
	return ended_by && s->record.child.has_command ? 128 + ended_by : ended;
}

/* ---------------------------------------------------------------- the command */

/* The end of a pipe to a shell command, which runs until the end of the output. */
static int open_command(struct strace *s)
{
	s->command = popen(s->output + 1, "we");
	return s->command ? fileno(s->command) : -1;
}

static int open_output(struct strace *s)
{
	int fd = s->inputs.n ? STDOUT_FILENO : STDERR_FILENO;

	if (s->output && s->follows > 1)
		s->printer.separate = s->output;
	else if (s->output && (*s->output == '|' || *s->output == '!'))
		fd = open_command(s);
	else if (s->output)
		fd = open(s->output,
			  O_WRONLY | O_CREAT | (s->printer.appends ? O_APPEND : O_TRUNC) |
				  O_CLOEXEC,
			  0666);
	if (fd < 0)
		return cmd_error("strace", "-o %s: %s", s->output, strerror(errno));
	return out_init(&s->printer.out, fd) ? cmd_error("strace", "no memory") : 0;
}

int strace_view(const char *const *paths, int n, const struct moment *from, const struct moment *to,
		uint64_t limit)
{
	static struct strace s; /* its lists are used until exit */
	int status;

	s = STRACE_NEW;
	for (int i = 0; i < n; i++)
		cmd_add_string(&s.inputs, paths[i]);
	s.from = *from;
	s.to = *to;
	s.printer.style.names_fds = s.printer.has_durations = true;
	s.printer.prefix = STRACE_NAMES;
	s.printer.time = STRACE_MICROSECONDS;
	s.printer.limit = limit;
	signal(SIGPIPE, SIG_IGN);
	status = open_output(&s);
	if (!status)
		status = show_recording(&s);
	strace_printer_fini(&s.printer);
	return status;
}

/* Lines of a file begin with the thread if there may be several threads, lines on a terminal while
 * there are several. */
static void set_prefix(struct strace *s)
{
	bool many = s->follows || s->inputs.n || s->record.pids.n > 1;

	s->printer.prefix = s->printer.separate ? STRACE_NO_PIDS
			    : s->output && many ? STRACE_ALL_PIDS
						: STRACE_PIDS;
}

int cmd_strace(int argc, char **argv)
{
	static struct strace s; /* its lists are used until exit */
	int status;

	s = STRACE_NEW;
	status = strace_options(&s, argc, argv);
	if (status >= 0)
		return status;
	status = open_output(&s);
	if (status)
		return status;
	signal(SIGPIPE, SIG_IGN);
	set_prefix(&s);
	call_style_set(&s.printer.style.values);
	status = s.inputs.n ? show_recording(&s) : run_live(&s);
	strace_printer_fini(&s.printer);
	if (s.command)
		pclose(s.command);
	return status;
}
