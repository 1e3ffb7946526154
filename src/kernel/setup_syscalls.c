/* SPDX-License-Identifier: MIT */
/* kernel/setup_syscalls.c - sets up the recording of system calls.
 *
 * BPF programs record them, or the two tracepoints of raw_syscalls with a filter on numbers. A
 * filter that the programs cannot evaluate leaves all entries, or all exits, to tracefs. See
 * internal.h. */
#include <asm/unistd.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/compile.h"
#include "capture/table.h"
#include "kernel/tracefs/events.h"
#include "kernel/filter.h"
#include "kernel/internal.h"

/* Some system calls have no tracepoint: then their arguments have no names. */
int kernel_describe_arguments(struct kernel *k, const struct kernel_selection *s, bool by_bpf,
			      struct kernel_format *f)
{
	struct abi_captures also;
	char event[96];
	unsigned texts;
	int err = 0;

	for (int nr = 0; !err && nr < KERNEL_SYSCALLS_MAX; nr++) {
		if (!s->entry[nr])
			continue;
		snprintf(event, sizeof event, "sys_enter_%s", kernel_syscall_kernel_name(nr));
		texts = 0;
		also.n = 0;
		if (!kernel_event_format(kernel_formats(k), "syscalls", event, f, NULL) ||
		    kernel_format_of_missing_call(kernel_syscall_name(nr), f)) {
			texts = by_bpf ? kernel_layout_texts(f) : 0;
			if (by_bpf)
				also = capture_of_call(kernel_syscall_name(nr), false, k->captures);
			k->texts[nr] = (uint8_t)(by_bpf ? texts : k->texts[nr]);
			err = kernel_classes_describe_arguments(&k->drain.classes, nr, f, texts,
								&also);
		}
		if (by_bpf)
			kernel_bpf_call(k->bpf, true, nr, texts, &also, k->capture_bytes);
	}
	return err;
}

int kernel_translate_filter(void *arg, const char *expression, struct text *t)
{
	struct kernel_syscall_filter *f = arg;

	f->expression = expression;
	return kernel_filter(expression, "raw_syscalls", f->format, t, f->d);
}

static int filter_syscalls(struct kernel *k, const struct kernel_selection *s, bool is_entry,
			   const struct kernel_format *f, struct diag *d)
{
	struct kernel_syscall_filter translated = { .format = f, .d = d };
	const char *event = is_entry ? "sys_enter" : "sys_exit";
	struct text filter = { 0 };
	int err =
		kernel_selection_filter(s, is_entry, kernel_translate_filter, &translated, &filter);

	if (err == -E2BIG)
		diag_fail(d, err, "too many filters for system calls: join some");
	if (!err && filter.failed)
		err = diag_fail(d, -ENOMEM, "no memory for a filter of system calls");
	if (!err && strcmp(filter.bytes, "0") != 0) /* a new instance has none */
		err = kernel_set_filter(k, "raw_syscalls", event, filter.bytes,
					translated.expression, d);
	text_fini(&filter);
	return err;
}

static int enable_syscalls(struct kernel *k, bool is_entry, struct diag *d)
{
	k->n_events++;
	return kernel_event_enable(k->instance.dir, "raw_syscalls",
				   is_entry ? "sys_enter" : "sys_exit", true, d);
}

static int leave_to_instance(struct kernel *k, const struct kernel_selection *s, bool is_entry,
			     const struct kernel_format *f, struct diag *d)
{
	bool has_filter = k->setup->has_begun;
	int err = has_filter ? 0 : kernel_instance_require(k, d);

	if (!err && !has_filter)
		err = filter_syscalls(k, s, is_entry, f, d);
	return err ? err : enable_syscalls(k, is_entry, d);
}

/* The filters of the BPF programs, numbered from 1: each distinct one for results, and one per call
 * for its arguments. */
struct bpf_filters {
	struct kernel_bpf_filter at[KERNEL_BPF_FILTERS_MAX];
	int nr[KERNEL_BPF_FILTERS_MAX]; /* the call, for a filter of arguments */
	int n;				/* one more than the array's size: too many */
};

/* The number of the filter for a call's exits; 0: none. */
static int number_of(const struct bpf_filters *filters, const char *filter)
{
	for (int i = 0; i < filters->n && i < KERNEL_BPF_FILTERS_MAX; i++)
		if (filters->at[i].expression == filter)
			return i + 1;
	return 0;
}

static void collect_result_filters(struct bpf_filters *filters, const struct kernel_selection *s)
{
	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX && filters->n <= KERNEL_BPF_FILTERS_MAX; nr++) {
		const char *filter = s->exit[nr] ? s->exit_filter[nr] : NULL;

		if (!filter || number_of(filters, filter))
			continue;
		if (filters->n < KERNEL_BPF_FILTERS_MAX)
			filters->at[filters->n].expression = filter;
		filters->n++;
	}
}

static void look_for_result(void *context, bool is_context, const char *name)
{
	*(bool *)context |= !is_context && !strcmp(name, "ret");
}

/* -k syscall_entry_x,syscall_exit_x -f 'ret < 0': both patterns have the same filter. */
static int is_about_results(const char *expression, bool *is, struct diag *d)
{
	struct filter_code *code = malloc(sizeof *code);
	int err = code ? filter_compile(expression, code, d)
		       : diag_fail(d, -ENOMEM, "no memory for a filter");

	*is = false;
	if (!err)
		filter_each_name(code, look_for_result, is);
	free(code);
	return err;
}

/* The names of a call's arguments come from the format of its own tracepoint. */
static int collect_argument_filter(struct kernel *k, struct bpf_filters *filters, int nr,
				   const char *expression, struct diag *d)
{
	struct kernel_format *call;
	char event[96];
	bool is_other;
	int err = is_about_results(expression, &is_other, d);

	if (err || is_other)
		return err;
	if (filters->n == KERNEL_BPF_FILTERS_MAX)
		return diag_fail(d, -E2BIG,
				 "%s: filters of arguments are for %d system calls at most",
				 expression, KERNEL_BPF_FILTERS_MAX);
	call = malloc(sizeof *call);
	if (!call)
		return diag_fail(d, -ENOMEM, "no memory for the format of a system call");
	filters->nr[filters->n] = nr;
	filters->at[filters->n++] = (struct kernel_bpf_filter){ expression, call };
	snprintf(event, sizeof event, "sys_enter_%s", kernel_syscall_kernel_name(nr));
	return kernel_event_format(kernel_formats(k), "syscalls", event, call, d);
}

static int collect_argument_filters(struct kernel *k, struct bpf_filters *filters,
				    const struct kernel_selection *s, struct diag *d)
{
	int err = 0;

	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX && !err; nr++)
		if (s->entry[nr] && s->entry_filter[nr])
			err = collect_argument_filter(k, filters, nr, s->entry_filter[nr], d);
	return err;
}

static void forget_filters(struct bpf_filters *filters)
{
	for (int i = 0; i < filters->n && i < KERNEL_BPF_FILTERS_MAX; i++)
		free((void *)filters->at[i].call);
}

static int describe_results(struct kernel *k, const struct kernel_selection *s,
			    const struct bpf_filters *filters)
{
	int err = 0;

	for (int nr = 0; nr < KERNEL_SYSCALLS_MAX && !err; nr++) {
		const struct abi_captures also =
			capture_of_call(kernel_syscall_name(nr), true, k->captures);

		if (!s->exit[nr])
			continue;
		kernel_bpf_filter(k->bpf, false, nr, number_of(filters, s->exit_filter[nr]));
		kernel_bpf_call(k->bpf, false, nr, k->texts[nr], &also, k->capture_bytes);
		if (also.n || k->texts[nr])
			err = kernel_classes_describe_result(&k->drain.classes, nr, k->texts[nr],
							     &also);
	}
	return err;
}

/* ---------------------------------------------------------------- entries, or exits */

struct half {
	struct kernel *kernel;
	struct kernel_selection *selection;
	bool is_entry;
	struct kernel_format raw;
	struct bpf_filters filters;
	int refused; /* by BPF, and why; else the program's bit */
	struct diag why;
	uint32_t bit;
	bool has_thread;
	pthread_t thread;
};

static void half_end(struct half *h)
{
	if (h && h->has_thread)
		pthread_join(h->thread, NULL);
	if (h)
		forget_filters(&h->filters);
	free(h);
}

static int half_begin(struct half **out, struct kernel *k, struct kernel_selection *s,
		      bool is_entry, struct diag *d)
{
	struct half *h = *out = calloc(1, sizeof *h);
	int err = 0;

	if (!h)
		return diag_fail(d, -ENOMEM, "no memory for the formats of kernel events");
	h->kernel = k;
	h->selection = s;
	h->is_entry = is_entry;
	if (!is_entry)
		collect_result_filters(&h->filters, s);
	else
		err = collect_argument_filters(k, &h->filters, s, d);
	return err ? err
		   : kernel_event_format(kernel_formats(k), "raw_syscalls",
					 is_entry ? "sys_enter" : "sys_exit", &h->raw, d);
}

static void *half_load(void *arg)
{
	struct half *h = arg;

	h->refused = !h->kernel->bpf || h->filters.n > KERNEL_BPF_FILTERS_MAX
			     ? -EOPNOTSUPP
			     : kernel_bpf_calls(h->kernel->bpf, h->is_entry, &h->raw, h->filters.at,
						h->filters.n, &h->bit, &h->why);
	return NULL;
}

/* The rest of what the programs need. */
static void choose_calls(const struct half *h)
{
	struct kernel *k = h->kernel;
	const struct kernel_selection *s = h->selection;
	bool is_entry = h->is_entry;

	for (int i = 0; i < h->filters.n && is_entry; i++)
		kernel_bpf_filter(k->bpf, true, h->filters.nr[i], i + 1);
	if (!kernel_selection_is_all(s, is_entry)) {
		/* its exit has no number, like those of unnamed calls */
		if (!is_entry && s->exit[__NR_rt_sigreturn]) {
			kernel_bpf_filter(
				k->bpf, false, KERNEL_SYSCALLS_MAX,
				number_of(&h->filters, s->exit_filter[__NR_rt_sigreturn]));
			kernel_bpf_call(k->bpf, false, KERNEL_SYSCALLS_MAX, 0, NULL, 0);
		}
		return;
	}
	if (!is_entry)
		kernel_bpf_filter(k->bpf, false, KERNEL_SYSCALLS_MAX,
				  h->filters.n); /* then one filter, or none, serves all calls */
	kernel_bpf_call(k->bpf, is_entry, KERNEL_SYSCALLS_MAX, 0, NULL, 0);
}

/* Whether BPF programs record it. */
static bool half_is_taken(struct half *h)
{
	if (h->has_thread)
		pthread_join(h->thread, NULL);
	else
		half_load(h);
	h->has_thread = false;
	*(h->is_entry ? &h->selection->entry_bpf : &h->selection->exit_bpf) = h->bit;
	if (*h->why.text)
		h->kernel->bpf_refused = h->why;
	if (!h->refused)
		choose_calls(h);
	return !h->refused;
}

static int half_complete(struct half *h, struct kernel_format *f, struct diag *d)
{
	struct kernel *k = h->kernel;
	struct kernel_selection *s = h->selection;
	bool by_bpf, is_entry = h->is_entry;
	int err = kernel_classes_add_syscalls(&k->drain.classes, &h->raw, is_entry, d);

	if (!err && k->setup->has_begun)
		err = filter_syscalls(
			k, s, is_entry, &h->raw,
			d); /* also for BPF's filters: so the kernel has accepted it */
	if (err)
		return err;
	by_bpf = half_is_taken(h);
	if (is_entry && h->filters.n && !by_bpf)
		return diag_fail(d, -EOPNOTSUPP,
				 "%s: only BPF programs can filter arguments of system calls: %s",
				 h->filters.at[0].expression,
				 k->bpf_refused.text[0]
					 ? k->bpf_refused.text
					 : "numbers with constants, joined by &&, ||, !, by "
					   "the names that the call has");
	if ((is_entry && kernel_describe_arguments(k, s, by_bpf, f)) ||
	    (!is_entry && by_bpf && describe_results(k, s, &h->filters)))
		return diag_fail(d, -ENOMEM, "no memory for the system calls");
	if (!by_bpf)
		err = leave_to_instance(k, s, is_entry, &h->raw, d);
	k->records_calls |= !err && is_entry;
	return err;
}

/* The verifier follows a program for some milliseconds, so a thread loads the one for exits while
 * the entries are set up. */
int kernel_setup_syscalls(struct kernel *k, struct kernel_selection *s, struct kernel_format *f,
			  struct diag *d)
{
	struct half *entries = NULL, *exits = NULL;
	int err = s->n_exit ? half_begin(&exits, k, s, false, d) : 0;

	if (!err && exits)
		exits->has_thread = kernel_thread_start(&exits->thread, half_load, exits);
	if (!err && s->n_entry)
		err = half_begin(&entries, k, s, true, d);
	if (!err && entries)
		err = half_complete(entries, f, d);
	if (!err && exits)
		err = half_complete(exits, f, d);
	half_end(entries);
	half_end(exits);
	return err;
}
