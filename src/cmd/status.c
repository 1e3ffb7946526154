/* SPDX-License-Identifier: MIT */
/* cmd/status.c - duet status: what the sessions have done and hold, and which programs are in them. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cmd/cmd.h"
#include "cmd/look.h"
#include "collect/apps.h"
#include "collect/tenants.h"

static const char help[] =
	"usage: duet status [NAME] [OPTIONS]\n\n"
	"Says of each session of this user, or of NAME, since when and where to it records, what was written\n"
	"and lost, and the disk's state; then of each of its channels:\n\n"
	"  MODE      what happens when its buffer is full: discard, overwrite, block (and how long);\n"
	"            see duet record --channel\n"
	"  MEMORY    it has now;  LIMIT: it may have at most;  USED: of what it has now\n"
	"  WAITED    events that had to wait for room;  LOST: events that found none\n"
	"  CONTEXTS  that each of its events carries\n\n"
	"and of each trigger: its state (waits; acts; held back by its limit; over), how often and when last it\n"
	"FIRED, and what went wrong last;\n\n"
	"and of each program that runs: EVENTS/S and BYTES/S in the newest second that is in the files (none of\n"
	"a flight recorder's are), LOST: events that found no way to the buffers.\n\n"
	"      --json            for programs\n"
	"  -w, --watch SECONDS   again and again, until Ctrl-C\n\n"
	"The exit status is 1 if nothing records.\n";

struct arguments {
	const char *name; /* NULL: all */
	bool is_json;
	double watch_s; /* 0: once */
};

/* ---------------------------------------------------------------- for people */

static void print_lost(uint64_t lost)
{
	if (lost)
		printf(", %" PRIu64 " LOST\n", lost);
	else
		printf(", none lost\n");
}

static void print_rates(bool has_rates, uint64_t events, uint64_t bytes)
{
	char size[32];

	if (has_rates)
		printf(", now %" PRIu64 " events/s, %s/s", events, cmd_size_text(bytes, size));
}

/* "since 14:05:09", with the day if that is not today. */
static const char *since(uint64_t duration_ns, char text[40])
{
	time_t now = time(NULL), begin = now - (time_t)(duration_ns / 1000000000);
	struct tm today, then;

	localtime_r(&now, &today);
	localtime_r(&begin, &then);
	strftime(text, 40, then.tm_yday == today.tm_yday && then.tm_year == today.tm_year ? "%H:%M:%S"
											  : "%Y-%m-%d %H:%M:%S",
		 &then);
	return text;
}

static void print_kernel(const struct look *l)
{
	uint64_t n = look_number(&l->session, "kernel_events");
	char size[32];

	if (!control_is_true(&l->session.line, "kernel"))
		return;
	printf("  kernel        %" PRIu64 " event%s, %s written", n, n == 1 ? "" : "s",
	       cmd_size_text(look_number(&l->session, "kernel_bytes"), size));
	print_rates(l->has_rates, l->kernel_events_per_s, l->kernel_bytes_per_s);
	print_lost(look_number(&l->session, "kernel_lost"));
}

static void print_pieces(const struct look *l)
{
	uint64_t removed = look_number(&l->session, "pieces_removed"), waiting = look_number(&l->session, "pieces_waiting");
	uint64_t held = look_number(&l->session, "pieces_held"), from = look_number(&l->session, "packed_from_bytes");
	char trouble[300], a[32], b[32];

	if (!look_number(&l->session, "piece"))
		return;
	printf("  pieces        writes number %" PRIu64 ", %" PRIu64 " removed", look_number(&l->session, "piece"), removed);
	if (from)
		printf(", %s compressed to %s", cmd_size_text(from, a),
		       cmd_size_text(look_number(&l->session, "packed_bytes"), b));
	if (waiting)
		printf(", %" PRIu64 " to be compressed", waiting);
	if (held)
		printf(", %" PRIu64 " kept beyond the limit until sent", held);
	putchar('\n');
	if (control_text(&l->session.line, "pieces_trouble", trouble, sizeof trouble))
		printf("                %s\n", trouble);
}

static void print_session(const struct look *l)
{
	const struct cmd_answer *s = &l->session;
	char name[ABI_NAME_BYTES], trouble[1024], size[32], size2[32], begin[40];
	uint64_t programs = look_number(s, "programs"), lives = look_number(s, "lives");

	printf("%s: %.1f s, since %s, into %s (process %" PRIu64 ")\n", look_text(s, "session", name, sizeof name),
	       (double)look_number(s, "duration_ns") / 1e9, since(look_number(s, "duration_ns"), begin), l->path,
	       look_number(s, "pid"));
	printf("  applications  %" PRIu64 " program%s, %s written", programs, programs == 1 ? "" : "s",
	       cmd_size_text(look_number(s, "app_bytes"), size));
	print_rates(l->has_rates, l->events_per_s, l->bytes_per_s);
	print_lost(l->lost);
	print_kernel(l);
	if (l->has_disk)
		printf("  disk          %s used, %s free\n", cmd_size_text(l->disk_used, size),
		       cmd_size_text(l->disk_free, size2));
	print_pieces(l);
	if (lives > 1)
		printf("  collectors    %" PRIu64 "; all but the last were killed\n", lives);
	if (control_text(&s->line, "trouble", trouble, sizeof trouble))
		printf("  trouble       %s\n", trouble);
}

static void print_mode(const struct cmd_answer *c)
{
	char mode[32], shown[64];
	uint64_t wait_us = look_number(c, "wait_ns") / 1000;

	look_text(c, "mode", mode, sizeof mode);
	if (wait_us % 1000)
		snprintf(shown, sizeof shown, "%s %" PRIu64 "us", mode, wait_us);
	else if (wait_us)
		snprintf(shown, sizeof shown, "%s %" PRIu64 "ms", mode, wait_us / 1000);
	else
		snprintf(shown, sizeof shown, "%s", mode);
	printf("  %-14s", shown);
}

static void print_channel(const struct cmd_answer *c)
{
	char name[ABI_CHANNEL_NAME_BYTES], contexts[512], memory[32], limit[32];
	uint64_t has = look_number(c, "memory_bytes");

	printf("  %-16s", look_text(c, "name", name, sizeof name));
	print_mode(c);
	printf("  %9s  %9s  %3" PRIu64 "%%  %8" PRIu64 "  %8" PRIu64 "  %s\n", cmd_size_text(has, memory),
	       cmd_size_text(look_number(c, "limit_bytes"), limit),
	       has ? look_number(c, "used_bytes") * 100 / has : 0, look_number(c, "waited"),
	       look_number(c, "lost"), look_text(c, "contexts", contexts, sizeof contexts));
}

static void print_trigger(const struct cmd_answer *a)
{
	char text[4096], state[32], error[512], last[40] = "-";
	uint64_t ns = look_number(a, "last_ns");
	time_t then = (time_t)(ns / 1000000000);
	struct tm tm;

	if (ns && localtime_r(&then, &tm))
		strftime(last, sizeof last, "%F %T", &tm);
	printf("  %7" PRIu64 "  %-9s  %8" PRIu64 "  %-19s  %s\n", look_number(a, "number"),
	       look_text(a, "state", state, sizeof state), look_number(a, "fired"), last,
	       look_text(a, "text", text, sizeof text));
	if (control_text(&a->line, "error", error, sizeof error))
		printf("           ERROR: %s\n", error);
}

static void print_program(const struct look *l, const struct look_program *p)
{
	char size[32];

	printf("  %-16s  %7d", p->name, (int)p->pid);
	if (l->has_rates)
		printf("  %10" PRIu64 "  %9s", p->events_per_s, cmd_size_text(p->bytes_per_s, size));
	else
		printf("  %10s  %9s", "-", "-");
	printf("  %8" PRIu64 "  %s\n", p->lost, p->container);
}

static void print(const struct look *l)
{
	print_session(l);
	printf("  %-16s  %-14s  %9s  %9s  %4s  %8s  %8s  %s\n", "CHANNEL", "MODE", "MEMORY", "LIMIT",
	       "USED", "WAITED", "LOST", "CONTEXTS");
	for (int i = 0; i < l->n_channels; i++)
		print_channel(&l->channels[i]);
	if (l->n_triggers)
		printf("  %7s  %-9s  %8s  %-19s  %s\n", "TRIGGER", "STATE", "FIRED", "LAST", "TEXT");
	for (int i = 0; i < l->n_triggers; i++)
		print_trigger(&l->triggers[i]);
	if (l->n_programs)
		printf("  %-16s  %7s  %10s  %9s  %8s  %s\n", "PROGRAM", "PID", "EVENTS/S", "BYTES/S", "LOST",
		       "CONTAINER");
	for (int i = 0; i < l->n_programs; i++)
		print_program(l, &l->programs[i]);
}

/* ---------------------------------------------------------------- sessions */

/* One that ends while it is asked is as if it had ended before. */
static int show(const struct arguments *a, int dir, const char *name, struct text *json, int *n_shown)
{
	struct look *l = malloc(sizeof *l);
	int status = l ? look_at(l, dir, name) : cmd_error("status", "no memory");

	if (!status && a->is_json) {
		text_addf(json, "%s{", *n_shown ? "," : "");
		look_json(json, l);
		text_addf(json, "}");
	} else if (!status) {
		print(l);
	}
	*n_shown += !status;
	if (l)
		look_fini(l);
	free(l);
	return status == CMD_ENDED ? 0 : status;
}

static int show_all(const struct arguments *a, int dir)
{
	struct cmd_strings names = { 0 };
	struct text json = { 0 };
	int status = 0, one, n_shown = 0;

	if (dir >= 0)
		cmd_list_sessions(dir, &names);
	text_addf(&json, "{\"sessions\":[");
	for (int i = 0; i < names.n; i++) {
		if (a->name && strcmp(a->name, names.at[i]) != 0)
			continue;
		one = show(a, dir, names.at[i], &json, &n_shown);
		status = one > status ? one : status;
	}
	text_addf(&json, "]}");
	if (a->is_json && json.failed)
		status = cmd_error("status", "no memory");
	else if (a->is_json)
		printf("%s\n", json.bytes);
	text_fini(&json);
	if (n_shown || status)
		return status;
	if (a->name)
		return cmd_error("status", "%s: no such session is recording", a->name);
	if (!a->is_json)
		printf("nothing records: `duet start` and `duet record` do\n");
	return 1;
}

static int run(const struct arguments *a)
{
	int dir = runtime_dir_open(false), status;

	if (dir < 0 && dir != -ENOENT)
		return cmd_error("status", "cannot use the runtime directory: %s", strerror(-dir));
	if (dir >= 0)
		tenants_sweep(dir);
	status = show_all(a, dir);
	if (dir >= 0)
		close(dir);
	return status;
}

/* On a terminal each look takes the place of the one before; else there is an empty line between. */
static int watch(const struct arguments *a)
{
	const struct timespec pause = { (time_t)a->watch_s, (long)((a->watch_s - (double)(time_t)a->watch_s) * 1e9) };
	bool is_terminal = isatty(STDOUT_FILENO) && !a->is_json;

	for (bool first = true;; first = false) {
		if (is_terminal)
			printf("\033[H\033[J");
		else if (!first && !a->is_json)
			putchar('\n');
		run(a);
		if (fflush(stdout))
			return CMD_FAILED;
		nanosleep(&pause, NULL);
	}
}

static int take_seconds(struct arguments *a, const char *text)
{
	char *end;

	a->watch_s = strtod(text, &end);
	if (end != text && !*end && a->watch_s >= 0.1 && a->watch_s <= 86400)
		return 0;
	return cmd_error("status", "-w %s: seconds between two looks, 0.1 to 86400", text);
}

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "watch", required_argument, NULL, 'w' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct arguments a = { .is_json = false };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":w:h", options, NULL)) != -1) {
		if (c == 'h')
			return fputs(help, stdout) < 0;
		if (c == 'j')
			a.is_json = true;
		else if (c != 'w')
			return cmd_usage("status", c == ':' ? "an option lacks its value" : "no such option");
		else if (take_seconds(&a, optarg))
			return CMD_FAILED;
	}
	if (argc - optind > 1)
		return cmd_usage("status", "more than one session");
	a.name = argv[optind];
	return a.watch_s > 0 ? watch(&a) : run(&a);
}
