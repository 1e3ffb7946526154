/* SPDX-License-Identifier: MIT */
/*
 * collect/session/enable.c - enable and disable events in the control pages of running programs:
 * see programs.h.
 *
 * In a page only the session's own slot is written.  The event's routing is written before it is
 * enabled, so a program never records with an old routing.
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
#include "ctf/write/public.h"

enum { EVENT_NAME_BYTES = 512 };

/* A schema begins with the log level. */
static uint32_t level_of(const struct program_event *e)
{
	return (uint32_t)strtoul(e->schema, NULL, 10);
}

static bool name_of(const struct program_event *e, char name[EVENT_NAME_BYTES])
{
	return schema_name(e->schema, strlen(e->schema), name, EVENT_NAME_BYTES);
}

static bool conditions_hold(const char *conditions, const struct program_event *e,
			    const struct selector *selector)
{
	return selector_holds(&conditions, conditions + strlen(conditions), selector, level_of(e));
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

/*
 * Whether a thread of the process is in SECCOMP_MODE_STRICT, where even reading the clock kills: an
 * enabled event would kill it.
 */
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

/* Writes the routing first, then enables the event. */
static void enable_event(const struct program *a, uint32_t index, uint16_t routing,
			 const struct abi_session *f)
{
	off_t at = (off_t)abi_control_event_offset(index) +
		   (off_t)(offsetof(struct abi_control_event, routing) +
			   f->session_slot * sizeof routing);

	if (pwrite(a->fd, &routing, sizeof routing, at) == (ssize_t)sizeof routing)
		program_set_enabled(a, index, f->session_slot, ABI_GENERATION(f->epoch));
}

/* With an epoch of 0: in all sessions. */
static void disable_event(const struct program *a, const struct program_event *e,
			  const struct abi_session *f)
{
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		if (ABI_ENABLED(e->enabled, i) && (!f->epoch || i == f->session_slot))
			program_set_enabled(a, e->index, i, 0);
}

/* Losses counted in the slot before belong to its previous session. */
static bool take_session_slot(struct program *a, const struct abi_session *f)
{
	struct abi_control_slot ours = { .epoch = f->epoch };
	off_t at = (off_t)(offsetof(struct abi_control, session_slots) +
			   f->session_slot * sizeof ours);

	if (program_is_of(a, f))
		return true;
	a->page.session_slots[f->session_slot] = ours;
	return pwrite(a->fd, &ours, sizeof ours, at) == (ssize_t)sizeof ours;
}

/* Whether events of a program may be enabled for a session. */
enum permission { NOT_ALLOWED, OTHER_SESSION, STRICT_SECCOMP, ALLOWED };

/* @by_pid: the request names the process; it then need not belong to a private session. */
static enum permission get_permission(const struct abi_session *f, bool by_pid, struct program *a)
{
	/* A private session is not expected to record other programs: no error. */
	if (!member_of(a->page.sessions, f->name, f->is_private && !by_pid))
		return f->is_private && !by_pid ? NOT_ALLOWED : OTHER_SESSION;
	if (!a->page.is_prepared && has_strict_thread(program_pid(a)))
		return STRICT_SECCOMP;
	return take_session_slot(a, f) ? ALLOWED : NOT_ALLOWED;
}

struct switching {
	const struct abi_session *session;
	struct enable_request *requests;
	uint32_t n;
	uint32_t letters; /* of conditions in requests and rules */
	bool by_pid;
};

struct program_switch {
	const struct switching *s;
	struct program *target;
	struct selector_program program;
	uint32_t matched; /* a bit for each request that matched an event */
	bool is_judged;
	enum permission permission; /* valid if is_judged */
};

/* Counts that request @i matched an event.  False if the event may not be enabled. */
static bool count_match(struct program_switch *p, uint32_t i)
{
	struct enable_request *w = &p->s->requests[i];
	bool is_first = !(p->matched & 1u << i);

	p->matched |= 1u << i;
	if (w->enable && !p->is_judged) {
		p->permission = get_permission(p->s->session, p->s->by_pid, p->target);
		p->is_judged = true;
	}
	if (w->enable && p->permission != ALLOWED) {
		w->done.other_session += is_first && p->permission == OTHER_SESSION;
		w->done.strict += is_first && p->permission == STRICT_SECCOMP;
		return false;
	}
	w->done.programs += is_first;
	w->done.events++;
	return true;
}

/* The last matching request overrides those before it.  NULL: none matches. */
static const struct enable_request *last_request(struct program_switch *p,
						 const struct program_event *e, const char *name)
{
	const struct enable_request *last = NULL;

	for (uint32_t i = 0; i < p->s->n; i++) {
		const struct enable_request *w = &p->s->requests[i];

		if (rules_pattern_matches(w->pattern, w->pattern + strlen(w->pattern), name) &&
		    conditions_hold(w->selector, e, &p->program.selector) && count_match(p, i))
			last = w;
	}
	return last;
}

static void switch_event(const struct program_switch *p, const struct program_event *e,
			 const char *name, const struct enable_request *w)
{
	const struct abi_session *f = p->s->session;
	uint16_t routing =
		rules_judge(f->rules, f->rules_size, name, level_of(e), &p->program.selector)
			.routing;

	if (w->enable)
		enable_event(p->target, e->index,
			     ABI_ROUTING(ABI_ROUTING_CHANNEL(routing), w->filter) |
				     (routing & ABI_ROUTING_TRIGGER),
			     f);
	else if (routing & ABI_ROUTING_TRIGGER) /* a trigger waits for it */
		enable_event(p->target, e->index, routing | ABI_ROUTING_TRIGGER_ONLY, f);
	else
		disable_event(p->target, e, f);
}

static int switch_program(void *arg, struct program *a)
{
	const struct switching *s = arg;
	struct program_switch p = { .s = s, .target = a };
	char name[EVENT_NAME_BYTES];
	const struct enable_request *w;
	struct program_event e;

	selector_program_read(&p.program, a, s->letters);
	for (uint32_t i = 0; program_event(a, i, &e); i++)
		if (name_of(&e, name) && (w = last_request(&p, &e, name)))
			switch_event(&p, &e, name, w);
	return 0;
}

struct rule_update {
	const struct abi_session *session;
	bool all;
	bool by_pid;
	uint32_t letters; /* of conditions in the rules */
};

/*
 * Follows the rules fully, or only as far as triggers are concerned.  Returns whether the event
 * must be enabled.
 */
static bool decide_event(const struct rule_update *w, const struct program_event *e, bool is_on,
			 struct rules_verdict v, uint16_t *routing)
{
	uint16_t was = e->routing[w->session->session_slot];

	*routing = v.routing;
	if (w->all ||
	    (v.routing & ABI_ROUTING_TRIGGER && (!is_on || was & ABI_ROUTING_TRIGGER_ONLY)))
		return v.wanted;
	*routing = (uint16_t)((was & ~ABI_ROUTING_TRIGGER) | (v.routing & ABI_ROUTING_TRIGGER));
	return is_on && (v.routing & ABI_ROUTING_TRIGGER || !(was & ABI_ROUTING_TRIGGER_ONLY));
}

static int update_program(void *arg, struct program *a)
{
	const struct rule_update *w = arg;
	const struct abi_session *f = w->session;
	char name[EVENT_NAME_BYTES];
	struct selector_program program;
	struct program_event e;
	bool ours = false;
	uint16_t routing;

	selector_program_read(&program, a, w->letters);
	for (uint32_t i = 0; program_event(a, i, &e); i++) {
		bool is_on = program_event_is_of(a, &e, f);

		if (!name_of(&e, name))
			continue;
		if (!decide_event(w, &e, is_on,
				  rules_judge(f->rules, f->rules_size, name, level_of(&e),
					      &program.selector),
				  &routing)) {
			if (is_on)
				disable_event(a, &e, f);
			continue;
		}
		if (is_on && e.routing[f->session_slot] == routing)
			continue;
		if (!ours && get_permission(f, w->by_pid, a) != ALLOWED)
			return 0;
		ours = true;
		enable_event(a, i, routing, f);
	}
	return 0;
}

void programs_follow(int dir, pid_t pid, const struct abi_session *session, bool all)
{
	struct rule_update w = { .session = session,
				 .all = all,
				 .by_pid = pid != 0,
				 .letters = selector_letters(session->rules, session->rules_size) };

	programs_each(dir, pid, update_program, &w);
}

void programs_switch_all(int dir, pid_t pid, struct enable_request *requests, uint32_t n,
			 const struct abi_session *session)
{
	struct switching s = { .session = session,
			       .requests = requests,
			       .n = n < PROGRAMS_REQUESTS ? n : PROGRAMS_REQUESTS,
			       .letters = selector_letters(session->rules, session->rules_size),
			       .by_pid = pid != 0 };

	for (uint32_t i = 0; i < s.n; i++)
		s.letters |= selector_letters(requests[i].selector,
					      (uint32_t)strlen(requests[i].selector));
	programs_each(dir, pid, switch_program, &s);
}

struct enable_result programs_switch(int dir, pid_t pid, const char *selector, const char *pattern,
				     bool enable, const struct abi_session *session,
				     uint32_t filter)
{
	struct enable_request w = {
		.selector = selector, .pattern = pattern, .filter = filter, .enable = enable
	};

	programs_switch_all(dir, pid, &w, 1, session);
	return w.done;
}
