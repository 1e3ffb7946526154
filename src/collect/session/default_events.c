/* SPDX-License-Identifier: MIT */
/*
 * collect/session/default_events.c - turn the recording's options into rules, and enable them in
 * running programs.
 */
#include "collect/session/default_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/session/programs.h"
#include "collect/session/selectors.h"

enum { PIDS_IN_RULES = 32 };

/* Of libduet itself: batches of recorded calls. */
#define CALLS_EVENTS "duet_calls:batch"
#define ARGUMENTS_EVENTS "calls:*"

int default_events_open(struct default_events *w, const struct recorder_options *o,
			struct session *s, struct filters *f, struct diag *d)
{
	bool all = !o->n_events && !o->no_default_events;
	size_t room = (size_t)o->n_events + (size_t)o->calls.n_marks + 3;

	*w = (struct default_events){ .options = o, .session = s, .filters = f, .all = all };
	w->events = calloc(room, sizeof *w->events);
	w->filter_of = calloc(room, sizeof *w->filter_of);
	w->selector_of = calloc(room, sizeof *w->selector_of);
	if (!w->events || !w->filter_of || !w->selector_of)
		return diag_fail(d, -ENOMEM, "no memory");
	for (; w->n_events < o->n_events; w->n_events++)
		w->events[w->n_events] = o->events[w->n_events];
	if (all)
		w->events[w->n_events++].pattern = "*";
	else if (o->calls.n_patterns)
		w->events[w->n_events++].pattern = CALLS_EVENTS;
	if (!all && o->calls.n_patterns && o->calls.has_arguments)
		w->events[w->n_events++].pattern = ARGUMENTS_EVENTS;
	for (int i = 0; i < o->calls.n_marks; i++)
		if (!all || o->calls.marks[i].filter)
			w->events[w->n_events++] = (struct recorder_event){
				.pattern = strchr(o->calls.marks[i].pattern, ':') + 1,
				.filter = o->calls.marks[i].filter,
			};
	return 0;
}

void default_events_close(struct default_events *w)
{
	for (int i = 0; i < w->n_events; i++)
		text_fini(&w->selector_of[i]);
	free(w->selector_of);
	free(w->events);
	free(w->filter_of);
}

static int add_channels(struct default_events *w, struct diag *d)
{
	const struct recorder_options *o = w->options;
	int err = 0;

	for (int i = 0; i < o->n_channels; i++)
		for (int k = 0; k < o->channels[i].n_patterns && !err; k++) {
			struct session_rule rule = { .pattern = o->channels[i].patterns[k],
						     .channel = (uint32_t)i };

			err = session_add_rule(&w->session->file, &rule, d);
		}
	return err;
}

/* Appends the conditions under which event @i is recorded. */
static int add_selector(struct default_events *w, int i, struct diag *d)
{
	const struct recorder_options *o = w->options;
	struct text *selector = &w->selector_of[i];
	int err = 0;

	text_addf(selector, "%s", o->selector ? o->selector : "");
	for (int k = 0; k < o->n_pids; k++)
		selector_add_pid(selector, o->pids[k]);
	if (w->events[i].level)
		err = selector_add(selector, SELECTOR_LEVEL, w->events[i].level, d);
	return !err && selector->failed ? diag_fail(d, -ENOMEM, "no memory") : err;
}

int default_events_rules(struct default_events *w, struct diag *d)
{
	int err = add_channels(w, d);

	for (int i = 0; i < w->n_events && !err; i++) {
		const char *text = w->events[i].filter;
		int number = text ? filters_add(w->filters, w->session, text, d) : 0;
		struct session_rule rule = { .pattern = w->events[i].pattern,
					     .channel = SESSION_ANY_CHANNEL,
					     .filter = (uint32_t)number };

		if (number < 0)
			return number;
		w->filter_of[i] = (uint32_t)number;
		err = add_selector(w, i, d);
		rule.selector = w->selector_of[i].bytes;
		/*
		 * More pids would not fit into the rules.  Without a rule, libraries that such a
		 * process loads later are not reached.
		 */
		if (!err && w->options->n_pids <= PIDS_IN_RULES)
			err = session_add_rule(&w->session->file, &rule, d);
	}
	return err;
}

/* The reason why nothing of one program would be recorded, or 0. */
static int explain_nothing_recorded(const struct enable_result *total, pid_t pid, bool has_kernel,
				    struct diag *d)
{
	if (total->strict)
		return diag_fail(d, -EPERM,
				 "process %d is in seccomp's strict mode: an event would kill it",
				 (int)pid);
	if (total->other_session)
		return diag_fail(
			d, -EBUSY,
			"process %d belongs to other sessions only: its DUET_SESSION says so",
			(int)pid);
	if (!total->events && !has_kernel)
		return diag_fail(d, -ENOENT,
				 "process %d has no duet events, and the kernel is not recorded",
				 (int)pid);
	return 0;
}

int default_events_enable(const struct default_events *w, pid_t pid, bool has_kernel,
			  struct diag *d)
{
	/* Another user's process, or that of a container, is its tenant collector's. */
	bool is_here = pid && !w->options->all_users && !w->options->containers;
	struct enable_result total = { 0 };

	for (int i = 0; i < w->n_events; i++) { /* in order: the last match decides */
		const char *p = w->events[i].pattern;
		bool excludes = *p == '!';
		struct enable_result s =
			programs_switch(w->session->dir, pid, w->selector_of[i].bytes, p + excludes,
					!excludes, &w->session->file, w->filter_of[i]);

		total.events += s.events;
		total.other_session += s.other_session;
		total.strict += s.strict;
		if (is_here && !s.events && !s.other_session && !s.strict && !w->all &&
		    strcmp(p, CALLS_EVENTS) != 0 && strcmp(p, ARGUMENTS_EVENTS) != 0)
			return diag_fail(d, -ENOENT,
					 "%s: process %d has no such event (duet list -p %d shows "
					 "its events)",
					 p, (int)pid, (int)pid);
	}
	return is_here ? explain_nothing_recorded(&total, pid, has_kernel, d) : 0;
}
