/* SPDX-License-Identifier: MIT */
/*
 * kernel/setup_own.c - records a user's own processes with perf, without any right to tracefs.
 *
 * Available are the times when they run (requested as `sched` or `sched_switch`), `profile` and
 * `counter`. There is no instance then.
 */
#include <errno.h>
#include <string.h>

#include "clock/clock.h"
#include "kernel/internal.h"

enum { LONGEST_RECORD = 8192 };

/* Whether perf can record all that is requested. */
static bool can_perf_record_all(const struct kernel_selection *s)
{
	for (int i = 0; i < s->n_events; i++)
		if (s->events[i].filter)
			return false;
	return !s->by_perf && !s->n_functions;
}

static bool is_possible(const struct kernel_options *o)
{
	return o->n_patterns && !o->whole_machine && !o->n_cgroups && !o->overwrite &&
	       o->backend != KERNEL_BACKEND_BPF && !o->n_uprobes && !o->graph.n_patterns &&
	       !o->contexts;
}

static int open_own(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	struct kernel_selection *s = &k->selection;
	int err = kernel_profile_open(&k->profile, KERNEL_PROFILE_ATTACHED, 0, &k->drain.clock, d);

	if (err)
		return err;
	kernel_profile_set_callbacks(k->profile, o->on_sampled, o->mapped, o->callback_arg);
	if (s->n_events)
		kernel_profile_switches(k->profile);
	for (int i = 0; i < s->n_sampled && !err; i++)
		err = kernel_profile_sample(k->profile, &s->sampled[i], d);
	kernel_selection_fini(s); /* no instance records any of it */
	if (!err && kernel_classes_init(&k->drain.classes, LONGEST_RECORD))
		err = diag_fail(d, -ENOMEM, "no memory for the table of kernel events");
	return err ? err : kernel_open_trace(k, o->path, clock_now_ns(&k->drain.clock), d);
}

int kernel_setup_own(struct kernel *k, const struct kernel_options *o, int refused, struct diag *d)
{
	static const char available[] = "sched:sched_switch\n";
	struct diag other;
	int err;

	if (!is_possible(o) ||
	    kernel_select(&k->selection, available, o->patterns, o->filters, o->n_patterns, &other))
		return refused;
	if (!can_perf_record_all(&k->selection)) {
		kernel_selection_fini(&k->selection);
		return refused;
	}
	k->is_own = true;
	err = open_own(k, o, d);
	if (!err)
		diag_fail(d, 0,
			  "without the right to tracefs (man duet-lend) only these processes are "
			  "recorded, and of sched only when they run: thread_switched_in, _out");
	return err;
}
