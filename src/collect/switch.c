/* SPDX-License-Identifier: MIT */
/*
 * collect/switch.c - events of running programs, switched on and off from outside: see apps.h.
 *
 * Of a page only what belongs to the session's seat is written: what becomes of an event first, then that it
 * is on.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/member.h"
#include "base/rules.h"
#include "collect/apps.h"
#include "collect/choice.h"
#include "ctf/schema.h"

enum { EVENT_NAME_BYTES = 512 };

/* A schema begins with its level. */
static uint32_t level_of(const struct app_event *e)
{
	return (uint32_t)strtoul(e->schema, NULL, 10);
}

static bool event_matches(const struct app_event *e, const char *pattern, char name[EVENT_NAME_BYTES])
{
	return schema_name(e->schema, strlen(e->schema), name, EVENT_NAME_BYTES) &&
	       rules_pattern_matches(pattern, pattern + strlen(pattern), name);
}

static bool conditions_hold(const char *conditions, const struct app_event *e, const struct who *who)
{
	return who_holds(&conditions, conditions + strlen(conditions), who, level_of(e));
}

struct status { /* of a process or thread */
	int threads, seccomp;
};

static void read_number(const char *line, const char *key, int *value)
{
	size_t n = strlen(key);

	if (!strncmp(line, key, n))
		*value = atoi(line + n);
}

static struct status read_status(const char *path)
{
	struct status s = { 0, 0 };
	FILE *f = fopen(path, "re");
	char line[256];

	while (f && fgets(line, sizeof line, f)) {
		read_number(line, "Threads:", &s.threads);
		read_number(line, "Seccomp:", &s.seccomp);
	}
	if (f)
		fclose(f);
	return s;
}

/* Whether a thread of the process is in SECCOMP_MODE_STRICT and may not even read a clock: an enabled
 * event would kill it. */
static bool has_strict_thread(pid_t pid)
{
	struct status s;
	struct dirent *e;
	char path[320];
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	s = read_status(path);
	if (s.threads <= 1 || s.seccomp == 1)
		return s.seccomp == 1;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && s.seccomp != 1 && (e = readdir(tasks))) {
		snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, e->d_name);
		s = read_status(path);
	}
	if (tasks)
		closedir(tasks);
	return s.seccomp == 1;
}

/* What becomes of the event first, then that it is on. */
static void enable_event(const struct app *a, uint32_t index, uint16_t how, const struct abi_session *f)
{
	off_t at = (off_t)abi_control_event_offset(index) + (off_t)(offsetof(struct abi_control_event, how) + f->seat * sizeof how);

	if (pwrite(a->fd, &how, sizeof how, at) == (ssize_t)sizeof how)
		app_set_enabled(a, index, f->seat, ABI_GENERATION(f->epoch));
}

/* Of no session: of all. */
static void disable_event(const struct app *a, const struct app_event *e, const struct abi_session *f)
{
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		if (ABI_ENABLED(e->enabled, i) && (!f->epoch || i == f->seat))
			app_set_enabled(a, e->index, i, 0);
}

/* What was lost in the seat before was the one's that had it. */
static bool take_seat(struct app *a, const struct abi_session *f)
{
	struct abi_control_seat ours = { .epoch = f->epoch };
	off_t at = (off_t)(offsetof(struct abi_control, seats) + f->seat * sizeof ours);

	if (app_is_of(a, f))
		return true;
	a->page.seats[f->seat] = ours;
	return pwrite(a->fd, &ours, sizeof ours, at) == (ssize_t)sizeof ours;
}

struct switching {
	const char *who, *pattern;
	const struct abi_session *session;
	uint32_t filter;
	uint32_t letters; /* that pattern and rules ask for */
	bool enable;
	bool by_pid; /* asked for by number: then it need not belong to a private session */
	struct apps_switched done;
};

/* False, counted, if nothing of the program may be enabled for the session. */
static bool may_enable(struct switching *s, struct app *a)
{
	const struct abi_session *f = s->session;

	if (!member_of(a->page.sessions, f->name, f->is_private && !s->by_pid)) {
		/* Of a private session nobody expects that it takes what others run. */
		s->done.limited += !f->is_private || s->by_pid;
		return false;
	}
	if (has_strict_thread(app_pid(a))) {
		s->done.strict++;
		return false;
	}
	return take_seat(a, f);
}

static int switch_app(void *arg, struct app *a)
{
	struct switching *s = arg;
	const struct abi_session *f = s->session;
	char name[EVENT_NAME_BYTES];
	struct choice_app program;
	struct app_event e;
	uint32_t matched = 0;
	uint16_t how;

	choice_look_at(&program, a, s->letters);
	for (uint32_t i = 0; app_event(a, i, &e); i++) {
		if (!event_matches(&e, s->pattern, name) || !conditions_hold(s->who, &e, &program.who))
			continue;
		if (s->enable && !matched && !may_enable(s, a))
			return 0;
		matched++;
		how = rules_judge(f->rules, f->rules_size, name, level_of(&e), &program.who).how;
		if (s->enable)
			enable_event(a, i, ABI_HOW(ABI_HOW_CHANNEL(how), s->filter) | (how & ABI_HOW_TRIGGER), f);
		else if (how & ABI_HOW_TRIGGER) /* a trigger waits for it */
			enable_event(a, i, how | ABI_HOW_TRIGGER_ALONE, f);
		else
			disable_event(a, &e, f);
	}
	s->done.events += matched;
	s->done.programs += matched > 0;
	return 0;
}

struct following {
	const struct abi_session *session;
	bool all;
	bool by_pid;
	uint32_t letters; /* that its rules ask for */
};

/* As the rules say, or only as far as triggers are concerned.  Returns whether it is to be on. */
static bool follow_event(const struct following *w, const struct app_event *e, bool is_on,
			 struct rules_verdict v, uint16_t *how)
{
	uint16_t was = e->how[w->session->seat];

	*how = v.how;
	if (w->all || (v.how & ABI_HOW_TRIGGER && (!is_on || was & ABI_HOW_TRIGGER_ALONE)))
		return v.wanted;
	*how = (uint16_t)((was & ~ABI_HOW_TRIGGER) | (v.how & ABI_HOW_TRIGGER));
	return is_on && (v.how & ABI_HOW_TRIGGER || !(was & ABI_HOW_TRIGGER_ALONE));
}

static int follow_app(void *arg, struct app *a)
{
	const struct following *w = arg;
	const struct abi_session *f = w->session;
	struct switching s = { .session = f, .by_pid = w->by_pid };
	char name[EVENT_NAME_BYTES];
	struct choice_app program;
	struct app_event e;
	bool ours = false;
	uint16_t how;

	choice_look_at(&program, a, w->letters);
	for (uint32_t i = 0; app_event(a, i, &e); i++) {
		bool is_on = app_event_is_of(a, &e, f);

		if (!schema_name(e.schema, strlen(e.schema), name, sizeof name))
			continue;
		if (!follow_event(w, &e, is_on,
				  rules_judge(f->rules, f->rules_size, name, level_of(&e), &program.who),
				  &how)) {
			if (is_on)
				disable_event(a, &e, f);
			continue;
		}
		if (is_on && e.how[f->seat] == how)
			continue;
		if (!ours && !may_enable(&s, a))
			return 0;
		ours = true;
		enable_event(a, i, how, f);
	}
	return 0;
}

void apps_follow(int dir, pid_t pid, const struct abi_session *session, bool all)
{
	struct following w = { .session = session,
			       .all = all,
			       .by_pid = pid != 0,
			       .letters = who_letters(session->rules, session->rules_size) };

	apps_each(dir, pid, follow_app, &w);
}

struct apps_switched apps_switch(int dir, pid_t pid, const char *who, const char *pattern, bool enable,
				 const struct abi_session *session, uint32_t filter)
{
	struct switching s = { .who = who,
			       .pattern = pattern,
			       .session = session,
			       .filter = filter,
			       .letters = who_letters(who, (uint32_t)strlen(who)) |
					  who_letters(session->rules, session->rules_size),
			       .enable = enable,
			       .by_pid = pid != 0 };

	apps_each(dir, pid, switch_app, &s);
	return s.done;
}
