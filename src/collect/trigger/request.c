/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/request.c - add, remove and list triggers, and register watchers.
 *
 * A trigger is armed first and removed again if the session cannot support it.  The kernel and all
 * programs follow before the request is answered.
 */
#include "collect/trigger/request.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "collect/session/programs.h"
#include "collect/trigger/actions.h"
#include "collect/trigger/class.h"
#include "collect/trigger/kernel.h"
#include "collect/trigger/rules.h"

static bool is_flight_recorder(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_channels; i++)
		if (s->channels[i].flight_recorder)
			return true;
	return false;
}

/* Reports an action that this session cannot do when the trigger is added, not when it fires. */
static int check(const struct trigger_watch *w, const struct trigger *t, struct diag *d)
{
	if (trigger_does(t, TRIGGER_SNAPSHOT) && !is_flight_recorder(w->session))
		return diag_fail(
			d, -EINVAL,
			"trigger: a snapshot is of a flight recorder: of a recording begun "
			"with --overwrite");
	if (trigger_does(t, TRIGGER_ROTATE) && !w->o->trace_chunks.rotate)
		return diag_fail(
			d, -EINVAL,
			"trigger: this recording is not in pieces: begin it with --rotate");
	if (trigger_has_events(t) && !w->scan)
		return diag_fail(
			d, -E2BIG,
			"trigger: all channels of the session are in use: none is left for "
			"events of triggers");
	return 0;
}

/* The events of running programs that match a trigger. */
struct matching_events {
	const struct armed *armed;
	int n_fit;
	struct diag mismatch;
};

static int check_program(void *arg, struct program *a)
{
	struct matching_events *k = arg;
	struct program_event e;

	for (uint32_t i = 0; program_event(a, i, &e); i++)
		k->n_fit +=
			trigger_class_fits(k->armed, e.schema, strlen(e.schema), &k->mismatch) > 0;
	return 0;
}

/*
 * Refuses a trigger that fits none of the existing events.  One that fits some of them is accepted.
 */
static int check_fields(const struct trigger_watch *w, const struct armed *a, struct diag *d)
{
	struct matching_events k = { .armed = a };

	if (!trigger_has_events(&a->trigger) || (!a->trigger.by && !a->trigger.filter))
		return 0;
	programs_each(w->session->dir, 0, check_program, &k);
	return k.mismatch.text[0] && !k.n_fit
		       ? diag_fail(d, -EINVAL, "trigger: %s", k.mismatch.text)
		       : 0;
}

int trigger_add(struct trigger_watch *w, const char *text, uint32_t wanted, struct diag *d)
{
	uint32_t next = w->saved->next_number;
	int n = w->set.n, number = triggers_add(&w->set, text, wanted, d), err;
	const struct armed *armed;

	if (number < 0 || w->set.n == n)
		return number;
	armed = w->set.at[triggers_find(&w->set, (uint32_t)number)];
	err = check(w, &armed->trigger, d);
	if (!err)
		err = check_fields(w, armed, d);
	if (!err)
		err = trigger_kernel_follow(w, d);
	if (!err)
		err = trigger_rules_follow(w, false, d);
	if (err) {
		triggers_remove(&w->set, (uint32_t)number);
		trigger_kernel_follow(w, NULL);
		w->saved->next_number = next; /* undo the addition */
	}
	return err ? err : number;
}

static void send_answer(int fd, struct text *t)
{
	json_line_send(fd, t, -1); /* a client that does not read gets no answer */
	text_fini(t);
}

static void add(struct trigger_watch *w, const struct json_line *l, int fd)
{
	char text[TRIGGER_TEXT_BYTES];
	struct text t = { 0 };
	struct diag d = { "" };
	uint64_t wanted = 0;
	int number;

	if (!json_line_text(l, "add", text, sizeof text)) {
		json_line_refuse(fd, false, "\"add\" must be a text of at most 1023 bytes");
		return;
	}
	if (json_line_has(l, "number") &&
	    (!json_line_number(l, "number", &wanted) || !wanted || wanted > INT_MAX)) {
		json_line_refuse(fd, false, "\"number\" is not a trigger's number");
		return;
	}
	number = trigger_add(w, text, (uint32_t)wanted, &d);
	if (number < 0) {
		json_line_refuse(fd, false, d.text);
		return;
	}
	text_addf(&t, "{\"ok\":true");
	json_line_add_number(&t, "number", (uint64_t)number);
	send_answer(fd, &t);
}

static void remove_one(struct trigger_watch *w, const struct json_line *l, int fd)
{
	struct text t = { 0 };
	struct diag d = { "" };
	uint64_t number;

	if (!json_line_number(l, "remove", &number) || number > UINT32_MAX ||
	    triggers_remove(&w->set, (uint32_t)number)) {
		json_line_refuse(fd, false, "it has no trigger of that number");
		return;
	}
	if (trigger_kernel_follow(w, &d) || trigger_rules_follow(w, false, &d)) {
		json_line_refuse(fd, false, d.text);
		return;
	}
	text_addf(&t, "{\"ok\":true");
	send_answer(fd, &t);
}

/* The slot of the lowest number above @after, or -1. */
static int find_after(const struct triggers *t, uint64_t after)
{
	int found = -1;

	for (int i = 0; i < TRIGGERS_MAX; i++)
		if (t->at[i] && t->saved->at[i].number > after &&
		    (found < 0 || t->saved->at[i].number < t->saved->at[found].number))
			found = i;
	return found;
}

static const char *state_of(const struct triggers *t, int slot)
{
	for (int i = 0; i < t->n_firings; i++)
		if (t->firings[i].number == t->saved->at[slot].number)
			return "acts";
	if (t->saved->deferred.number == t->saved->at[slot].number)
		return "held back";
	return t->at[slot]->trigger.once && t->saved->at[slot].fired ? "over" : "waits";
}

static void report(struct trigger_watch *w, const struct json_line *l, int fd)
{
	const struct triggers *all = &w->set;
	struct text t = { 0 };
	uint64_t after;
	int i;

	if (!json_line_number(l, "after", &after)) {
		json_line_refuse(fd, false, "\"add\", \"remove\" or \"after\" expected");
		return;
	}
	i = find_after(all, after);
	text_addf(&t, "{\"ok\":true");
	json_line_add_number(&t, "triggers", (uint64_t)all->n);
	if (i >= 0) {
		json_line_add_number(&t, "number", all->saved->at[i].number);
		json_line_add_text(&t, "text", all->saved->at[i].text);
		json_line_add_number(&t, "fired", all->saved->at[i].fired);
		json_line_add_number(&t, "held_back", all->saved->at[i].held_back);
		json_line_add_number(&t, "forgotten", all->saved->at[i].forgotten);
		json_line_add_text(&t, "state", state_of(all, i));
		if (all->saved->at[i].fired)
			json_line_add_number(&t, "last_ns",
					     all->saved->at[i].last_ns +
						     w->snapshot->clock_offset_ns);
		if (all->saved->at[i].error[0])
			json_line_add_text(&t, "error", all->saved->at[i].error);
	}
	if (w->scan)
		json_line_add_number(&t, "missed", trigger_scan_missed(w->scan));
	send_answer(fd, &t);
}

void trigger_request(struct trigger_watch *w, const struct json_line *l, int fd)
{
	if (json_line_has(l, "add"))
		add(w, l, fd);
	else if (json_line_has(l, "remove"))
		remove_one(w, l, fd);
	else
		report(w, l, fd);
}

bool watch_request(struct trigger_watch *w, int fd)
{
	struct text t = { 0 };

	if (w->runner.n_watchers == TRIGGER_WATCHERS) {
		json_line_refuse(fd, true, "many watch already");
		return false;
	}
	text_addf(&t, "{\"ok\":true");
	send_answer(fd, &t);
	return trigger_actions_watch(&w->runner, fd);
}
