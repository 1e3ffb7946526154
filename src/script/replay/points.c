/* SPDX-License-Identifier: MIT */
/*
 * script/replay/points.c - which events of recordings a probe point means.
 *
 * A pattern is matched with every event class; each name that matches is a point, in the order of
 * the recording's metadata.  A system call that the recording could have, but never saw, is a point
 * too: it has no events.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel/tracefs/public.h"
#include "script/replay/search.h"

bool search_matches(struct search *s, const char *pattern, const char *name)
{
	if (is_like(pattern, name))
		return true;
	if (!has_wildcard(pattern)) {
		s->nearest.wanted = pattern;
		s->nearest.wanted_size = strlen(pattern);
		script_nearest_try(&s->nearest, name);
	}
	return false;
}

void search_report(struct search *s, struct replay_point like, const char *name, const char *text)
{
	struct script_arena *a = s->r->world.arena;
	struct replay_point *p = script_allocate(a, sizeof *p);
	struct script_world_point w = { .family = FAMILY_WORLD, .text = text, .data = p };

	if (!p || !text || replay_note_point(s->r, p)) {
		s->err = -ENOMEM;
		return;
	}
	*p = like;
	w.name = name;
	w.is_return = like.at == AT_EXIT || like.at == AT_RETURNED || like.at == AT_USER_RETURNED;
	w.is_user = like.at == AT_USER_CALLED || like.at == AT_USER_RETURNED ||
		    like.at == AT_MARKER || (like.known && !like.known->is_kernel);
	w.module = like.program;
	s->n++;
	s->found->add(s->found, &w);
}

int search_finish(struct search *s, struct diag *d, const char *what, const char *wanted,
		  const char *command)
{
	char text[160];

	if (s->err)
		return diag_fail(d, s->err, "no memory for probe points");
	if (s->n)
		return 0;
	if (s->r->live)
		return diag_fail(d, -ENOENT,
				 "no program that runs, or is named by -c or -x, has the %s %s%s",
				 what, wanted, script_nearest_text(&s->nearest, text));
	return diag_fail(d, -ENOENT, "the recording has no %s %s%s\n  %s records it", what, wanted,
			 script_nearest_text(&s->nearest, text), command);
}

/* ---------------------------------------------------------------- kernel events */

static int trace_points(struct search *s, const struct script_component *c, struct diag *d)
{
	const char *colon = strchr(c->text, ':'), *event = colon ? colon + 1 : c->text;
	const char *system =
		colon ? replay_format(s->r->world.arena, "%.*s", (int)(colon - c->text), c->text)
		      : "*";
	char command[160], has_system[96], kernel_name[96];
	int err = system ? replay_kernel_events(s->r, system, event, d) : -ENOMEM;

	if (err)
		return err;
	for (struct replay_event *e = s->r->events; e && system; e = e->next) {
		if (!e->is_kernel || (e->kind != REPLAY_OTHER && e->kind != REPLAY_FUNCTION))
			continue;
		replay_tracepoint(e->name, has_system, kernel_name);
		if (!search_matches(s, event, e->name) && !is_like(event, kernel_name))
			continue;
		if (*has_system ? !is_like(system, has_system)
				: has_wildcard(system) && strcmp(system, "*") != 0)
			continue;
		search_report(s, (struct replay_point){ AT_EVENT, .event = e->name, .known = e },
			      replay_format(s->r->world.arena, "%s", kernel_name),
			      replay_format(s->r->world.arena, "kernel.trace(\"%s%s%s\")",
					    *has_system		   ? has_system
					    : has_wildcard(system) ? ""
								   : system,
					    *has_system || !has_wildcard(system) ? ":" : "",
					    kernel_name));
	}
	snprintf(command, sizeof command, "duet record -k '%s'", c->text);
	return search_finish(s, d, "kernel event", c->text, command);
}

/* kernel.function("f"): by probes, and by the function tracers, whose events name it in a field. */
static int function_points(struct search *s, const char *function, bool is_return, struct diag *d)
{
	enum replay_kind kind = is_return ? REPLAY_RETURNED : REPLAY_CALLED;
	enum replay_kind graph = is_return ? REPLAY_GRAPH_EXIT : REPLAY_GRAPH_ENTRY;
	enum replay_at at = is_return ? AT_RETURNED : AT_CALLED;
	struct script_arena *a = s->r->world.arena;
	struct replay_event *traced = NULL;
	char command[160];

	function = replay_format(a, "%.*s", (int)strcspn(function, "@"), function);
	for (struct replay_event *e = s->r->events; e && function; e = e->next) {
		if (e->is_kernel && e->kind == kind && search_matches(s, function, e->subject))
			search_report(s,
				      (struct replay_point){ at, .event = e->subject, .known = e },
				      e->subject,
				      replay_format(a, "kernel.function(\"%s\")%s", e->subject,
						    is_return ? ".return" : ".call"));
		if (e->kind == graph || (e->kind == REPLAY_FUNCTION && !is_return))
			traced = e;
	}
	if (traced && function && !s->n)
		search_report(s, (struct replay_point){ at, .event = function, .known = traced },
			      NULL,
			      replay_format(a, "kernel.function(\"%s\")%s", function,
					    is_return ? ".return" : ".call"));
	snprintf(command, sizeof command, "duet record --kprobe '%s%s'", function,
		 is_return ? "%return" : "");
	return search_finish(s, d, "calls of kernel function", function ? function : "", command);
}

static int kernel_points(struct search *s, const struct script_point *p, struct diag *d)
{
	const struct script_component *c = &p->at[1];
	bool is_return = p->n == 3 && is_plain(&p->at[2], "return");

	if (p->n == 2 && c->kind == COMPONENT_TEXT &&
	    (!strcmp(c->name, "trace") || !strcmp(c->name, "tracepoint")))
		return trace_points(s, c, d);
	if (p->n >= 2 && p->n <= 3 && c->kind == COMPONENT_TEXT && !strcmp(c->name, "function") &&
	    (p->n == 2 || is_return || is_plain(&p->at[2], "call") ||
	     is_plain(&p->at[2], "exported")))
		return function_points(s, c->text, is_return, d);
	return diag_fail(d, -ENOTSUP,
			 "of the kernel, recordings have trace(\"EVENT\") and function(\"NAME\"), "
			 ".call and .return");
}

/* ---------------------------------------------------------------- system calls */

static int any_call_point(struct search *s, const char *family, bool is_return, struct diag *d)
{
	if (!s->r->has_syscalls && !s->r->o.follows)
		return replay_lacks(d, "system calls", "duet record -k syscalls");
	search_report(s, (struct replay_point){ is_return ? AT_EXIT : AT_ENTRY }, NULL,
		      replay_format(s->r->world.arena, "%s%s", family, is_return ? ".return" : ""));
	return search_finish(s, d, "", "", "");
}

static void report_call(struct search *s, const char *family, const char *call, bool is_return,
			const struct replay_event *known)
{
	search_report(s,
		      (struct replay_point){ is_return ? AT_EXIT : AT_ENTRY, .event = call,
					     .known = known },
		      call,
		      replay_format(s->r->world.arena, "%s.%s%s", family, call,
				    is_return ? ".return" : ""));
}

static bool is_call(const char *name)
{
	for (int i = 0; i < KERNEL_SYSCALLS_MAX; i++) {
		const char *call = kernel_syscall_name(i);

		if (call && !strcmp(call, name))
			return true;
	}
	return false;
}

/* The events of system calls that a live session could record; a return has the entry's arguments. */
static int call_events(struct replay *r, const char *which, const char *call, struct diag *d)
{
	return replay_kernel_events(r, "syscalls",
				    replay_format(r->world.arena, "syscall_%s_%s", which, call), d);
}

static int call_points(struct search *s, const struct script_point *p, struct diag *d)
{
	const struct script_component *c = &p->at[1];
	bool is_return = p->n == 3 && is_plain(&p->at[2], "return");
	const struct replay_event *first;
	int err;

	if (p->n < 2 || p->n > 3 || c->kind != COMPONENT_PLAIN || (p->n == 3 && !is_return))
		return diag_fail(d, -ENOTSUP, "a system call is %s.NAME or %s.NAME.return",
				 p->at[0].name, p->at[0].name);
	if (!s->r->has_syscalls && !s->r->o.follows)
		return replay_lacks(d, "system calls", "duet record -k syscalls");
	err = call_events(s->r, "entry", c->name, d);
	if (!err && is_return)
		err = call_events(s->r, "exit", c->name, d);
	if (err)
		return err;
	for (struct replay_event *e = s->r->events; e; e = e->next) {
		if (e->kind != (is_return ? REPLAY_EXIT : REPLAY_ENTRY) ||
		    !search_matches(s, c->name, e->subject))
			continue;
		/* Calls without a number: no other world has them. */
		if (!strcmp(e->subject, "unknown") && has_wildcard(c->name))
			continue;
		for (first = s->r->events;
		     strcmp(first->subject, e->subject) != 0 || first->kind != e->kind;)
			first = first->next;
		if (first == e) /* not once more for the compatible one */
			report_call(s, p->at[0].name, e->subject, is_return, e);
	}
	if (!s->n && !has_wildcard(c->name) && is_call(c->name))
		report_call(s, p->at[0].name, c->name, is_return, NULL);
	for (int i = 0; !s->n && !has_wildcard(c->name) && i < KERNEL_SYSCALLS_MAX; i++)
		if (kernel_syscall_name(i))
			search_matches(s, c->name, kernel_syscall_name(i));
	return search_finish(s, d, "system call", c->name, "duet record -k syscalls");
}

/* ---------------------------------------------------------------- events by name */

static int app_points(struct search *s, const struct script_point *p, struct diag *d)
{
	char wanted[160], command[200];

	if (p->n != 3 || p->at[1].kind == COMPONENT_NUMBER || p->at[2].kind == COMPONENT_NUMBER)
		return diag_fail(d, -ENOTSUP, "an event of an application is app.CHANNEL.NAME");
	snprintf(wanted, sizeof wanted, "%s:%s", p->at[1].name, p->at[2].name);
	for (struct replay_event *e = s->r->events; e; e = e->next) {
		if (e->is_kernel || e->kind == REPLAY_DUMP || !search_matches(s, wanted, e->name))
			continue;
		search_report(
			s, (struct replay_point){ AT_EVENT, .event = e->name, .known = e },
			e->subject,
			replay_format(s->r->world.arena, "app.%s.%s", e->channel, e->subject));
	}
	snprintf(command, sizeof command, "duet record -e '%s'", wanted);
	return search_finish(s, d, "event", wanted, command);
}

static int event_points(struct search *s, const struct script_point *p, struct diag *d)
{
	const char *wanted = p->at[0].text;

	if (p->n != 1 || p->at[0].kind != COMPONENT_TEXT)
		return diag_fail(d, -ENOTSUP, "an event by name is event(\"NAME\")");
	for (struct replay_event *e = s->r->events; e; e = e->next)
		if (search_matches(s, wanted, e->name))
			search_report(
				s, (struct replay_point){ AT_EVENT, .event = e->name, .known = e },
				e->subject,
				replay_format(s->r->world.arena, "event(\"%s\")", e->name));
	return search_finish(s, d, "event", wanted, "duet record -e or -k");
}

static int sample_points(struct search *s, const struct script_point *p, struct diag *d)
{
	struct replay_event *e = replay_find(s->r, "profile");
	struct replay_point like = { AT_SAMPLE, .event = "profile", .known = e };
	const struct script_component *last = &p->at[p->n - 1];
	const char *text = "timer.profile";

	if (p->n < 2 || !is_plain(&p->at[1], "profile"))
		return diag_fail(d, -ENOTSUP, "recordings have timer.profile");
	like.hz = last->kind == COMPONENT_NUMBER ? last->number : REPLAY_SAMPLES_HZ;
	if (p->n > 4 || (p->n > 2 && last->kind != COMPONENT_NUMBER) || like.hz < 1 ||
	    like.hz > REPLAY_SAMPLES_HZ_MAX)
		return diag_fail(d, -ENOENT, "timer.profile.freq.hz(N) has N from 1 to %d",
				 REPLAY_SAMPLES_HZ_MAX);
	if (p->n > 2)
		text = replay_format(s->r->world.arena, "timer.profile.freq.hz(%lld)",
				     (long long)like.hz);
	if (!e && !s->r->o.follows)
		return replay_lacks(d, "samples", "duet record -k profile");
	search_report(s, like, NULL, text);
	return search_finish(s, d, "", "", "");
}

int replay_points(struct script_world *w, const struct script_point *p, struct script_found *f,
		  struct diag *d)
{
	struct search s = { (struct replay *)w, f };
	const char *family = p->at[0].name;
	int err = world_engine_point(w->arena, p, f, d);

	if (err)
		return err < 0 ? err : 0;
	if (!strcmp(family, "kernel"))
		return kernel_points(&s, p, d);
	if (!strcmp(family, "kprobe") && p->n >= 2 && is_with_text(&p->at[1], "function"))
		return function_points(&s, p->at[1].text, p->n == 3, d);
	if (!strcmp(family, "syscall") || !strcmp(family, "nd_syscall"))
		return call_points(&s, p, d);
	if (!strcmp(family, "syscall_any") || !strcmp(family, "nd_syscall_any"))
		return any_call_point(&s, family, p->n == 2, d);
	if (!strcmp(family, "process"))
		return search_process(&s, p, d);
	if (!strcmp(family, "app"))
		return app_points(&s, p, d);
	if (!strcmp(family, "event"))
		return event_points(&s, p, d);
	if (!strcmp(family, "timer"))
		return sample_points(&s, p, d);
	return -ENOTSUP;
}

static enum replay_at entry_of(enum replay_at at)
{
	return at == AT_EXIT ? AT_ENTRY : at == AT_RETURNED ? AT_CALLED : AT_USER_CALLED;
}

int replay_entry(struct script_world *w, const struct script_world_point *p,
		 struct script_world_point *entry, struct diag *d)
{
	struct replay *r = (struct replay *)w;
	const struct replay_point *at = p->data;
	struct replay_point *to = script_allocate(w->arena, sizeof *to);
	size_t n = strlen(p->text);

	if (!p->is_return || n < 7)
		return diag_fail(d, -ENOENT, "%s has no entry", p->text);
	if (!to || replay_note_point(r, to))
		return diag_fail(d, -ENOMEM, "no memory for probe points");
	*to = *at;
	to->at = entry_of(at->at);
	if (at->known && !at->known->is_kernel) /* calls:f_return */
		to->event = replay_format(w->arena, "%.*s", (int)strlen(at->event) - 7, at->event);
	if (at->event && !to->event)
		return diag_fail(d, -ENOMEM, "no memory for probe points");
	to->known = NULL;
	for (struct replay_event *e = r->events; e && !to->known; e = e->next)
		if (replay_point_is_at(to, e))
			to->known = e;
	*entry = *p;
	entry->data = to;
	entry->is_return = false;
	entry->text = replay_format(w->arena, "%.*s", (int)n - 7, p->text);
	if (!to->known && to->at != AT_ENTRY && !r->o.follows &&
	    !(to->at == AT_USER_CALLED && !at->known))
		return diag_fail(d, -ENOENT, "the recording has no %s: @entry() needs it",
				 entry->text);
	return entry->text ? 0 : diag_fail(d, -ENOMEM, "no memory for probe points");
}

/* ---------------------------------------------------------------- at an event */

static bool is_function_like(const struct replay_point *p, const struct replay_event *e,
			     enum replay_kind kind)
{
	return e->kind == kind && !strcmp(e->subject, p->event);
}

bool replay_point_is_at(const struct replay_point *p, const struct replay_event *e)
{
	switch (p->at) {
	case AT_EVENT:
	case AT_MARKER:
	case AT_SAMPLE:
	case AT_PROCESS_BEGIN:
	case AT_PROCESS_END:
	case AT_THREAD_BEGIN:
	case AT_THREAD_END:
		return !strcmp(e->name, p->event);
	case AT_ENTRY:
		return e->kind == REPLAY_ENTRY && (!p->event || !strcmp(e->subject, p->event));
	case AT_EXIT:
		return e->kind == REPLAY_EXIT && (!p->event || !strcmp(e->subject, p->event));
	case AT_CALLED:
		return e->kind == REPLAY_GRAPH_ENTRY || e->kind == REPLAY_FUNCTION ||
		       is_function_like(p, e, REPLAY_CALLED);
	case AT_RETURNED:
		return e->kind == REPLAY_GRAPH_EXIT || is_function_like(p, e, REPLAY_RETURNED);
	case AT_USER_CALLED:
		return is_function_like(p, e, REPLAY_USER_CALLED) ||
		       (!e->is_kernel && !strcmp(e->name, p->event));
	case AT_USER_RETURNED:
		return is_function_like(p, e, REPLAY_USER_RETURNED) ||
		       (!e->is_kernel && !strcmp(e->name, p->event));
	}
	return false;
}
