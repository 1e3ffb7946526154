/* SPDX-License-Identifier: MIT */
/*
 * kernel/setup_idle.c - switches from an idle CPU, beside switches with call stacks.
 *
 * perf records sched_switch with its stacks. Some kernels do not report to perf (nor to tracefs)
 * events while a CPU's idle thread runs: then the switch to the next thread is missing, and
 * every report that follows a CPU has a gap there. BPF programs do get it. So where BPF can record,
 * a program records the switches from idle, and perf all others: none is missing, and none is there
 * twice. They are a second class sched_switch, without stacks: an idle thread has none of interest.
 *
 * Switches whose samples have counters stay with perf, since a program does not read those.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kernel/internal.h"
#include "kernel/tracefs/events.h"

static struct kernel_pattern *find_switch(struct kernel_selection *s)
{
	for (int i = 0; s && i < s->n_events; i++)
		if (!strcmp(s->events[i].system, "sched") &&
		    !strcmp(s->events[i].event, "sched_switch"))
			return &s->events[i];
	return NULL;
}

/* The event's filter and @also. NULL: no memory. */
static char *join(const struct kernel_pattern *e, const char *also)
{
	struct text t = { 0 };

	if (e->filter)
		text_addf(&t, "%s && (%s)", also, e->filter);
	else
		text_addf(&t, "%s", also);
	if (t.failed) {
		text_fini(&t);
		return NULL;
	}
	return t.bytes;
}

/* A refusal leaves all switches to perf. */
static bool take_by_bpf(struct kernel *k, struct kernel_format *f, const char *filter)
{
	struct diag why;

	return f->id && !kernel_bpf_event(k->bpf, "sched", f, filter, &k->idle_bpf, &why);
}

int kernel_setup_idle(struct kernel *k, struct kernel_format *f, struct diag *d)
{
	struct kernel_pattern *e = find_switch(k->selection.by_perf);
	char *idle;
	int err;

	if (!k->bpf || !e || e->extras >= KERNEL_PERF_VALUE)
		return 0;
	err = kernel_event_format(k->instance.dir, e->system, e->event, f, d);
	if (err)
		return err;
	f->id = kernel_classes_unused_id(&k->drain.classes);
	idle = join(e, "prev_tid == 0");
	k->busy_filter = join(e, "prev_tid != 0");
	if (!idle || !k->busy_filter)
		err = diag_fail(d, -ENOMEM, "no memory for a filter");
	else if (take_by_bpf(k, f, idle)) {
		err = kernel_classes_add(&k->drain.classes, f, e->system, e->name);
		if (err)
			diag_fail(d, err, "cannot add the kernel event %s:%s", e->system, e->event);
		e->filter = k->busy_filter;
	}
	free(idle);
	return err;
}
