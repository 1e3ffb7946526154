/* SPDX-License-Identifier: MIT */
/*
 * cmd/record/record.c - duet record, and duet collect: the same without a command.
 *
 * duet record decides by its arguments whether it records a command, processes, or all programs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rules/pattern.h"
#include "base/runtime.h"
#include "base/service.h"
#include "cmd/announce.h"
#include "cmd/record/marks.h"
#include "cmd/record/options.h"
#include "cmd/record/recording.h"
#include "cmd/repeat/repeat.h"
#include "cmd/doctor/unseen.h"
#include "collect/session/public.h"

static const char record_usage[] =
	"usage: duet record [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
	"       duet record [OPTIONS] -p PID [-p PID]...\n"
	"       duet record [OPTIONS]\n\n"
	"Records the events of a command and its children, of running processes, or of all "
	"programs of\n"
	"this user, together with what the kernel did for them; then says what was recorded.\n\n";

static const char record_examples[] =
	"  duet record -- ./program                         it, and the kernel's work for it\n"
	"  duet record -p 4711 -e 'shop:*' -k syscalls      a running process, some events\n"
	"  duet record -e 'lttng_ust_libc:*' -- find /usr   malloc and free of any command\n";

static const char record_notes[] = "\nEnds with the command, with the last process of -p, or with "
				   "Ctrl-C (twice while a command runs).  The exit status is "
				   "the\n"
				   "command's; 2 if recording failed.\n";

static const char collect_usage[] =
	"usage: duet collect [NAME] [OPTIONS]\n\n"
	"Records all programs of this user, those that run and those that start, until Ctrl-C or "
	"SIGTERM.\n"
	"`duet enable` and `duet disable` change what is recorded meanwhile.\n\n";

static const char collect_examples[] =
	"  duet collect -o trace                            all events, and no kernel\n"
	"  duet collect -e 'shop:*' -k sched,syscalls       some, and the kernel's for their "
	"programs\n";

/*
 * Whether a pattern names malloc or its relatives: then libduet-libc is preloaded into the command.
 * "*" does not name them: a user who asks for all events of a program rarely wants these.
 */
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

/* Programs built with -finstrument-functions call libduet-cyg. */
static bool wants_cyg(const struct recording *a)
{
	static const char channel[] = "lttng_ust_cyg_profile";

	for (int i = 0; i < a->n_events; i++)
		if (!strncmp(a->events[i].pattern, channel, sizeof channel - 1))
			return true;
	return false;
}

/* -errno if there is no memory. */
static int preload_also(struct recording *a, const char *library)
{
	char *before = a->preloads;

	if (asprintf(&a->preloads, "%s%s%s", library, a->o.preload ? ":" : "",
		     a->o.preload ? a->o.preload : "") < 0) {
		a->preloads = before;
		return -1;
	}
	free(before);
	a->o.preload = a->preloads;
	return 0;
}

/* A program that is not linked with libduet needs it for its calls to be recorded. */
static int choose_preload(struct recording *a)
{
	const char *libc = NULL, *cyg;
	char path[4096];

	if (wants_libc(a)) {
		libc = cmd_find_library("libduet-libc.so.0", a->preload, sizeof a->preload);
		if (!libc)
			return cmd_error("record",
					 "libduet-libc.so.0 is not installed: without it malloc "
					 "and free cannot be recorded");
	}
	a->o.preload = libc;
	if (wants_cyg(a)) {
		cyg = cmd_find_library("libduet-cyg.so.0", path, sizeof path);
		if (!cyg)
			return cmd_error(
				"record",
				"libduet-cyg.so.0 is not installed: without it functions of "
				"-finstrument-functions cannot be recorded");
		if (preload_also(a, cyg))
			return cmd_error("record", "no memory");
	}
	if (!a->calls.n && !a->o.calls.n_marks)
		return 0;
	if (!a->o.library)
		return cmd_error("record", "libduet.so.0 is not installed: without it calls of "
					   "functions and marks cannot be recorded");
	return preload_also(a, a->o.library) ? cmd_error("record", "no memory") : 0;
}

/* Whether a session "default" records already: then ours gets another name. */
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
	struct options options = { .verb = "record",
				   .bit = VERB_RECORD,
				   .usage = record_usage,
				   .examples = record_examples,
				   .notes = record_notes,
				   .has_command = true };
	struct recording a;
	int status;

	recording_begin_defaults(&a, "record");
	a.o.ends_with_pids = true;
	status = recording_options_parse(&a, &options, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc) {
		if (a.pids.n)
			return cmd_usage("record", "either a command or -p, not both");
		if (cmd_check_command("record", argv[optind]))
			return CMD_FAILED;
		a.o.command = argv + optind;
	}
	status = a.n_repeats ? repeat_record(&a) : OPTIONS_GO_ON;
	if (status != OPTIONS_GO_ON)
		return status;
	if (!*a.session)
		snprintf(a.session, sizeof a.session,
			 a.o.command || a.pids.n || others_record() ? "record-%d" : "default",
			 (int)getpid());
	if (recording_choose_marks(&a) || recording_resolve(&a))
		return CMD_FAILED;
	recording_choose_defaults(&a);
	if (a.o.command && choose_preload(&a))
		return CMD_FAILED;
	announce_counts(&a);
	a.o.on_ready = announce_recording;
	a.o.on_ready_arg = &a;
	return unseen_report(&a) ? CMD_FAILED : recording_run(&a);
}

/* For systemd units of Type=notify. */
static int notify_manager(void *arg, struct diag *d)
{
	announce_recording(arg, d);
	service_notify("READY=1"); /* if this fails, systemd times out by itself */
	return 0;
}

int cmd_collect(int argc, char **argv)
{
	struct options options = { .verb = "collect",
				   .bit = VERB_COLLECT,
				   .usage = collect_usage,
				   .examples = collect_examples };
	struct recording a;
	int status;

	recording_begin_defaults(&a, "collect");
	status = recording_options_parse(&a, &options, argc, argv);
	if (status != OPTIONS_GO_ON)
		return status;
	if (recording_take_name(&a, argc - optind, argv + optind))
		return CMD_FAILED;
	if (recording_resolve(&a))
		return CMD_FAILED;
	recording_choose_defaults(&a);
	announce_counts(&a);
	a.o.on_ready = notify_manager;
	a.o.on_ready_arg = &a;
	a.o.keep = true;
	return unseen_report(&a) ? CMD_FAILED : recording_run(&a);
}
