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
static int add_rules(struct collector *c, struct abi_session *file, const struct trigger *t,
		     struct diag *d)
{
	bool first = !trigger_kernel_pattern(t->first),
	     second = t->second && !trigger_kernel_pattern(t->second);
	int filter = t->filter && first ? filters_add(&c->filters, &c->session, t->filter, d) : 0;
	int err = filter < 0 ? filter
		  : first    ? session_add_trigger_rule(file, t->first, (uint32_t)filter, d)
			     : 0;

	return err || !second ? err : session_add_trigger_rule(file, t->second, 0, d);
}

static int make_rules(struct collector *c, struct abi_session *file, struct diag *d)
{
	int err;

	*file = c->session.file;
	session_drop_trigger_rules(file);
	err = session_pause_rules(file, c->handover->triggers.is_paused, d);
	for (int i = 0; i < TRIGGERS_MAX && !err; i++)
		if (c->triggers.set.at[i] && trigger_has_events(&c->triggers.set.at[i]->trigger))
			err = add_rules(c, file, &c->triggers.set.at[i]->trigger, d);
	return err;
}

/*
 * Publishes for programs that start later first, then updates running programs.  A session of
 * selected processes has no rules for others and updates only those.  Before the session starts it
 * updates no program.
 */
static int publish(struct collector *c, const struct abi_session *file, bool all, struct diag *d)
{
	int err = 0;

	if (!c->o->n_pids && c->begin_ns)
		err = session_publish(c->session.dir, file, d);
	if (!c->o->n_pids && !err)
		c->session.file = *file;
	if (err || !c->begin_ns)
		return err;
	if (!c->o->n_pids)
		programs_follow(c->session.dir, 0, file, all);
	for (int i = 0; i < c->o->n_pids; i++)
		programs_follow(c->session.dir, c->o->pids[i], file, all);
	return 0;
}

int trigger_rules_follow(struct collector *c, bool all, struct diag *d)
{
	struct abi_session file;
	int err;

	enable_flush_batch(c);
	err = make_rules(c, &file, d);
	return err ? err : publish(c, &file, all, d);
}

/* In a session of selected processes the default events are not in its rules: enable them again. */
static int enable_default_events(struct collector *c, struct diag *d)
{
	int err = 0;

	for (int i = 0; i < c->o->n_pids && !err; i++)
		err = default_events_enable(&c->default_events, c->o->pids[i], true, d);
	return err ? err : trigger_rules_follow(c, false, d);
}

void trigger_rules_pause(struct collector *c, bool pause)
{
	struct abi_session file;
	struct diag d = { "" };
	int err;

	if (c->handover->triggers.is_paused == pause)
		return;
	enable_flush_batch(c);
	c->handover->triggers.is_paused = pause;
	err = make_rules(c, &file, &d);
	if (!err)
		err = c->o->n_pids && !pause ? enable_default_events(c, &d)
					     : publish(c, &file, true, &d);
	if (!err && c->kernel)
		err = kernel_pause(c->kernel, pause, &d);
	if (err)
		collector_note(c, &d);
}
