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
	struct collector *c = arg;
	struct triggers *t = &c->triggers.set;
	int slot = (int)(seen->tag >> 1);
	const struct trigger_hit hit = {
		.slot = slot,
		.number = t->saved->at[slot].number,
		.is_second = seen->tag & 1,
		.key = seen->key,
		.facts = { .time_ns = seen->time_ns, .vtid = seen->tid, .event = seen->name }
	};

	assert(slot >= 0 && slot < TRIGGERS_MAX);
	trigger_hits_add(&c->triggers.hits, t, &hit, collector_now_ns(c));
}

static int watch_event(struct collector *c, int slot, bool is_second, struct diag *d)
{
	const struct armed *a = c->triggers.set.at[slot];
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
	if (!c->kernel)
		return diag_fail(d, -EINVAL, "trigger: this recording has no kernel events");
	err = kernel_wait_for(c->kernel, &request, on_match, c, &why);
	return err ? diag_fail(d, err, "trigger: %s", why.text) : 0;
}

int trigger_kernel_follow(struct collector *c, struct diag *d)
{
	int err = 0;

	if (c->kernel)
		kernel_wait_for_none(c->kernel);
	for (int i = 0; i < TRIGGERS_MAX && !err; i++)
		if (c->triggers.set.at[i]) {
			err = watch_event(c, i, false, d);
			if (!err)
				err = watch_event(c, i, true, d);
		}
	return err;
}

void trigger_kernel_poll(struct collector *c)
{
	struct triggers *t = &c->triggers.set;
	uint64_t now_ns = collector_now_ns(c);
	struct diag d = { "" };
	int more;

	if (!t->n_kernel || now_ns - t->kernel_scanned_ns < PERIOD_NS ||
	    snapshot_is_open(&c->snapshot)) /* the snapshot reads pages that a poll would consume */
		return;
	more = kernel_poll(c->kernel, now_ns, &d);
	if (d.text[0])
		collector_note(c, &d);
	if (more <= 0)
		t->kernel_scanned_ns = now_ns;
}
