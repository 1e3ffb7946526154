/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/rules.c - write the rules of triggers and of pausing into the session's file, and
 * update running programs.
 */
#include "collect/trigger/rules.h"

#include "collect/session/programs.h"

/*
 * A program evaluates filters of single events itself, so that an event that does not match costs
 * nothing more.
 */
static int add_rules(struct trigger_watch *w, struct abi_session *file, const struct trigger *t,
		     struct diag *d)
{
	bool first = !trigger_kernel_pattern(t->first),
	     second = t->second && !trigger_kernel_pattern(t->second);
	int filter = t->filter && first ? filters_add(w->filters, w->session, t->filter, d) : 0;
	int err = filter < 0 ? filter
		  : first    ? session_add_trigger_rule(file, t->first, (uint32_t)filter, d)
			     : 0;

	return err || !second ? err : session_add_trigger_rule(file, t->second, 0, d);
}

static int make_rules(struct trigger_watch *w, struct abi_session *file, struct diag *d)
{
	int err;

	*file = w->session->file;
	session_drop_trigger_rules(file);
	err = session_pause_rules(file, w->saved->is_paused, d);
	for (int i = 0; i < TRIGGERS_MAX && !err; i++)
		if (w->set.at[i] && trigger_has_events(&w->set.at[i]->trigger))
			err = add_rules(w, file, &w->set.at[i]->trigger, d);
	return err;
}

/*
 * Publishes for programs that start later first, then updates running programs.  A session of
 * selected processes has no rules for others and updates only those.  Before the session starts it
 * updates no program.
 */
static int publish(struct trigger_watch *w, const struct abi_session *file, bool all,
		   struct diag *d)
{
	int err = 0;

	if (!w->o->n_pids && w->has_started)
		err = session_publish(w->session->dir, file, d);
	if (!w->o->n_pids && !err)
		w->session->file = *file;
	if (err || !w->has_started)
		return err;
	if (!w->o->n_pids)
		programs_follow(w->session->dir, 0, file, all);
	for (int i = 0; i < w->o->n_pids; i++)
		programs_follow(w->session->dir, w->o->pids[i], file, all);
	return 0;
}

int trigger_rules_follow(struct trigger_watch *w, bool all, struct diag *d)
{
	struct abi_session file;
	int err;

	enable_flush_batch(w->enable_batch);
	err = make_rules(w, &file, d);
	return err ? err : publish(w, &file, all, d);
}

/* In a session of selected processes the default events are not in its rules: enable them again. */
static int enable_default_events(struct trigger_watch *w, struct diag *d)
{
	int err = 0;

	for (int i = 0; i < w->o->n_pids && !err; i++)
		err = default_events_enable(w->default_events, w->o->pids[i], true, d);
	return err ? err : trigger_rules_follow(w, false, d);
}

void trigger_rules_pause(struct trigger_watch *w, bool pause)
{
	struct abi_session file;
	struct diag d = { "" };
	int err;

	if (w->saved->is_paused == pause)
		return;
	enable_flush_batch(w->enable_batch);
	w->saved->is_paused = pause;
	err = make_rules(w, &file, &d);
	if (!err)
		err = w->o->n_pids && !pause ? enable_default_events(w, &d)
					     : publish(w, &file, true, &d);
	if (!err && w->kernel)
		err = kernel_pause(w->kernel, pause, &d);
	if (err)
		w->ops->note(w->ops_arg, &d);
}
