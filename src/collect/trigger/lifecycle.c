/* SPDX-License-Identifier: MIT */
/* collect/trigger/lifecycle.c - open, resume, run and close the triggers of a collector. */
#include "collect/trigger/lifecycle.h"

#include "collect/tenant/catch_up.h"
#include "collect/trigger/kernel.h"
#include "collect/trigger/request.h"
#include "collect/trigger/rules.h"

/*
 * The delay from event to action is half of this on average; an idle scan costs a few microseconds.
 */
enum { WATCH_MS = 2 };

static int open_scan(struct collector *c, struct diag *d)
{
	return c->session.has_trigger_pool
		       ? trigger_scan_open(&c->triggers.scan,
					   &c->session.pools[c->session.n_channels],
					   &c->triggers.hits, d)
		       : 0;
}

static int add_triggers_of_options(struct collector *c, struct diag *d)
{
	int number = 0;

	for (int i = 0; i < c->o->n_triggers && number >= 0; i++)
		number = trigger_add(c, c->o->triggers[i], 0, d);
	for (int i = 0; i < TRIGGERS_MAX && number >= 0; i++)
		if (c->triggers.set.at[i] &&
		    trigger_does(&c->triggers.set.at[i]->trigger, TRIGGER_START))
			c->handover->triggers.is_paused = true;
	return number < 0 ? number : trigger_rules_follow(c, false, d);
}

int trigger_watch_open(struct collector *c, struct diag *d)
{
	int err = triggers_open(&c->triggers.set, &c->handover->triggers, d);

	if (!err)
		err = open_scan(c, d);
	if (err)
		return err;
	return c->o->main_handover ? catch_up_run(c, d) : add_triggers_of_options(c, d);
}

int trigger_watch_start(struct collector *c, struct diag *d)
{
	trigger_watch_go_on(c);
	return c->triggers.set.n ? trigger_rules_follow(c, false, d) : 0;
}

int trigger_watch_resume(struct collector *c, struct diag *d)
{
	int err;

	trigger_watch_close(c);
	err = triggers_open(&c->triggers.set, &c->handover->triggers, d);
	if (!err)
		err = open_scan(c, d);
	if (!err)
		err = trigger_kernel_follow(c, d);
	if (!err && c->kernel && c->handover->triggers.is_paused)
		err = kernel_pause(c->kernel, true, d);
	trigger_watch_go_on(c);
	return err;
}

void trigger_watch_close(struct collector *c)
{
	triggers_close(&c->triggers.set);
	trigger_scan_close(c->triggers.scan);
	c->triggers.scan = NULL;
	c->triggers.hits.n = 0;
	trigger_actions_end(&c->triggers.runner);
}

void trigger_watch_go_on(struct collector *c)
{
	trigger_actions_step(c);
	c->schedule.watch_ms = c->triggers.set.n_events	  ? WATCH_MS
			       : c->triggers.set.n_kernel ? TRIGGER_KERNEL_MS
							  : 0;
}

static uint64_t count_lost(const struct collector *c)
{
	uint64_t lost = c->handover->lost_outside;
	struct kernel_counts n;

	for (uint32_t i = 0; i < c->session.n_channels; i++)
		lost += streams_lost(c->streams, i);
	if (c->kernel) {
		kernel_counts(c->kernel, &n);
		lost += n.lost;
	}
	return lost;
}

void trigger_watch_pass(struct collector *c)
{
	if (c->triggers.set.n)
		triggers_poll(&c->triggers.set, count_lost(c), collector_now_ns(c));
	trigger_watch_go_on(c);
}

void collector_watch(struct collector *c)
{
	uint64_t now_ns = collector_now_ns(c);

	if (c->triggers.scan && c->triggers.set.n_events)
		trigger_scan(c->triggers.scan, &c->triggers.set);
	trigger_kernel_poll(c);
	trigger_hits_deliver(&c->triggers.hits, &c->triggers.set, now_ns);
	triggers_time(&c->triggers.set, now_ns);
	trigger_watch_go_on(c);
}
