/* SPDX-License-Identifier: MIT */
/* cmd/status.c - duet status: what the running recordings have done and hold. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/ask.h"
#include "cmd/cmd.h"
#include "collect/apps.h"
#include "collect/session.h"

static const char help[] =
	"usage: duet status [SESSION]\n\n"
	"Says of each running recording of this user, or of SESSION, since when and where to it records, what\n"
	"was written and lost, and of each of its channels:\n\n"
	"  MODE      what happens when its buffer is full: discard, overwrite, block (and how long);\n"
	"            see duet record --channel\n"
	"  MEMORY    it has now;  LIMIT: it may have at most;  USED: of what it has now\n"
	"  WAITED    events that had to wait for room;  LOST: events that found none\n"
	"  CONTEXTS  that each of its events carries\n\n"
	"The exit status is 1 if nothing records.\n";

static uint64_t number_in(const struct cmd_answer *answer, const char *key)
{
	uint64_t n = 0;

	control_number(&answer->line, key, &n);
	return n;
}

static const char *text_in(const struct cmd_answer *answer, const char *key, char *value, size_t size)
{
	return control_text(&answer->line, key, value, size) ? value : "?";
}

/* @channel: its number, or -1 for the session. */
static int ask(const char *session, int channel, struct cmd_answer *answer)
{
	const struct cmd_asking how = { .passed = -1, .patience_s = CMD_PATIENCE_S };
	struct text t = { 0 };
	int status;

	control_add_text(&t, "verb", "status");
	if (channel >= 0)
		control_add_number(&t, "channel", (uint64_t)channel);
	status = cmd_ask("status", session, &t, &how, answer);
	return status ? status : cmd_refused("status", session, answer);
}

static void print_lost(uint64_t lost)
{
	if (lost)
		printf(", %llu LOST\n", (unsigned long long)lost);
	else
		printf(", none lost\n");
}

static void print_session(const struct cmd_answer *s, uint64_t lost)
{
	char name[ABI_NAME_BYTES], path[4096], size[32];
	uint64_t programs = number_in(s, "programs"), n;

	printf("%s: %.1f s, into %s (process %llu)\n", text_in(s, "session", name, sizeof name),
	       (double)number_in(s, "duration_ns") / 1e9, text_in(s, "path", path, sizeof path),
	       (unsigned long long)number_in(s, "pid"));
	printf("  applications  %llu program%s, %s written", (unsigned long long)programs,
	       programs == 1 ? "" : "s", cmd_size_text(number_in(s, "app_bytes"), size));
	print_lost(lost);
	if (!control_is_true(&s->line, "kernel"))
		return;
	n = number_in(s, "kernel_events");
	printf("  kernel        %llu event%s, %s written", (unsigned long long)n, n == 1 ? "" : "s",
	       cmd_size_text(number_in(s, "kernel_bytes"), size));
	print_lost(number_in(s, "kernel_lost"));
}

static void print_mode(const struct cmd_answer *c)
{
	char mode[32], shown[64];
	uint64_t wait_us = number_in(c, "wait_ns") / 1000;

	text_in(c, "mode", mode, sizeof mode);
	if (wait_us % 1000)
		snprintf(shown, sizeof shown, "%s %lluus", mode, (unsigned long long)wait_us);
	else if (wait_us)
		snprintf(shown, sizeof shown, "%s %llums", mode, (unsigned long long)wait_us / 1000);
	else
		snprintf(shown, sizeof shown, "%s", mode);
	printf("  %-14s", shown);
}

static void print_channel(const struct cmd_answer *c)
{
	char name[ABI_CHANNEL_NAME_BYTES], contexts[512], memory[32], limit[32];
	uint64_t has = number_in(c, "memory_bytes");

	printf("  %-16s", text_in(c, "name", name, sizeof name));
	print_mode(c);
	printf("  %9s  %9s  %3llu%%  %8llu  %8llu  %s\n", cmd_size_text(has, memory),
	       cmd_size_text(number_in(c, "limit_bytes"), limit),
	       (unsigned long long)(has ? number_in(c, "used_bytes") * 100 / has : 0),
	       (unsigned long long)number_in(c, "waited"), (unsigned long long)number_in(c, "lost"),
	       text_in(c, "contexts", contexts, sizeof contexts));
}

/* The session's losses are those of its channels and of who never joined. */
static int show(const char *name)
{
	struct cmd_answer session, channels[ABI_CHANNELS];
	int status = ask(name, -1, &session);
	uint64_t n = number_in(&session, "channels"), lost = number_in(&session, "lost_outside");

	for (uint64_t i = 0; i < n && i < ABI_CHANNELS && !status; i++) {
		status = ask(name, (int)i, &channels[i]);
		lost += status ? 0 : number_in(&channels[i], "lost");
	}
	if (status)
		return status;
	print_session(&session, lost);
	printf("  %-16s  %-14s  %9s  %9s  %4s  %8s  %8s  %s\n", "CHANNEL", "MODE", "MEMORY", "LIMIT",
	       "USED", "WAITED", "LOST", "CONTEXTS");
	for (uint64_t i = 0; i < n && i < ABI_CHANNELS; i++)
		print_channel(&channels[i]);
	return 0;
}

/* Every session that records. */
static int show_all(int dir)
{
	struct cmd_strings names = { 0 };
	int status = 0, one;

	cmd_list_sessions(dir, &names);
	for (int i = 0; i < names.n; i++) {
		one = show(names.at[i]);
		status = one > status ? one : status;
	}
	if (!names.n)
		printf("nothing records: `duet start` and `duet record` do\n");
	return names.n ? status : 1;
}

static int run(const char *wanted)
{
	int dir = runtime_dir_open(false), status;
	struct abi_session session;

	if (dir < 0 && dir != -ENOENT)
		return cmd_error("status", "cannot use the runtime directory: %s", strerror(-dir));
	if (dir >= 0)
		apps_sweep(dir);
	if (wanted && dir < 0)
		return cmd_error("status", "%s: no such session is recording", wanted);
	if (!wanted) {
		status = show_all(dir);
	} else {
		status = cmd_choose_session("status", dir, wanted, &session);
		status = status ? status : show(session.name);
	}
	if (dir >= 0)
		close(dir);
	return status;
}

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		if (c == 'h')
			return fputs(help, stdout) < 0;
		return cmd_usage("status", "no such option");
	}
	if (argc - optind > 1)
		return cmd_usage("status", "more than one session");
	return run(argv[optind]);
}
