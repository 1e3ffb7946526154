/* SPDX-License-Identifier: MIT */
/* kernel/watch/selected.c - finds the recorded events that a watch request matches.
 *
 * The request is linked to each matching event on its own, because a filter may fit only some of
 * them. It fails if it fits none. */
#include "kernel/watch/selected.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/tracefs/events.h"

/* One request on its way through the selection. */
struct waiting {
	struct kernel_watch *watch;
	struct kernel_selection *selection;
	int instance;
	const struct kernel_watch_request *request;
	struct kernel_format format, raw;
	int n_matches, n_fit;
	struct diag *d;
};

/* An event that does not fit the filter is skipped, even if all that match are such. */
static int count(struct waiting *g, int err)
{
	g->n_matches++;
	g->n_fit += !err;
	return err == -EINVAL ? 0 : err;
}

static int try_events(struct waiting *g)
{
	int err = 0;

	for (int i = 0; i < g->selection->n_events && !err; i++) {
		struct kernel_pattern *e = &g->selection->events[i];

		if (!kernel_pattern_matches(g->request->pattern, e->system, e->event, e->name))
			continue;
		err = kernel_event_format(g->instance, e->system, e->event, &g->format, g->d);
		if (!err)
			err = count(g, kernel_watch_event(g->watch, g->request, &g->format,
							  e->system, e->name, g->d));
		e->is_waited_for = !err;
	}
	return err;
}

static int try_syscall(struct waiting *g, int nr, bool is_entry)
{
	const struct kernel_format *arguments = NULL;
	char name[96], event[96];

	snprintf(name, sizeof name, "syscall_%s_%s", is_entry ? "entry" : "exit",
		 kernel_syscall_name(nr));
	snprintf(event, sizeof event, "sys_%s_%s", is_entry ? "enter" : "exit",
		 kernel_syscall_kernel_name(nr));
	if (!kernel_pattern_matches(g->request->pattern, "syscalls", event, name))
		return 0;
	if (is_entry) {
		g->format.n_fields = 0; /* a call without a tracepoint has no names of arguments */
		kernel_event_format(g->instance, "syscalls", event, &g->format, NULL);
		arguments = &g->format;
		g->selection->waits_for_entry = true;
	} else {
		g->selection->waits_for_exit = true;
	}
	return count(
		g, kernel_watch_syscall(g->watch, g->request, &g->raw, nr, arguments, name, g->d));
}

static int try_syscalls(struct waiting *g, bool is_entry)
{
	const bool *chosen = is_entry ? g->selection->entry : g->selection->exit;
	int err = kernel_event_format(g->instance, "raw_syscalls",
				      is_entry ? "sys_enter" : "sys_exit", &g->raw, g->d);

	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX && !err; nr++)
		if (chosen[nr])
			err = try_syscall(g, nr, is_entry);
	return err;
}

int kernel_wait(struct kernel_watch *w, struct kernel_selection *s, int instance,
		const struct kernel_watch_request *request, struct diag *d)
{
	struct diag why = { "" };
	struct waiting *g = malloc(sizeof *g);
	int err;

	if (!g)
		return diag_fail(d, -ENOMEM, "no memory for a trigger");
	*g = (struct waiting){
		.watch = w, .selection = s, .instance = instance, .request = request, .d = &why
	};
	err = try_events(g);
	if (!err && s->n_entry)
		err = try_syscalls(g, true);
	if (!err && s->n_exit)
		err = try_syscalls(g, false);
	if (err)
		diag_fail(d, err, "%s", why.text);
	else if (!g->n_matches)
		err = diag_fail(
			d, -ENOENT,
			"no kernel event that is recorded matches %s: choose it with -k when the "
			"recording begins",
			request->pattern);
	else if (!g->n_fit)
		err = diag_fail(d, -EINVAL, "%s", why.text);
	free(g);
	return err;
}

int kernel_wait_only(const struct kernel_selection *s, int instance, bool only, struct diag *d)
{
	int err = 0;

	for (int i = 0; i < s->n_events && !err; i++)
		err = s->events[i].bpf
			      ? 0
			      : kernel_event_enable(instance, s->events[i].system,
						    s->events[i].event,
						    !only || s->events[i].is_waited_for, d);
	if (!err && s->n_entry && !s->entry_bpf)
		err = kernel_event_enable(instance, "raw_syscalls", "sys_enter",
					  !only || s->waits_for_entry, d);
	if (!err && s->n_exit && !s->exit_bpf)
		err = kernel_event_enable(instance, "raw_syscalls", "sys_exit",
					  !only || s->waits_for_exit, d);
	return err;
}

uint32_t kernel_wait_bpf(const struct kernel_selection *s, bool only)
{
	uint32_t bits = 0;

	for (int i = 0; i < s->n_events; i++)
		bits |= !only || s->events[i].is_waited_for ? s->events[i].bpf : 0;
	bits |= !only || s->waits_for_entry ? s->entry_bpf : 0;
	bits |= !only || s->waits_for_exit ? s->exit_bpf : 0;
	return bits;
}
