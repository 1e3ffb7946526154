/* SPDX-License-Identifier: MIT */
/*
 * cmd/main.c - duet VERB: the table of verbs.
 *
 * A verb is one function of one file.  A new verb is a row here, a declaration in cmd.h, and a
 * manual page.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/nearest.h"
#include "cmd/print/print.h"
#include "cmd/progress.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what; /* of a row without a name: the task of the verbs below */
} verbs[] = {
	{ .what = "Record" },
	{ "record", cmd_record, "trace a command, processes or everything, with the kernel" },
	{ "start", cmd_start, "record in the background, as a session with a name" },
	{ "stop", cmd_stop, "end such a session, and say what it recorded" },
	{ "status", cmd_status, "what the sessions have done and hold, and their programs" },
	{ "enable", cmd_enable, "switch events on in running programs" },
	{ "disable", cmd_disable, "switch events off in running programs" },
	{ "snapshot", cmd_snapshot, "write what a flight recorder holds now, while it goes on" },
	{ "rotate", cmd_rotate, "end a trace chunk of a recording, and begin the next" },
	{ "trigger", cmd_trigger,
	  "actions of a running recording on conditions: snapshots, commands, ..." },
	{ "collect", cmd_collect, "record all programs of this user until stopped" },
	{ .what = "See it" },
	{ "view", cmd_view, "print a recording: applications and kernel merged by time" },
	{ "ui", cmd_ui, "recordings and sessions as a timeline in the browser" },
	{ "top", cmd_top, "what runs and waits now, by thread, process and event" },
	{ "live", cmd_live, "a recording while it is made; also for Babeltrace (--serve)" },
	{ "strace", cmd_strace,
	  "the system calls of a command, a process or a recording, in words" },
	{ .what = "Find the answer" },
	{ "report", cmd_report,
	  "answers: where time went, CPU, system calls, I/O, locks, heap, ..." },
	{ "stats", cmd_stats, "how many events, by event, process, thread, CPU and stream" },
	{ "graph", cmd_graph,
	  "calls of functions as they happened, or summed: programs and kernel" },
	{ "script", cmd_script, "run a script over events, live or recorded: one's own questions" },
	{ "diff", cmd_diff, "what changed from one recording to another, and whether by chance" },
	{ .what = "Look before" },
	{ "list", cmd_list, "traced programs and their events; what the kernel offers" },
	{ "doctor", cmd_doctor, "what can be recorded here and what not, why, and what to do" },
	{ .what = "Other tools, other hosts, other users" },
	{ "export", cmd_export,
	  "recordings for Perfetto, Chrome, Speedscope, Firefox; flame graphs, CSV" },
	{ "repair", cmd_repair, "make a readable recording from a damaged one" },
	{ "relay", cmd_relay, "receive the recordings of other hosts (record --to, collect --to)" },
	{ "send", cmd_send, "send a recording, or the rest of one, to a relay" },
	{ "lend", cmd_lend, "let the members of a group record the kernel" },
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static void help(void)
{
	print_out("usage: duet VERB [ARGUMENTS]\n\n"
		  "duet shows what applications and the Linux kernel did together, on one "
		  "clock.\n\n");
	for (int i = 0; i < N_VERBS; i++)
		if (verbs[i].name)
			print_out("  %-9s %s\n", verbs[i].name, verbs[i].what);
		else
			print_out(i ? "\n%s:\n" : "%s:\n", verbs[i].what);
	print_out("\n`duet help VERB` says more.  Try: duet record -- ls\n");
}

/*
 * A descriptor 0 to 2 that is closed would be given to a recording's file, and a message would be
 * written into it.  The one that takes its place refuses, as the closed one did.
 */
static void keep_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
			abort();
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* What a verb of another tool is here; NULL: it is of none that we know. */
static const char *foreign_verb(const char *verb)
{
	static const struct {
		const char *verb, *here;
	} others[] = {
		{ "create", "duet start NAME" },
		{ "destroy", "duet stop NAME" },
		{ "enable-event", "duet start NAME -e PATTERN; in one that records: duet enable" },
		{ "disable-event", "duet disable PATTERN" },
		{ "enable-channel", "duet start --channel NAME:events=PATTERN" },
		{ "add-context", "duet start -c NAMES, and --kernel-context NAMES" },
		{ "add-trigger", "duet trigger add" },
		{ "enable-rotation", "duet start --rotate WHEN" },
		{ "track", "duet start -p PID" },
		{ "trace", "duet strace COMMAND, or duet record COMMAND" },
		{ "probe", "duet record -u FILE:FUNCTION, and --kprobe FUNCTION" },
		{ "sched", "duet record -k sched, then duet report sched DIR" },
		{ "lock", "duet record -k sched,syscalls, then duet report locks DIR" },
		{ "replay", "duet graph DIR" },
	};

	for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(verb, others[i].verb))
			return others[i].here;
	return NULL;
}

static int refuse(const char *verb)
{
	struct nearest near = { .wanted = verb };
	char text[NEAREST_MAX + 32];

	for (int i = 0; i < N_VERBS; i++)
		if (verbs[i].name)
			nearest_try(&near, verbs[i].name);
	if (foreign_verb(verb))
		print_err("duet: no verb \"%s\": it is %s\n", verb, foreign_verb(verb));
	else if (*verb == '-')
		print_err("duet: %s: a verb comes first, its options behind it: "
			  "`duet --help` lists them\n",
			  verb);
	else if (*near.best)
		print_err("duet: no verb \"%s\"%s\n", verb, nearest_text(&near, text));
	else if (is_directory(verb))
		print_err("duet: no verb \"%s\": `duet view %s` prints a recording\n", verb, verb);
	else
		print_err("duet: no verb \"%s\": `duet --help` lists them\n", verb);
	return CMD_FAILED;
}

static int run(int i, int argc, char **argv)
{
	int status;

	cut_files_survive();
	status = verbs[i].run(argc - 1, argv + 1);
	status = progress_status(cut_files_status(verbs[i].name, status));
	return cmd_written(verbs[i].name, status);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "--help";

	keep_standard_descriptors();
	if (argc == 3 && !strcmp(verb, "help") && *argv[2] != '-') {
		static char option[] = "--help";

		verb = argv[1] = argv[2];
		argv[2] = option;
	}
	if (!strcmp(verb, "--help") || !strcmp(verb, "-h") || !strcmp(verb, "help")) {
		help();
		return cmd_written("help", 0);
	}
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V") || !strcmp(verb, "version")) {
		print_out("duet %s\n", DUET_VERSION);
		return cmd_written("version", 0);
	}
	for (int i = 0; i < N_VERBS; i++)
		if (verbs[i].name && !strcmp(verb, verbs[i].name))
			return run(i, argc, argv);
	return refuse(verb);
}
