/* SPDX-License-Identifier: MIT */
/* cmd/session/status.c - duet status: the sessions that record, their counters and programs. */
#include <assert.h>
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
#include "cmd/options.h"
#include "cmd/print/print.h"
#include "cmd/session/status_print.h"
#include "collect/session/public.h"
#include "collect/tenant/public.h"

static const char help[] =
	"usage: duet status [NAME] [OPTIONS]\n"
	"\n"
	"Shows for each session of this user, or for NAME, since when and where to it records, the "
	"bytes written,\n"
	"the events lost, and the disk space; then for each of its channels:\n"
	"\n"
	"  MODE      when its buffer is full: discard, overwrite, block (and how long);\n"
	"            see duet record --channel\n"
	"  MEMORY    it has now;  LIMIT: the most it may have;  USED: the part in use\n"
	"  WAITED    events that had to wait for space;  LOST: events that found none\n"
	"  CONTEXTS  that each of its events has\n"
	"\n"
	"and for each trigger: its state (waits; acts; held back by its limit; over), how often "
	"and when last it\n"
	"FIRED, and its last error;\n"
	"\n"
	"and for each program that runs: EVENTS/S and BYTES/S in the newest second that is in the "
	"files (not for\n"
	"a flight recorder), LOST: events that did not reach the buffers.  For a session of "
	"several users\n"
	"(duet start) the sums, and a line for each PART: \"default@1000\", which is a NAME as "
	"well.\n"
	"\n"
	"  -s, --session NAME    the same as NAME\n"
	"      --json            for programs\n"
	"  -w, --watch TIME      repeat after 500ms, 2s, 1m, until Ctrl-C; 2 is 2s\n"
	"\n"
	"The exit status is 1 if nothing records.\n";

struct arguments {
	const char *name; /* NULL: all */
	bool is_json;
	uint64_t watch_ns; /* 0: once */
};

/* ---------------------------------------------------------------- for programs */

static void print_json(struct text *t, const struct session_status *w)
{
	text_addf(t, "{");
	session_info_json(t, w->at[0]);
	if (w->n + w->silent.n > 1) {
		text_addf(t,
			  ",\"whole\":{\"programs\":%" PRIu64 ",\"app_bytes\":%" PRIu64
			  ",\"lost\":%" PRIu64 "},\"part\":[",
			  session_status_sum(w, "programs"), session_status_sum(w, "app_bytes"),
			  session_status_lost(w));
		for (int i = 1; i < w->n; i++) {
			text_addf(t, "%s{", i > 1 ? "," : "");
			session_info_json(t, w->at[i]);
			text_addf(t, "}");
		}
		text_addf(t, "],\"silent\":[");
		for (int i = 0; i < w->silent.n; i++)
			text_addf(t, "%s\"%s\"", i ? "," : "", w->silent.at[i]);
		text_addf(t, "]");
	}
	text_addf(t, "}");
}

/* ---------------------------------------------------------------- sessions */

struct status_part {
	const char *name;
	struct session_info *info; /* NULL: it did not answer, or ended */
	int status;		   /* of session_info_ask */
};

/* All sessions and parts are asked at once, so that none delays another. */
struct status_reader {
	int dir;
	struct cmd_strings names; /* of the parts, in order */
	struct status_part *parts;
	struct tenant_dirs places;
};

static struct status_part *part_of(const struct status_reader *g, const char *name)
{
	int i = 0;

	while (strcmp(g->parts[i].name, name) != 0)
		i++;
	assert(i < g->names.n);
	return &g->parts[i];
}

static int read_part(void *arg, const char *name)
{
	struct status_reader *g = arg;
	struct status_part *p = part_of(g, name);

	p->info = cmd_grow(NULL, 0, sizeof *p->info);
	p->status = session_info_ask(p->info, name);
	if (p->status) {
		session_info_fini(p->info);
		free(p->info);
		p->info = NULL;
	}
	return 0;
}

static void read_all(struct status_reader *g)
{
	bool any_part = false;

	for (int i = 0; i < g->names.n; i++) {
		g->parts = cmd_grow(g->parts, i, sizeof *g->parts);
		g->parts[i] = (struct status_part){ .name = g->names.at[i] };
		any_part |= tenant_session_label(g->names.at[i]) != NULL;
	}
	if (any_part)
		tenant_dirs_find(&g->places);
	cmd_at_once(g->names.at, g->names.n, read_part, g);
	for (int i = 0; i < g->names.n; i++)
		if (g->parts[i].info)
			session_info_look(g->parts[i].info, g->dir, &g->places);
}

static void reader_fini(struct status_reader *g)
{
	for (int i = 0; i < g->names.n; i++) {
		if (g->parts[i].info)
			session_info_fini(g->parts[i].info);
		free(g->parts[i].info);
	}
	free(g->parts);
	tenant_dirs_close(&g->places);
}

/* Whether @part is a tenant's part of session @name. */
static bool is_part_of(const char *part, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(part, name, n) && part[n] == '@';
}

/* Whether it is a tenant's part of a session that is listed too. */
static bool is_shown_with(const char *name, const struct cmd_strings *names)
{
	for (int i = 0; i < names->n; i++)
		if (is_part_of(name, names->at[i]))
			return true;
	return false;
}

/*
 * Session @name with its parts.  Returns the worst status of these.  One that ended meanwhile is
 * skipped, as if it had ended before.
 */
static int gather(const struct status_reader *g, const char *name, struct session_status *w)
{
	int status = 0;

	*w = (struct session_status){ .n = 0 };
	for (int i = 0; i < g->names.n; i++) {
		const struct status_part *p = &g->parts[i];

		if (strcmp(p->name, name) != 0 && !is_part_of(p->name, name))
			continue;
		if (p->info && w->n < TENANT_SESSIONS_MAX)
			w->at[w->n++] = p->info;
		else if (p->status == CMD_FAILED && w->n) /* else that is the only output */
			cmd_add_string(&w->silent, p->name);
		if (p->status == CMD_FAILED)
			status = CMD_FAILED;
	}
	return status;
}

static int show(const struct arguments *a, const struct status_reader *g, const char *name,
		struct text *json, int *n_shown)
{
	static struct session_status w;
	int status = gather(g, name, &w);

	if (w.n && a->is_json) {
		text_addf(json, "%s", *n_shown ? "," : "");
		print_json(json, &w);
	} else if (w.n) {
		session_status_print(&w);
	}
	*n_shown += w.n > 0;
	free(w.silent.at);
	return status;
}

/* The sessions to show, each with its parts. */
static void list_wanted(const struct arguments *a, int dir, struct cmd_strings *names)
{
	struct cmd_strings all = { 0 };

	if (dir >= 0)
		cmd_list_sessions(dir, &all);
	for (int i = 0; i < all.n; i++)
		if (!a->name || !strcmp(all.at[i], a->name) || is_part_of(all.at[i], a->name))
			cmd_add_string(names, all.at[i]);
	free(all.at);
}

static int show_all(const struct arguments *a, int dir)
{
	struct status_reader g = { .dir = dir };
	struct text json = { 0 };
	int status = 0, one, n_shown = 0;

	list_wanted(a, dir, &g.names);
	read_all(&g);
	text_addf(&json, "{\"sessions\":[");
	for (int i = 0; i < g.names.n; i++) {
		if (is_shown_with(g.names.at[i], &g.names))
			continue;
		one = show(a, &g, g.names.at[i], &json, &n_shown);
		status = one > status ? one : status;
	}
	text_addf(&json, "]}\n");
	reader_fini(&g);
	if (a->is_json && json.failed)
		status = cmd_error("status", "no memory");
	else if (a->is_json)
		print_data(json.bytes, json.size);
	text_fini(&json);
	if (n_shown || status)
		return status;
	if (a->name)
		return cmd_error("status", "%s: no such session is recording", a->name);
	if (!a->is_json)
		print_out("nothing records: `duet start` and `duet record` do\n");
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

/* On a terminal each output replaces the one before; else an empty line separates them. */
static int watch(const struct arguments *a)
{
	int status;
	const struct timespec pause = { (time_t)(a->watch_ns / 1000000000),
					(long)(a->watch_ns % 1000000000) };
	bool is_terminal = isatty(STDOUT_FILENO) && !a->is_json;

	for (bool first = true;; first = false) {
		if (is_terminal)
			print_out("\033[H\033[J");
		else if (!first && !a->is_json)
			print_out("\n");
		status = run(a);
		if (print_flush())
			return CMD_FAILED;
		if (status == CMD_FAILED && a->name && first)
			return status;
		nanosleep(&pause, NULL);
	}
}

static int refuse_time(const char *text)
{
	return cmd_error("status", "-w %s: the time between two looks, 100ms to 24h", text);
}

/* A bare number is of seconds. */
static int take_time(struct arguments *a, const char *text)
{
	char *end;

	double seconds = strtod(text, &end);

	if (end != text && !*end && seconds >= 0.1 && seconds <= 86400)
		a->watch_ns = (uint64_t)(seconds * 1e9);
	else if (end != text && !*end)
		return refuse_time(text);
	else if (!cmd_parse_time("status", text, &a->watch_ns))
		return CMD_FAILED;
	return a->watch_ns >= 100000000 && a->watch_ns <= 86400000000000 ? 0 : refuse_time(text);
}

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "watch", required_argument, NULL, 'w' },
						 { "session", required_argument, NULL, 's' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct arguments a = { .is_json = false };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":w:s:h", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return options_refuse("status", c, options, argv);
		if (c == 'h')
			return print_own(help);
		if (c == 'j')
			a.is_json = true;
		else if (c == 's')
			a.name = optarg;
		else if (take_time(&a, optarg))
			return CMD_FAILED;
	}
	if (argc - optind > !a.name)
		return cmd_usage("status", "more than one session");
	if (optind < argc)
		a.name = argv[optind];
	return a.watch_ns ? watch(&a) : run(&a);
}
