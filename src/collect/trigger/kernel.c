/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/kernel.c - pass the kernel patterns of triggers to kernel/watch, and turn its
 * matches into hits.
 */
#include "collect/trigger/kernel.h"

#include <assert.h>
#include <errno.h>

/* Slightly less than the period, so that a timer that fires early does not skip a poll. */
#define PERIOD_NS ((TRIGGER_KERNEL_MS - 2) * 1000000ull)
/* Identifies a watch: the trigger's slot, and first or second event. */
#define TAG(slot, is_second) ((unsigned)(slot) << 1 | (is_second))

static void on_match(void *arg, const struct kernel_seen *seen)
{
	struct trigger_watch *w = arg;
	struct triggers *t = &w->set;
	int slot = (int)(seen->tag >> 1);
	const struct trigger_hit hit = {
		.slot = slot,
		.number = t->saved->at[slot].number,
		.is_second = seen->tag & 1,
		.key = seen->key,
		.facts = { .time_ns = seen->time_ns, .vtid = seen->tid, .event = seen->name }
	};

	assert(slot >= 0 && slot < TRIGGERS_MAX);
	trigger_hits_add(&w->hits, t, &hit, clock_now_ns(&w->session->clock));
}

static int watch_event(struct trigger_watch *w, int slot, bool is_second, struct diag *d)
{
	const struct armed *a = w->set.at[slot];
	const char *pattern =
		trigger_kernel_pattern(is_second ? a->trigger.second : a->trigger.first);
	const struct kernel_watch_request request = { .pattern = pattern,
						      .filter = a->trigger.filter && !is_second
									? &a->code
									: NULL,
						      .by = a->trigger.by,
						      .tag = TAG(slot, is_second) };
	struct diag why = { "" };
	int err;

	if (!pattern)
		return 0;
	if (!w->kernel)
		return diag_fail(d, -EINVAL, "trigger: this recording has no kernel events");
	err = kernel_wait_for(w->kernel, &request, on_match, w, &why);
	return err ? diag_fail(d, err, "trigger: %s", why.text) : 0;
}

int trigger_kernel_follow(struct trigger_watch *w, struct diag *d)
{
	int err = 0;

	if (w->kernel)
		kernel_wait_for_none(w->kernel);
	for (int i = 0; i < TRIGGERS_MAX && !err; i++)
		if (w->set.at[i]) {
			err = watch_event(w, i, false, d);
			if (!err)
				err = watch_event(w, i, true, d);
		}
	return err;
}

void trigger_kernel_poll(struct trigger_watch *w)
{
	struct triggers *t = &w->set;
	uint64_t now_ns = clock_now_ns(&w->session->clock);
	struct diag d = { "" };
	int more;

	if (!t->n_kernel || now_ns - t->kernel_scanned_ns < PERIOD_NS ||
	    snapshot_is_open(w->snapshot)) /* the snapshot reads pages that a poll would consume */
		return;
	more = kernel_poll(w->kernel, now_ns, &d);
	if (d.text[0])
		w->ops->note(w->ops_arg, &d);
	if (more <= 0)
		t->kernel_scanned_ns = now_ns;
}
