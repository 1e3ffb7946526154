/* SPDX-License-Identifier: MIT */
/* script/replay/points_user.c - points in programs: markers, functions, begins and ends. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "script/replay/search.h"

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* process, process("shop"), process(17): whose events are meant. */
static struct replay_point of_process(const struct script_component *c)
{
	struct replay_point p = { AT_EVENT };

	if (c->kind == COMPONENT_TEXT)
		p.program = basename_of(c->text);
	if (c->kind == COMPONENT_NUMBER)
		p.pid = c->number;
	return p;
}

static const char *process_text(struct search *s, const struct script_component *c)
{
	struct script_arena *a = s->r->world.arena;

	return c->kind == COMPONENT_TEXT ? replay_format(a, "process(\"%s\")", c->text)
	       : c->kind == COMPONENT_NUMBER
		       ? replay_format(a, "process(%lld)", (long long)c->number)
		       : "process";
}

/* Markers: duet's events, and USDT markers that the kernel recorded as usdt_PROVIDER_NAME. */
static int marker_points(struct search *s, const struct script_component *process,
			 const char *provider, const char *mark, struct diag *d)
{
	struct script_arena *a = s->r->world.arena;
	struct replay_point like = of_process(process);
	char wanted[128], command[160];

	like.at = AT_MARKER;
	for (struct replay_event *e = s->r->events; e; e = e->next) {
		const char *channel = e->channel, *name = e->subject;

		if (e->kind == REPLAY_MARKER) {
			const char *part = strchr(e->subject, '_');

			/* The provider's name may have underscores: the pattern decides. */
			while (provider && part && !has_wildcard(provider) &&
			       strlen(provider) > (size_t)(part - e->subject))
				part = strchr(part + 1, '_');
			if (!part)
				continue;
			channel = replay_format(a, "%.*s", (int)(part - e->subject), e->subject);
			name = part + 1;
			if (!channel)
				return -ENOMEM;
		} else if (e->is_kernel || e->kind == REPLAY_DUMP) {
			continue;
		}
		if (!is_like(provider ? provider : "*", channel) || !search_matches(s, mark, name))
			continue;
		like.event = e->name;
		like.known = e;
		search_report(s, like, name,
			      provider ? replay_format(a, "%s.provider(\"%s\").mark(\"%s\")",
						       process_text(s, process), channel, name)
				       : replay_format(a, "%s.mark(\"%s\")",
						       process_text(s, process), name));
	}
	snprintf(wanted, sizeof wanted, "%s%s%s", provider ? provider : "", provider ? ":" : "",
		 mark);
	snprintf(command, sizeof command, "duet record -e '%s%s%s' or --usdt",
		 provider ? provider : "", provider ? ":" : "", mark);
	return search_finish(s, d, "event or marker", wanted, command);
}

/* With --graph-args calls of a function are events calls:f and calls:f_return. */
static void report_call_events(struct search *s, struct replay_point like, const char *function,
			       const char *process, bool is_return)
{
	struct script_arena *a = s->r->world.arena;
	const char *name = replay_format(a, "calls:%s%s", function, is_return ? "_return" : "");

	like.known = name ? replay_find(s->r, name) : NULL;
	if (!like.known || like.known->is_kernel)
		return;
	like.event = name;
	search_report(s, like, function,
		      replay_format(a, "%s.function(\"%s\")%s", process, function,
				    is_return ? ".return" : ".call"));
}

static int user_function_points(struct search *s, const struct script_component *process,
				const char *object, const char *function, bool is_return,
				struct diag *d)
{
	enum replay_kind kind = is_return ? REPLAY_USER_RETURNED : REPLAY_USER_CALLED;
	struct script_arena *a = s->r->world.arena;
	struct replay_point like = of_process(process);
	const char *program = like.program ? like.program : "FILE";
	char command[200];

	like.object = object ? object : like.program;
	/* A probe in a library runs in any program. */
	if (like.program && strstr(like.program, ".so"))
		like.program = NULL;
	like.at = is_return ? AT_USER_RETURNED : AT_USER_CALLED;
	function = replay_format(a, "%.*s", (int)strcspn(function, "@"), function);
	for (struct replay_event *e = s->r->events; e && function; e = e->next) {
		if (!e->is_kernel || e->kind != kind || !search_matches(s, function, e->subject))
			continue;
		like.event = e->subject;
		like.known = e;
		search_report(s, like, e->subject,
			      replay_format(a, "%s.function(\"%s\")%s", process_text(s, process),
					    e->subject, is_return ? ".return" : ".call"));
	}
	if (function && !has_wildcard(function))
		report_call_events(s, like, function, process_text(s, process), is_return);
	if (!s->n && function && replay_has_calls(s->r)) {
		like.event = function;
		like.known = NULL;
		if (!object)
			like.program = NULL; /* its file says it */
		search_report(s, like, NULL,
			      replay_format(a, "%s.function(\"%s\")%s", process_text(s, process),
					    function, is_return ? ".return" : ".call"));
	}
	snprintf(command, sizeof command, "duet record -u '%s:%s%s' or --graph '%s:%s'", program,
		 function ? function : "", is_return ? "%return" : "", program,
		 function ? function : "");
	return search_finish(s, d, "calls of function", function ? function : "", command);
}

static const struct {
	const char *first, *second;
	enum replay_at at;
	const char *event;
} lives[] = {
	{ "begin", NULL, AT_PROCESS_BEGIN, "sched_process_exec" },
	{ "end", NULL, AT_PROCESS_END, "sched_process_exit" },
	{ "thread", "begin", AT_THREAD_BEGIN, "sched_process_fork" },
	{ "thread", "end", AT_THREAD_END, "sched_process_exit" },
};

/* process.begin and the like.  Returns 1: it was none. */
static int life_points(struct search *s, const struct script_point *p, struct diag *d)
{
	struct replay_point like = of_process(&p->at[0]);

	for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
		if (p->n != (lives[i].second ? 3u : 2u) || !is_plain(&p->at[1], lives[i].first) ||
		    (lives[i].second && !is_plain(&p->at[2], lives[i].second)))
			continue;
		if (!replay_find(s->r, "sched_process_exit") &&
		    !replay_find(s->r, "sched_process_fork") &&
		    !replay_find(s->r, "sched_process_exec") && !s->r->o.follows)
			return replay_lacks(d, "begins and ends of processes",
					    "duet record -k sched");
		like.at = lives[i].at;
		like.event = lives[i].event;
		search_report(s, like, NULL,
			      replay_format(s->r->world.arena, "%s.%s%s%s",
					    process_text(s, &p->at[0]), lives[i].first,
					    lives[i].second ? "." : "",
					    lives[i].second ? lives[i].second : ""));
		return search_finish(s, d, "", "", "");
	}
	return 1;
}

int search_process(struct search *s, const struct script_point *p, struct diag *d)
{
	const struct script_component *c = &p->at[1], *last = &p->at[p->n - 1];
	bool is_return = p->n > 2 && is_plain(last, "return");
	uint32_t n = p->n - (is_return || (p->n > 2 && is_plain(last, "call")));
	const char *object = NULL;
	int err = life_points(s, p, d);

	if (err <= 0)
		return err;
	if (n > 2 && is_with_text(c, "library")) {
		object = basename_of(c->text);
		c++;
		n--;
	}
	if (n == 2 && is_with_text(c, "mark"))
		return marker_points(s, &p->at[0], NULL, c->text, d);
	if (n == 3 && is_with_text(c, "provider") && is_with_text(c + 1, "mark"))
		return marker_points(s, &p->at[0], c->text, c[1].text, d);
	if (n == 2 && is_with_text(c, "function"))
		return user_function_points(s, &p->at[0], object, c->text, is_return, d);
	return diag_fail(
		d, -ENOTSUP,
		"of a process, recordings have .mark(\"M\"), .provider(\"P\").mark(\"M\"), "
		".function(\"F\"), .begin, .end, .thread.begin and .thread.end");
}
