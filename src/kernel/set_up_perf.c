/* SPDX-License-Identifier: MIT */
/* kernel/set_up_perf.c - what perf records is opened: clocks, counters, and events with call stacks.  See kernel/profile.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/events.h"
#include "kernel/filter.h"
#include "kernel/inside.h"

static int open_profile(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	const struct kernel_selection *s = &k->selection;
	/* What comes in bursts needs as much room as what the instance records. */
	bool is_steady = !s->stacked;
	int err;

	for (int i = 0; i < s->n_sampled; i++)
		is_steady &= !s->sampled[i].is_counter;
	if (o->overwrite)
		return diag_fail(d, -EINVAL, "profile, counter, stack: what perf records is not kept by a flight recorder; "
				 "record it in a session of its own");
	err = kernel_profile_open(&k->profile, o->whole_machine, is_steady ? 0 : kernel_buffer_kib(o) * (size_t)1024,
				  &k->drain.clock, d);
	kernel_profile_tell(k->profile, o->see, o->see_arg);
	return err;
}

/* With its filter, if it has one. */
static int sample_event(struct kernel *k, const struct kernel_format *f, const char *system, const struct text *filter,
			struct diag *d)
{
	bool has_filter = filter->bytes && strcmp(filter->bytes, "0") != 0;

	if (filter->failed)
		return diag_fail(d, -ENOMEM, "no memory for a filter");
	return kernel_profile_event(k->profile, f, system, has_filter ? filter->bytes : NULL, d);
}

static int stack_event(struct kernel *k, const struct kernel_choice *e, struct kernel_format *f, struct diag *d)
{
	struct text filter = { 0 };
	int err = kernel_event_format(k->instance.dir, e->system, e->event, f, d);

	if (!err && (kernel_classes_add(&k->drain.classes, f, e->system, e->name) ||
		     kernel_classes_add_stacks(&k->drain.classes, f->id)))
		err = diag_fail(d, -ENOMEM, "cannot add the kernel event %s:%s", e->system, e->event);
	if (!err && e->filter)
		err = kernel_filter(e->filter, e->system, f, &filter, d);
	if (!err)
		err = sample_event(k, f, e->system, &filter, d);
	text_fini(&filter);
	return err;
}

/* The instance records the other system calls, or none. */
static int stack_syscalls(struct kernel *k, const struct kernel_selection *s, bool is_entry, struct kernel_format *f,
			  struct diag *d)
{
	const bool *chosen = is_entry ? s->entry : s->exit;
	struct kernel_syscall_filter translated = { .format = f, .d = d };
	struct kernel_classes *c = &k->drain.classes;
	struct text filter = { 0 };
	int err = kernel_event_format(k->instance.dir, "raw_syscalls", is_entry ? "sys_enter" : "sys_exit", f, d);

	if (!err && !(is_entry ? c->entry : c->exit))
		err = kernel_classes_add_syscalls(c, f, is_entry, d);
	if (!err)
		err = kernel_selection_filter(s, is_entry, kernel_translate_filter, &translated, &filter);
	if (!err)
		err = sample_event(k, f, "raw_syscalls", &filter, d);
	text_fini(&filter);
	if (!err && is_entry && kernel_tell_arguments(k, s, false, f))
		err = diag_fail(d, -ENOMEM, "no memory for the system calls");
	/* The last stands for calls without a name, which come if there is no filter of numbers. */
	for (int nr = 0; nr <= KERNEL_SYSCALLS_MAX && !err; nr++)
		if ((nr < KERNEL_SYSCALLS_MAX ? chosen[nr] : kernel_selection_is_all(s, is_entry)) &&
		    kernel_classes_add_stacks_of_syscall(c, nr, is_entry))
			err = diag_fail(d, -ENOMEM, "no memory for the system calls");
	return err;
}

static int set_up_stacked(struct kernel *k, const struct kernel_selection *s, struct diag *d)
{
	struct kernel_format *f = malloc(sizeof *f);
	int err = f ? 0 : diag_fail(d, -ENOMEM, "no memory for the formats of kernel events");

	for (int i = 0; !err && i < s->n_events; i++)
		err = stack_event(k, &s->events[i], f, d);
	if (!err && s->n_entry)
		err = stack_syscalls(k, s, true, f, d);
	if (!err && s->n_exit)
		err = stack_syscalls(k, s, false, f, d);
	free(f);
	return err;
}

int kernel_set_up_perf(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	const struct kernel_selection *s = &k->selection;
	int err = open_profile(k, o, d);

	for (int i = 0; !err && i < s->n_sampled; i++)
		err = kernel_profile_sample(k->profile, &s->sampled[i], d);
	return err || !s->stacked ? err : set_up_stacked(k, s->stacked, d);
}
