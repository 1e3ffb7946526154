/* SPDX-License-Identifier: MIT */
/* kernel/setup_perf.c - opens perf's events: clocks, counters, and events with call stacks or
 * counters' values.
 *
 * All counters are opened before any event that has their values. See kernel/perf/profile.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/tracefs/events.h"
#include "kernel/filter.h"
#include "kernel/internal.h"

/* A user with a lent instance may see all threads in it, and by perf only its own. */
static bool may_attach(const struct kernel *k, const struct kernel_options *o)
{
	const struct kernel_selection *s = &k->selection;

	return k->root < 0 && !o->whole_machine && !o->n_cgroups && !o->overwrite && !s->by_perf &&
	       !s->n_counters;
}

static int open_attached(struct kernel *k, struct diag *d)
{
	if (d)
		d->text[0] = 0;
	k->attaches = true;
	return kernel_profile_open(&k->profile, KERNEL_PROFILE_SAMPLED, 0, &k->drain.clock, d);
}

static int open_profile(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	const struct kernel_selection *s = &k->selection;
	/* Events that come in bursts need as much room as the instance's buffers have. */
	bool is_steady = !s->by_perf && !o->overwrite;
	int err;

	for (int i = 0; i < s->n_sampled; i++)
		is_steady &= !s->sampled[i].is_counter;
	err = kernel_profile_open(
		&k->profile,
		o->whole_machine ? KERNEL_PROFILE_WHOLE_MACHINE : KERNEL_PROFILE_FOLLOWED,
		is_steady ? 0 : kernel_buffer_kib(o) * (size_t)1024, &k->drain.clock, d);
	if ((err == -EACCES || err == -EPERM) && may_attach(k, o))
		err = open_attached(k, d);
	if (!err && o->overwrite)
		err = kernel_profile_keep_newest(k->profile, d);
	kernel_profile_set_callbacks(k->profile, o->on_sampled, o->mapped, o->callback_arg);
	return err;
}

/* Adds an event with its filter, if it has one. */
static int sample_event(struct kernel *k, const struct kernel_format *f, const char *system,
			uint32_t extras, const struct text *filter, struct diag *d)
{
	bool has_filter = filter->bytes && strcmp(filter->bytes, "0") != 0;

	if (filter->failed)
		return diag_fail(d, -ENOMEM, "no memory for a filter");
	return kernel_profile_event(k->profile, f, system, extras,
				    has_filter ? filter->bytes : NULL, d);
}

/* The counters among @extras, as fields. */
static void describe_counters(const struct kernel_selection *s, uint32_t extras,
			      struct text *fields)
{
	text_addf(fields, "%s", "");
	for (int i = 0; i < s->n_counters; i++)
		if (extras & (uint32_t)KERNEL_PERF_VALUE << i)
			text_addf(fields, "\t\tuint64_t _%s;\n", s->counters[i].event);
}

static int add_extras(struct kernel *k, uint16_t kernel_id, uint32_t extras)
{
	struct text fields = { 0 };
	int err;

	describe_counters(&k->selection, extras, &fields);
	err = fields.failed ? -ENOMEM
			    : kernel_classes_add_extras(&k->drain.classes, kernel_id, extras,
							fields.bytes);
	text_fini(&fields);
	return err;
}

static int add_extras_of_syscall(struct kernel *k, int nr, bool is_entry, uint32_t extras)
{
	struct text fields = { 0 };
	int err;

	describe_counters(&k->selection, extras, &fields);
	err = fields.failed ? -ENOMEM
			    : kernel_classes_add_extras_of_syscall(&k->drain.classes, nr, is_entry,
								   extras, fields.bytes);
	text_fini(&fields);
	return err;
}

static int set_up_event(struct kernel *k, const struct kernel_pattern *e, struct kernel_format *f,
			struct diag *d)
{
	struct text filter = { 0 };
	int err = kernel_event_format(k->instance.dir, e->system, e->event, f, d);

	if (!err && (kernel_classes_add(&k->drain.classes, f, e->system, e->name) ||
		     add_extras(k, f->id, e->extras)))
		err = diag_fail(d, -ENOMEM, "cannot add the kernel event %s:%s", e->system,
				e->event);
	if (!err && e->filter)
		err = kernel_filter(e->filter, e->system, f, &filter, d);
	if (!err)
		err = sample_event(k, f, e->system, e->extras, &filter, d);
	text_fini(&filter);
	return err;
}

/* One perf event serves all calls, so it records the extras that any of them needs. */
static uint32_t extras_of_all(const bool *chosen, const uint32_t *extras)
{
	uint32_t all = 0;

	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX; nr++)
		all |= chosen[nr] ? extras[nr] : 0;
	return all;
}

/* The instance records the other system calls, or none. */
static int set_up_syscalls(struct kernel *k, const struct kernel_selection *s, bool is_entry,
			   struct kernel_format *f, struct diag *d)
{
	const bool *chosen = is_entry ? s->entry : s->exit;
	const uint32_t *extras = is_entry ? s->entry_extras : s->exit_extras;
	uint32_t all = extras_of_all(chosen, extras);
	struct kernel_syscall_filter translated = { .format = f, .d = d };
	struct kernel_classes *c = &k->drain.classes;
	struct text filter = { 0 };
	int err = kernel_event_format(k->instance.dir, "raw_syscalls",
				      is_entry ? "sys_enter" : "sys_exit", f, d);

	if (!err && !(is_entry ? c->entry : c->exit))
		err = kernel_classes_add_syscalls(c, f, is_entry, d);
	if (!err)
		err = kernel_selection_filter(s, is_entry, kernel_translate_filter, &translated,
					      &filter);
	if (!err)
		err = sample_event(k, f, "raw_syscalls", all, &filter, d);
	text_fini(&filter);
	if (!err && is_entry && kernel_describe_arguments(k, s, false, f))
		err = diag_fail(d, -ENOMEM, "no memory for the system calls");
	/* The last entry stands for calls without a name; they occur if there is no filter of
	 * numbers. */
	for (int nr = 0; nr <= KERNEL_SYSCALLS_MAX && !err; nr++)
		if ((nr < KERNEL_SYSCALLS_MAX ? chosen[nr]
					      : kernel_selection_is_all(s, is_entry)) &&
		    add_extras_of_syscall(k, nr, is_entry,
					  nr < KERNEL_SYSCALLS_MAX ? extras[nr] : all))
			err = diag_fail(d, -ENOMEM, "no memory for the system calls");
	return err;
}

static int set_up_chosen(struct kernel *k, const struct kernel_selection *s, struct diag *d)
{
	struct kernel_format *f = malloc(sizeof *f);
	int err = f ? 0 : diag_fail(d, -ENOMEM, "no memory for the formats of kernel events");

	for (int i = 0; !err && i < s->n_events; i++)
		err = set_up_event(k, &s->events[i], f, d);
	if (!err && s->n_entry)
		err = set_up_syscalls(k, s, true, f, d);
	if (!err && s->n_exit)
		err = set_up_syscalls(k, s, false, f, d);
	free(f);
	return err;
}

int kernel_setup_perf(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	const struct kernel_selection *s = &k->selection;
	int err = open_profile(k, o, d);

	for (int i = 0; !err && i < s->n_counters; i++)
		err = kernel_profile_count(k->profile, &s->counters[i], d);
	for (int i = 0; !err && i < s->n_sampled; i++)
		err = kernel_profile_sample(k->profile, &s->sampled[i], d);
	return err || !s->by_perf ? err : set_up_chosen(k, s->by_perf, d);
}
