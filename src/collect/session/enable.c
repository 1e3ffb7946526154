/* SPDX-License-Identifier: MIT */
/*
 * collect/session/enable.c - events of running programs, switched on and off from outside: see programs.h.
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

#include "rules/membership.h"
#include "rules/rules.h"
#include "collect/session/programs.h"
#include "collect/session/selectors.h"
#include "ctf/write/schema.h"

enum { EVENT_NAME_BYTES = 512 };

/* A schema begins with its level. */
static uint32_t level_of(const struct app_event *e)
{
	return (uint32_t)strtoul(e->schema, NULL, 10);
}

static bool name_of(const struct app_event *e, char name[EVENT_NAME_BYTES])
{
	return schema_name(e->schema, strlen(e->schema), name, EVENT_NAME_BYTES);
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

/* Whether something of a program may be enabled for a session. */
enum may { MAY_NOT, MAY_LIMITED, MAY_STRICT, MAY };

/* @by_pid: asked for by number; then it need not belong to a private session. */
static enum may may_enable(const struct abi_session *f, bool by_pid, struct app *a)
{
	/* Of a private session nobody expects that it takes what others run. */
	if (!member_of(a->page.sessions, f->name, f->is_private && !by_pid))
		return f->is_private && !by_pid ? MAY_NOT : MAY_LIMITED;
	if (has_strict_thread(app_pid(a)))
		return MAY_STRICT;
	return take_seat(a, f) ? MAY : MAY_NOT;
}

struct switching {
	const struct abi_session *session;
	struct apps_wish *wishes;
	uint32_t n;
	uint32_t letters; /* that wishes and rules ask for */
	bool by_pid;
};

struct switching_app {
	const struct switching *s;
	struct app *app;
	struct choice_app program;
	uint32_t met; /* a bit for each wish that has met an event */
	bool is_judged;
	enum may may; /* if it is */
};

/* Counts that wish @i has met an event.  False if nothing comes of it. */
static bool meet(struct switching_app *p, uint32_t i)
{
	struct apps_wish *w = &p->s->wishes[i];
	bool is_first = !(p->met & 1u << i);

	p->met |= 1u << i;
	if (w->enable && !p->is_judged) {
		p->may = may_enable(p->s->session, p->s->by_pid, p->app);
		p->is_judged = true;
	}
	if (w->enable && p->may != MAY) {
		w->done.limited += is_first && p->may == MAY_LIMITED;
		w->done.strict += is_first && p->may == MAY_STRICT;
		return false;
	}
	w->done.programs += is_first;
	w->done.events++;
	return true;
}

/* The last wish for the event leaves nothing of those before it.  NULL: there is none. */
static const struct apps_wish *last_wish(struct switching_app *p, const struct app_event *e, const char *name)
{
	const struct apps_wish *last = NULL;

	for (uint32_t i = 0; i < p->s->n; i++) {
		const struct apps_wish *w = &p->s->wishes[i];

		if (rules_pattern_matches(w->pattern, w->pattern + strlen(w->pattern), name) &&
		    conditions_hold(w->who, e, &p->program.who) && meet(p, i))
			last = w;
	}
	return last;
}

static void switch_event(const struct switching_app *p, const struct app_event *e, const char *name,
			 const struct apps_wish *w)
{
	const struct abi_session *f = p->s->session;
	uint16_t how = rules_judge(f->rules, f->rules_size, name, level_of(e), &p->program.who).how;

	if (w->enable)
		enable_event(p->app, e->index, ABI_HOW(ABI_HOW_CHANNEL(how), w->filter) | (how & ABI_HOW_TRIGGER), f);
	else if (how & ABI_HOW_TRIGGER) /* a trigger waits for it */
		enable_event(p->app, e->index, how | ABI_HOW_TRIGGER_ALONE, f);
	else
		disable_event(p->app, e, f);
}

static int switch_app(void *arg, struct app *a)
{
	const struct switching *s = arg;
	struct switching_app p = { .s = s, .app = a };
	char name[EVENT_NAME_BYTES];
	const struct apps_wish *w;
	struct app_event e;

	choice_look_at(&p.program, a, s->letters);
	for (uint32_t i = 0; app_event(a, i, &e); i++)
		if (name_of(&e, name) && (w = last_wish(&p, &e, name)))
			switch_event(&p, &e, name, w);
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
	char name[EVENT_NAME_BYTES];
	struct choice_app program;
	struct app_event e;
	bool ours = false;
	uint16_t how;

	choice_look_at(&program, a, w->letters);
	for (uint32_t i = 0; app_event(a, i, &e); i++) {
		bool is_on = app_event_is_of(a, &e, f);

		if (!name_of(&e, name))
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
		if (!ours && may_enable(f, w->by_pid, a) != MAY)
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

void apps_switch_all(int dir, pid_t pid, struct apps_wish *wishes, uint32_t n, const struct abi_session *session)
{
	struct switching s = { .session = session,
			       .wishes = wishes,
			       .n = n < APPS_WISHES ? n : APPS_WISHES,
			       .letters = who_letters(session->rules, session->rules_size),
			       .by_pid = pid != 0 };

	for (uint32_t i = 0; i < s.n; i++)
		s.letters |= who_letters(wishes[i].who, (uint32_t)strlen(wishes[i].who));
	apps_each(dir, pid, switch_app, &s);
}

struct apps_switched apps_switch(int dir, pid_t pid, const char *who, const char *pattern, bool enable,
				 const struct abi_session *session, uint32_t filter)
{
	struct apps_wish w = { .who = who, .pattern = pattern, .filter = filter, .enable = enable };

	apps_switch_all(dir, pid, &w, 1, session);
	return w.done;
}
