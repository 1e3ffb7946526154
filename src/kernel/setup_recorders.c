/* SPDX-License-Identifier: MIT */
/*
 * kernel/setup_recorders.c - selects the events, and begins their recorders: an instance, BPF
 * programs, or both.
 *
 * Most recordings need an instance, which a thread sets up while the events are selected. It costs
 * grace periods at both ends of a recording, 30 to 200 ms. If BPF programs can record the whole
 * selection, as that of `duet strace` with births, names and ends of threads, no instance is made at
 * first. If the kernel refuses a program, the instance is made then (kernel_instance_require()).
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "kernel/internal.h"
#include "kernel/tracefs/rights.h"

/*
 * Opens BPF recording. With `overwrite`, tracefs needs no reader until its data is wanted, and
 * always holds the newest. A BPF ring has no such mode (kernel/bpf/overwrite.c). So with
 * `overwrite` BPF is used only on request.
 */
static int open_bpf(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	const struct kernel_bpf_options bo = { .ring_bytes = kernel_buffer_kib(o) * 1024ull,
					       .follows = !o->whole_machine,
					       .captures_extra = k->captures & CAPTURE_EXTRA,
					       .captures_files = k->captures & CAPTURE_FILES,
					       .captures_environment =
						       k->captures & CAPTURE_ENVIRONMENT,
					       .keeps_newest = o->overwrite };
	bool is_must = o->backend == KERNEL_BACKEND_BPF;
	struct diag *why = is_must ? d : &k->bpf_refused;
	int err;

	if (o->backend == KERNEL_BACKEND_FTRACE)
		return 0;
	if (o->overwrite && !is_must) {
		diag_fail(&k->bpf_refused, -EOPNOTSUPP, "a flight recorder uses ftrace");
		return 0;
	}
	err = kernel_bpf_open(&k->bpf, &bo, why);
	if (err == -EPERM && geteuid())
		kernel_rights_bpf(err, why);
	return is_must ? err : 0;
}

/* Making the rings takes as long as selecting the events, so a thread makes them. */
struct bpf_opening {
	struct kernel *kernel;
	const struct kernel_options *o;
	struct diag d;
	int err;
	bool has_thread;
	pthread_t thread;
};

static void *open_bpf_in_thread(void *arg)
{
	struct bpf_opening *p = arg;

	p->err = open_bpf(p->kernel, p->o, &p->d);
	return NULL;
}

static void begin_bpf(struct bpf_opening *p)
{
	p->has_thread = kernel_thread_start(&p->thread, open_bpf_in_thread, p);
}

/* @err: an earlier error, which is reported first. */
static int end_bpf(struct bpf_opening *p, int err, struct diag *d)
{
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	else if (!err)
		open_bpf_in_thread(p);
	if (!err && p->err && d)
		*d = p->d;
	return err ? err : p->err;
}

/* Some options need an instance, whatever the events are: it follows threads or filters. */
static bool may_lack_instance(const struct kernel *k, const struct kernel_options *o)
{
	for (int i = 0; i < o->n_patterns && o->filters; i++)
		if (o->filters[i])
			return false;
	return k->root >= 0 && o->backend != KERNEL_BACKEND_FTRACE && o->n_patterns &&
	       !o->overwrite && !o->n_cgroups && !o->contexts && !o->n_uprobes &&
	       !o->graph.n_patterns;
}

static bool can_bpf_record_all(const struct kernel *k)
{
	const struct kernel_selection *s = &k->selection;

	for (int i = 0; i < s->n_events; i++)
		if (!kernel_bpf_can(s->events[i].system, s->events[i].event, k->capture_bytes))
			return false;
	return !s->by_perf && !s->n_sampled && !s->n_functions;
}

int kernel_setup_recorders(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	struct bpf_opening opening = { .kernel = k, .o = o };
	bool may_lack = may_lack_instance(k, o), lacks = false;
	int err = may_lack ? 0 : kernel_instance_begin(k->setup, d);

	if (!err)
		begin_bpf(&opening);
	if (!err)
		err = kernel_setup_selection(k, o, d);
	if (!err && may_lack) {
		lacks = can_bpf_record_all(k);
		err = lacks ? 0 : kernel_instance_begin(k->setup, d);
	}
	err = end_bpf(&opening, err, d);
	if (!err && lacks && k->selection.n_events)
		kernel_bpf_keep_for_lives(k->bpf);
	if (!err)
		kernel_instance_announce(k->setup);
	return err;
}
