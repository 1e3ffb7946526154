/* SPDX-License-Identifier: MIT */
/* collect/trigger/lifecycle.c - open, resume, run and close the triggers of a collector. */
#include "collect/trigger/lifecycle.h"

#include "collect/trigger/actions.h"
#include "collect/trigger/kernel.h"
#include "collect/trigger/request.h"
#include "collect/trigger/rules.h"

/*
 * The delay from event to action is half of this on average; an idle scan costs a few microseconds.
 */
enum { WATCH_MS = 2 };

static int open_scan(struct trigger_watch *w, struct diag *d)
{
	return w->session->has_trigger_pool
		       ? trigger_scan_open(&w->scan, &w->session->pools[w->session->n_channels],
					   &w->hits, d)
		       : 0;
}

int trigger_watch_open(struct trigger_watch *w, struct diag *d)
{
	int err = triggers_open(&w->set, w->saved, d);

	if (!err)
		err = open_scan(w, d);
	return err;
}

int trigger_watch_add_options(struct trigger_watch *w, struct diag *d)
{
	int number = 0;

	for (int i = 0; i < w->o->n_triggers && number >= 0; i++)
		number = trigger_add(w, w->o->triggers[i], 0, d);
	for (int i = 0; i < TRIGGERS_MAX && number >= 0; i++)
		if (w->set.at[i] && trigger_does(&w->set.at[i]->trigger, TRIGGER_START))
			w->saved->is_paused = true;
	return number < 0 ? number : trigger_rules_follow(w, false, d);
}

int trigger_watch_start(struct trigger_watch *w, struct diag *d)
{
	trigger_watch_go_on(w);
	return w->set.n ? trigger_rules_follow(w, false, d) : 0;
}

int trigger_watch_resume(struct trigger_watch *w, struct diag *d)
{
	int err;

	trigger_watch_close(w);
	err = triggers_open(&w->set, w->saved, d);
	if (!err)
		err = open_scan(w, d);
	if (!err)
		err = trigger_kernel_follow(w, d);
	if (!err && w->kernel && w->saved->is_paused)
		err = kernel_pause(w->kernel, true, d);
	trigger_watch_go_on(w);
	return err;
}

void trigger_watch_close(struct trigger_watch *w)
{
	triggers_close(&w->set);
	trigger_scan_close(w->scan);
	w->scan = NULL;
	w->hits.n = 0;
	trigger_actions_end(&w->runner);
}

void trigger_watch_go_on(struct trigger_watch *w)
{
	trigger_actions_step(w);
	w->period_ms = w->set.n_events ? WATCH_MS : w->set.n_kernel ? TRIGGER_KERNEL_MS : 0;
}

static uint64_t count_lost(const struct trigger_watch *w)
{
	uint64_t lost = *w->lost_outside;
	struct kernel_counts n;

	for (uint32_t i = 0; i < w->session->n_channels; i++)
		lost += streams_lost(*w->streams, i);
	if (w->kernel) {
		kernel_counts(w->kernel, &n);
		lost += n.lost;
	}
	return lost;
}

void trigger_watch_pass(struct trigger_watch *w)
{
	if (w->set.n)
		triggers_poll(&w->set, count_lost(w), clock_now_ns(&w->session->clock));
	trigger_watch_go_on(w);
}

void trigger_watch_step(struct trigger_watch *w)
{
	uint64_t now_ns = clock_now_ns(&w->session->clock);

	if (w->scan && w->set.n_events)
		trigger_scan(w->scan, &w->set);
	trigger_kernel_poll(w);
	trigger_hits_deliver(&w->hits, &w->set, now_ns);
	triggers_time(&w->set, now_ns);
	trigger_watch_go_on(w);
}
