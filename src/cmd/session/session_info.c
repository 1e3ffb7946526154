/* SPDX-License-Identifier: MIT */
/* cmd/session/session_info.c - ask a collector, measure its files and list its programs. */
#include "cmd/session/session_info.h"

#include <assert.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "analysis/public.h"
#include "cmd/cmd.h"
#include "collect/session/public.h"
#include "collect/trigger/public.h"

#define WINDOW_NS 1000000000
/* FILES_MAX: a tenant may fill its part of the recording with files. */
enum { EVENTS_MAX = 1000000, DIRECTORIES = 16, FILES_MAX = 65536 };

uint64_t session_info_number(const struct cmd_answer *a, const char *key)
{
	uint64_t n = 0;

	json_line_number(&a->line, key, &n);
	return n;
}

const char *session_info_text(const struct cmd_answer *a, const char *key, char *value, size_t size)
{
	return json_line_text(&a->line, key, value, size) ? value : "?";
}

/* ---------------------------------------------------------------- the collector */

/* @channel: its number, or -1 to ask about the session. */
static int ask(const char *session, int channel, struct cmd_answer *answer)
{
	const struct cmd_asking how = { .passed = -1, .timeout_s = CMD_TIMEOUT_S, .may_end = true };
	struct text t = { 0 };
	int status;

	json_line_add_text(&t, "verb", "status");
	if (channel >= 0)
		json_line_add_number(&t, "channel", (uint64_t)channel);
	status = cmd_ask("status", session, &t, &how, answer);
	return status ? status : cmd_refused("status", session, answer);
}

/* Ask for the triggers one by one, in the order of their numbers. */
static int read_triggers(struct session_info *l, const char *name)
{
	const struct cmd_asking how = { .passed = -1, .timeout_s = CMD_TIMEOUT_S, .may_end = true };
	uint64_t after = 0;
	int status = 0;

	l->triggers =
		cmd_grow(NULL, TRIGGERS_MAX,
			 sizeof *l->triggers); /* allocated once: an answer points into itself */
	while (l->n_triggers < TRIGGERS_MAX) {
		struct text t = { 0 };

		json_line_add_text(&t, "verb", "trigger");
		json_line_add_number(&t, "after", after);
		status = cmd_ask("status", name, &t, &how, &l->triggers[l->n_triggers]);
		if (!status)
			status = cmd_refused("status", name, &l->triggers[l->n_triggers]);
		if (status || !json_line_number(&l->triggers[l->n_triggers].line, "number", &after))
			break;
		l->n_triggers++;
	}
	assert(l->n_triggers <= TRIGGERS_MAX);
	return status;
}

static void note_room(struct session_info *l, int i)
{
	const struct cmd_answer *c = &l->channels[i];

	assert(i >= 0 && i < ABI_CHANNELS);
	l->rooms[i] = (struct session_info_channel){
		session_info_number(c, "memory_bytes"), session_info_number(c, "limit_bytes"),
		session_info_number(c, "used_bytes"),	session_info_number(c, "waited"),
		session_info_number(c, "lost"),		session_info_number(c, "clock_worst_ns")
	};
	l->lost += l->rooms[i].lost;
}

/* The session's lost events are those of its channels and those of programs that never joined. */
static int read_status(struct session_info *l, const char *name)
{
	int status = ask(name, -1, &l->session);
	uint64_t n = session_info_number(&l->session, "channels");

	l->lost = session_info_number(&l->session, "lost_outside");
	for (; (uint64_t)l->n_channels < n && l->n_channels < ABI_CHANNELS && !status;
	     l->n_channels++) {
		status = ask(name, l->n_channels, &l->channels[l->n_channels]);
		if (!status)
			note_room(l, l->n_channels);
	}
	return status ? status : read_triggers(l, name);
}

/* ---------------------------------------------------------------- the disk */

static uint64_t counted; /* nftw passes no argument to its callback */
static int n_counted, count_most;

static int count_file(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)path;
	(void)where;
	if (kind == FTW_F || kind == FTW_D)
		counted += (uint64_t)st->st_blocks * 512;
	return ++n_counted > count_most;
}

static void measure_disk(struct session_info *l)
{
	struct statvfs v;

	counted = 0;
	n_counted = 0;
	count_most = tenant_session_label(l->name) ? FILES_MAX : INT_MAX;
	if (nftw(l->path, count_file, DIRECTORIES, FTW_PHYS) || statvfs(l->path, &v))
		return;
	l->has_disk = true;
	l->disk_used = counted;
	l->disk_free = (uint64_t)v.f_bavail * v.f_frsize;
}

/* ---------------------------------------------------------------- programs */

struct program_scan {
	struct session_info *info;
	const struct recent *recent;
	const struct abi_session *session;
	uint32_t namespace; /* our mount namespace */
};

/* @n in the period of @r, as a rate per second. */
static uint64_t per_second(const struct recent *r, uint64_t n)
{
	int64_t ns = r->end_ns - r->begin_ns;

	return ns > 0 ? (uint64_t)((double)n * 1e9 / (double)ns + 0.5) : 0;
}

static void add_program(struct program_scan *g, const struct program *a)
{
	struct session_info *l = g->info;
	const struct recent_program *rate = recent_find(g->recent, a->page.pid);
	struct selector_program c;
	uint64_t lost = a->page.session_slots[g->session->session_slot].lost,
		 most = session_info_number(&l->session, "lost_most");
	/* The page is the program's own: a number that cannot be true is the collector's business. */
	struct session_info_program p = { .pid = program_pid(a), .lost = lost <= most ? lost : 0 };

	selector_program_read(&c, a, SELECTOR_LETTER('c'));
	snprintf(p.name, sizeof p.name, "%.63s", a->page.program);
	if (c.selector.mount_namespace && c.selector.mount_namespace != g->namespace)
		snprintf(p.container, sizeof p.container, "%.64s/%u", c.host,
			 c.selector.mount_namespace);
	if (rate) {
		p.events_per_s = per_second(g->recent, rate->events);
		p.bytes_per_s = per_second(g->recent, rate->bytes);
	}
	l->programs = cmd_grow(l->programs, l->n_programs, sizeof *l->programs);
	l->programs[l->n_programs++] = p;
}

static int visit(void *arg, struct program *a)
{
	struct program_scan *g = arg;

	if (program_is_of(a, g->session))
		add_program(g, a);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct session_info_program *p = a, *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

/* A flight recorder's events are in memory; only a snapshot would show them. */
static bool is_flight_recorder(const struct session_info *l)
{
	char mode[32];

	for (int i = 0; i < l->n_channels; i++)
		if (strcmp(session_info_text(&l->channels[i], "mode", mode, sizeof mode),
			   "overwrite") != 0)
			return false;
	return true;
}

static void read_programs(struct session_info *l, int dir, const struct tenant_dirs *places)
{
	struct recent r;
	struct abi_session session;
	struct program_scan g = { .info = l, .recent = &r, .session = &session };
	struct stat st;

	l->has_rates =
		!recent_scan(&r, l->path, WINDOW_NS, EVENTS_MAX, NULL) && !is_flight_recorder(l);
	l->events_per_s = per_second(&r, r.events);
	l->bytes_per_s = per_second(&r, r.bytes);
	l->kernel_events_per_s = per_second(&r, r.kernel_events);
	l->kernel_bytes_per_s = per_second(&r, r.kernel_bytes);
	g.namespace = stat("/proc/self/ns/mnt", &st) ? 0 : (uint32_t)st.st_ino;
	if (!session_find(dir, l->name, &session, NULL) && session.session_slot < ABI_SESSIONS) {
		if (tenant_session_label(l->name))
			dir = tenant_dir_of(places, session.epoch);
		if (dir >= 0)
			programs_each(dir, 0, visit, &g);
		if (dir >= 0 && session.has_calls)
			status_calls_read(&l->calls, dir, session.epoch,
					  session_info_number(&l->session, "lost_most"));
	}
	if (l->n_programs)
		qsort(l->programs, (size_t)l->n_programs, sizeof *l->programs, compare);
	recent_fini(&r);
}

int session_info_ask(struct session_info *l, const char *name)
{
	int status;

	memset(l, 0, sizeof *l);
	snprintf(l->name, sizeof l->name, "%s", name);
	status = read_status(l, name);
	if (!status)
		session_info_text(&l->session, "path", l->path, sizeof l->path);
	return status;
}

void session_info_look(struct session_info *l, int dir, const struct tenant_dirs *places)
{
	measure_disk(l);
	read_programs(l, dir, places);
}

void session_info_fini(struct session_info *l)
{
	free(l->programs);
	free(l->triggers);
	status_calls_fini(&l->calls);
	l->programs = NULL;
	l->triggers = NULL;
}

/* ---------------------------------------------------------------- for machines */

/* Add all members of the answer but "ok". */
static void add_answer(struct text *t, const struct cmd_answer *a)
{
	static const char well[] = "{\"ok\":true,";
	const char *end = strrchr(a->text, '}');

	if (!strncmp(a->text, well, sizeof well - 1) && end)
		text_add(t, a->text + sizeof well - 1, (size_t)(end - a->text) - (sizeof well - 1));
}

static void add_rates(struct text *t, const struct session_info *l)
{
	if (l->has_disk) {
		json_line_add_number(t, "disk_used", l->disk_used);
		json_line_add_number(t, "disk_free", l->disk_free);
	}
	if (!l->has_rates)
		return;
	json_line_add_number(t, "events_per_s", l->events_per_s);
	json_line_add_number(t, "bytes_per_s", l->bytes_per_s);
	json_line_add_number(t, "kernel_events_per_s", l->kernel_events_per_s);
	json_line_add_number(t, "kernel_bytes_per_s", l->kernel_bytes_per_s);
}

static void add_json_program(struct text *t, const struct session_info *l,
			     const struct session_info_program *p)
{
	text_addf(t, "{\"pid\":%d", (int)p->pid);
	json_line_add_text(t, "name", p->name);
	if (*p->container)
		json_line_add_text(t, "container", p->container);
	json_line_add_number(t, "lost_outside", p->lost);
	if (l->has_rates) {
		json_line_add_number(t, "events_per_s", p->events_per_s);
		json_line_add_number(t, "bytes_per_s", p->bytes_per_s);
	}
	text_addf(t, "}");
}

void session_info_json(struct text *t, const struct session_info *l)
{
	add_answer(t, &l->session);
	json_line_add_number(t, "lost", l->lost);
	add_rates(t, l);
	text_addf(t, ",\"channel\":[");
	for (int i = 0; i < l->n_channels; i++) {
		text_addf(t, "%s{", i ? "," : "");
		add_answer(t, &l->channels[i]);
		text_addf(t, "}");
	}
	text_addf(t, "],\"trigger\":[");
	for (int i = 0; i < l->n_triggers; i++) {
		text_addf(t, "%s{", i ? "," : "");
		add_answer(t, &l->triggers[i]);
		text_addf(t, "}");
	}
	text_addf(t, "],\"program\":[");
	for (int i = 0; i < l->n_programs; i++) {
		text_addf(t, "%s", i ? "," : "");
		add_json_program(t, l, &l->programs[i]);
	}
	text_addf(t, "],\"graph\":[");
	status_calls_json(t, &l->calls);
	text_addf(t, "]");
}
