/* SPDX-License-Identifier: MIT */
/*
 * cmd/main.c - duet VERB: the table of verbs.
 *
 * A verb is one function of one file.  A new verb is a row here, a declaration in cmd.h, and a
 * manual page.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/nearest.h"
#include "cmd/progress.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} verbs[] = {
	{ "record", cmd_record, "trace a command, processes or everything, with the kernel" },
	{ "view", cmd_view, "print a recording: applications and kernel merged by time" },
	{ "live", cmd_live, "the same while it is recorded; also for Babeltrace (--serve)" },
	{ "strace", cmd_strace,
	  "the system calls of a command, a process or a recording, in words" },
	{ "stats", cmd_stats, "how many events, by event, process, thread, CPU and stream" },
	{ "report", cmd_report,
	  "answers: where time went, CPU, system calls, I/O, locks, heap, ..." },
	{ "graph", cmd_graph,
	  "calls of functions as they happened, or summed: programs and kernel" },
	{ "diff", cmd_diff, "what changed from one recording to another, and whether by chance" },
	{ "repair", cmd_repair, "make a readable recording from a damaged one" },
	{ "export", cmd_export,
	  "recordings for Perfetto, Chrome, Speedscope, Firefox; flame graphs, CSV" },
	{ "list", cmd_list, "traced programs and their events; what the kernel offers" },
	{ "enable", cmd_enable, "switch events on in running programs" },
	{ "disable", cmd_disable, "switch events off in running programs" },
	{ "start", cmd_start, "record in the background, as a session with a name" },
	{ "stop", cmd_stop, "end such a session, and say what it recorded" },
	{ "status", cmd_status, "what the sessions have done and hold, and their programs" },
	{ "snapshot", cmd_snapshot, "write what a flight recorder holds now, while it goes on" },
	{ "rotate", cmd_rotate, "end a trace chunk of a recording, and begin the next" },
	{ "trigger", cmd_trigger,
	  "actions of a running recording on conditions: snapshots, commands, ..." },
	{ "collect", cmd_collect, "record all programs of this user until stopped" },
	{ "lend", cmd_lend, "let the members of a group record the kernel" },
	{ "relay", cmd_relay, "receive the recordings of other hosts (record --to, collect --to)" },
	{ "send", cmd_send, "send a recording, or the rest of one, to a relay" },
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static void help(FILE *f)
{
	fprintf(f, "usage: duet VERB [ARGUMENTS]\n\n"
		   "duet shows what applications and the Linux kernel did together, on one "
		   "clock.\n\n");
	for (int i = 0; i < N_VERBS; i++)
		fprintf(f, "  %-9s %s\n", verbs[i].name, verbs[i].what);
	fprintf(f, "\n`duet VERB --help` says more.  Try: duet record -- ls\n");
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "--help";
	struct nearest near = { .wanted = verb };
	char text[NEAREST_MAX + 32];

	if (!strcmp(verb, "--help") || !strcmp(verb, "-h") || !strcmp(verb, "help")) {
		help(stdout);
		return 0;
	}
	if (!strcmp(verb, "--version")) {
		printf("duet %s\n", DUET_VERSION);
		return 0;
	}
	for (int i = 0; i < N_VERBS; i++)
		if (!strcmp(verb, verbs[i].name))
			return progress_status(verbs[i].run(argc - 1, argv + 1));
	for (int i = 0; i < N_VERBS; i++)
		nearest_try(&near, verbs[i].name);
	fprintf(stderr, "duet: no verb \"%s\"%s\n", verb,
		*near.best ? nearest_text(&near, text) : ": `duet --help` lists them");
	return CMD_FAILED;
}
