/* SPDX-License-Identifier: MIT */
/* cmd/record/record.c - duet record, and duet collect, which is the same without a command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rules/pattern.h"
#include "base/runtime.h"
#include "base/service.h"
#include "cmd/record/recording.h"
#include "collect/session/session.h"

static const char record_help[] =
	"usage: duet record [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
	"       duet record [OPTIONS] -p PID [-p PID]...\n"
	"       duet record [OPTIONS]\n\n"
	"Records the events of a command and its children, of running processes, or of all "
	"programs of\n"
	"this user, together with what the kernel did for them; then says what was recorded.\n\n"
	"  -o, --output DIR      where to; new or empty (default: ./duet-DATE-TIME)\n"
	"  -e, --event PATTERN   application events: a glob on \"channel:name\", a channel, or a "
	"name;\n"
	"                        \"!PATTERN\" excludes (default: all).  A pattern that names\n"
	"                        lttng_ust_libc events records malloc and free of any command.\n"
	"  -f, --filter EXPR     of the events of the -e or -k before it, only those for which "
	"EXPR holds:\n"
	"                        'size > 4096 && name ~ \"tmp*\"' (duet-filter(7))\n"
	"      --level LEVEL     of the events of the -e before it, only those as important as "
	"this: emerg ..\n"
	"                        err, warning, notice, info, debug\n" WHOM_HELP
	"  -k, --kernel PATTERN,.. kernel events (duet list -k), or a set: sched syscalls irq "
	"signal task\n"
	"                        block fs net mm timer lock (default: sched,syscalls); "
	"\"!PATTERN\" excludes\n" RECORDING_UPROBES_HELP
	"      --no-kernel       applications only\n"
	"      --all-kernel      the whole machine's kernel events, not just the recorded "
	"processes'\n"
	"      --overwrite       flight recorder: keep the newest events in memory, write them at "
	"the end\n"
	"  -b, --buffer SIZE     memory for application events, at most (default: 256M, begins "
	"with 64M;\n"
	"                        with --overwrite 64M)\n"
	"      --kernel-buffer SIZE  memory for kernel events, of each CPU (default: 16M)\n"
	"      --kernel-backend NAME auto (default): bpf, which is cheaper and has file names, "
	"where it can be had,\n"
	"                        else ftrace; ftrace; bpf: fail "
	"without\n" RECORDING_KERNEL_CONTEXT_HELP
	"      --capture BYTES       by bpf, also so many bytes of what system calls read and "
	"write, and structures\n" CHANNELS_HELP
	"      --trigger TEXT    'CONDITION -> ACTION': what it does by itself, and when (duet "
	"trigger --help)\n"
	"  -c, --context NAMES   record with each event: ip, callstack, procname, ppid, ... "
	"(duet(1))\n"
	"      --clock CLOCK     tsc, or mono where programs cannot read it: emulated ones\n"
	"  -p, --pid PID         record this process\n" TRACE_CHUNKS_HELP RECORDING_TENANTS_HELP
		SEND_HELP "  -q, --quiet           no summary\n"
	"  -v, --verbose         say what recorded the kernel, too: BPF programs or ftrace, and "
	"why\n\n"
	"Ends with the command, or with Ctrl-C (twice while a command runs).  The exit status is "
	"the\n"
	"command's; 2 if recording failed.\n\n"
	"  duet record -e 'lttng_ust_libc:*' -- find /usr -name '*.a'\n"
	"  duet record -p 4711 -e 'shop:*' -k syscalls\n";

static const char collect_help[] =
	"usage: duet collect [OPTIONS]\n\n"
	"Records all programs of this user, those that run and those that start, until Ctrl-C or "
	"SIGTERM.\n"
	"`duet enable` and `duet disable` change what is recorded meanwhile.\n\n"
	"  -o, --output DIR      where to; new or empty (default: ./duet-DATE-TIME)\n"
	"  -e, --event PATTERN   application events (default: none until `duet enable`, but what\n"
	"                        programs started with DUET_TRACE=1 DUET_EVENTS=PATTERN,... ask "
	"for)\n"
	"  -f, --filter EXPR     of the events of the -e before it, only those for which EXPR "
	"holds\n"
	"      --level LEVEL     of the events of the -e before it, only those as important as "
	"this: emerg ..\n"
	"                        err, warning, notice, info, debug\n" WHOM_HELP
	"  -k, --kernel PATTERN  kernel events of the whole machine (default: "
	"none)\n" RECORDING_UPROBES_HELP "      --overwrite       flight recorder: keep the newest "
	"events in memory, write them at the end\n"
	"  -b, --buffer SIZE     memory for application events, at most (default: 256M, begins "
	"with 64M;\n"
	"                        with --overwrite 64M)\n"
	"      --kernel-buffer SIZE  memory for kernel events, of each CPU (default: 16M)\n"
	"      --kernel-backend NAME auto (default): bpf, which is cheaper and has file names, "
	"where it can be had,\n"
	"                        else ftrace; ftrace; bpf: fail "
	"without\n" RECORDING_KERNEL_CONTEXT_HELP
	"      --capture BYTES       by bpf, also so many bytes of what system calls read and "
	"write, and structures\n" CHANNELS_HELP
	"      --trigger TEXT    'CONDITION -> ACTION': what it does by itself, and when (duet "
	"trigger --help)\n"
	"  -c, --context NAMES   record with each event: ip, callstack, procname, ppid, ... "
	"(duet(1))\n"
	"      --clock CLOCK     tsc, or mono where programs cannot read it: emulated ones\n"
	"  -s, --session NAME    name of the session (default: \"default\")\n" TRACE_CHUNKS_HELP
		RECORDING_TENANTS_HELP SEND_HELP "  -q, --quiet           no summary\n"
	"  -v, --verbose         say what recorded the kernel, too: BPF programs or ftrace, and "
	"why\n";

static const struct option record_options[] = {
	RECORDING_OPTIONS,
	{ "no-kernel", no_argument, NULL, RECORDING_NO_KERNEL },
	{ "all-kernel", no_argument, NULL, RECORDING_ALL_KERNEL },
	{ "pid", required_argument, NULL, 'p' },
	{ "verbose", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

static const struct option collect_options[] = {
	RECORDING_OPTIONS,
	{ "session", required_argument, NULL, 's' },
	{ "verbose", no_argument, NULL, 'v' },
	{ NULL, 0, NULL, 0 },
};

/* Whether a pattern means malloc and its like: then they are put into the command.  "*" does not:
 * nobody who asks for all events of a program asks for those. */
static bool wants_libc(const struct recording *a)
{
	static const char *const names[] = { "malloc",	 "calloc",	   "realloc",	   "free",
					     "memalign", "posix_memalign", "aligned_alloc" };

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

/* Whether somebody has the usual session: then ours is one beside it. */
static bool others_record(void)
{
	int dir = runtime_dir_open(false);
	bool live = dir >= 0 && session_is_live(dir, "default");

	if (dir >= 0)
		close(dir);
	return live;
}

int cmd_record(int argc, char **argv)
{
	struct recording a;
	int c, status;

	recording_begin(&a, "record");
	a.o.kernel = true;
	while ((c = getopt_long(argc, argv, "+:o:e:f:c:k:u:b:p:qv", record_options, NULL)) != -1) {
		status = recording_take(&a, c, record_help);
		if (status >= 0)
			return status;
	}
	if (optind < argc) {
		if (a.pids.n)
			return cmd_usage("record", "either a command or -p, not both");
		if (cmd_check_command("record", argv[optind]))
			return CMD_FAILED;
		a.o.command = argv + optind;
	}
	snprintf(a.session, sizeof a.session,
		 a.o.command || a.pids.n || others_record() ? "record-%d" : "default",
		 (int)getpid());
	if (recording_resolve(&a))
		return CMD_FAILED;
	/* Without a process to follow the kernel's events are the machine's, if asked for by name.
	 */
	if (!a.o.command && !a.pids.n && !a.cgroups.n) {
		a.o.kernel =
			a.kernel_events.n || a.n_uprobes || a.graph.n || a.o.kernel_whole_machine;
		a.o.kernel_whole_machine = a.o.kernel;
	}
	if (a.o.command && wants_libc(&a)) {
		a.o.preload = cmd_find_library("libduet-libc.so", a.preload, sizeof a.preload);
		if (!a.o.preload)
			return cmd_error("record",
					 "libduet-libc.so is not installed: without it malloc "
					 "and free cannot be recorded");
	}
	return recording_run(&a);
}

/* systemd waits for it: Type=notify. */
static int report_manager(void *arg, struct diag *d)
{
	(void)arg;
	(void)d;
	service_notify("READY=1"); /* who does not hear it gives up on us */
	return 0;
}

int cmd_collect(int argc, char **argv)
{
	struct recording a;
	int c, status;

	recording_begin(&a, "collect");
	snprintf(a.session, sizeof a.session, "default");
	while ((c = getopt_long(argc, argv, ":o:e:f:c:k:u:b:s:qv", collect_options, NULL)) != -1) {
		status = recording_take(&a, c, collect_help);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return cmd_usage("collect", "no argument expected");
	if (recording_resolve(&a))
		return CMD_FAILED;
	a.o.kernel_whole_machine = a.o.kernel && !a.cgroups.n;
	a.o.no_default_events = true;
	a.o.on_ready = report_manager;
	a.o.keep = true;
	if (!a.quiet)
		fprintf(stderr, "duet collect: recording into %s until Ctrl-C\n", a.o.path);
	return recording_run(&a);
}
