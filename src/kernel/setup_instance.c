/* SPDX-License-Identifier: MIT */
/*
 * kernel/setup_instance.c - clock, modes and buffers of an instance, in a thread of their own.
 *
 * The order matters. Setting the sub-buffers' size clears the buffers, so it precedes the buffers'
 * size; the clock is set before any record. record-cmd is disabled because saving names adds two
 * thirds to the cost of a sched_switch, and the trace has the names anyway.
 *
 * The kernel waits for grace periods in most steps, hence the thread: four for the clock (of a buffer
 * and its spare, each twice), two for the sub-buffers. It can wait for both at once, as neither needs
 * the other, so the sub-buffers have a thread too. The size of the buffers follows from the chosen
 * events, which are announced to it, and from whether BPF programs record them, which is assumed: if
 * it is not so, they are sized again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "clock/clock.h"
#include "kernel/internal.h"

enum { QUIET_PART = 8 };

static int set_number(const struct kernel *k, const char *file, long value, struct diag *d)
{
	char text[32];

	snprintf(text, sizeof text, "%ld", value);
	return kernel_set(k, file, text, d);
}

/* The number at the start of a file of the instance; 0 if there is none. */
static unsigned long get_number(const struct kernel *k, const char *file)
{
	unsigned long value;
	char *text;

	if (kernel_tracefs_read(k->instance.dir, file, &text) < 0)
		return 0;
	value = strtoul(text, NULL, 10);
	free(text);
	return value;
}

/* Before Linux 6.8 a sub-buffer is a page, and reading costs two to three times more. */
static void *size_subbuffers(void *arg)
{
	struct kernel_instance_setup *p = arg;
	char kib[16];

	snprintf(kib, sizeof kib, "%d", KERNEL_SUBBUFFER_KIB);
	if (p->subbuffers >= 0)
		(void)!io_write(p->subbuffers, kib, strlen(kib));
	return NULL;
}

static void read_subbuffers(struct kernel *k)
{
	unsigned long kib = get_number(k, "buffer_subbuf_size_kb");

	k->drain.page_size = kib ? kib * 1024 : (size_t)sysconf(_SC_PAGESIZE);
}

static int set_up_options(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	int err = kernel_set(k, "trace_options", "norecord-cmd", d);

	if (!err)
		err = kernel_set(k, "trace_options", o->overwrite ? "overwrite" : "nooverwrite", d);
	if (!err)
		err = kernel_set(k, "trace_options", "event-fork", d);
	return err;
}

/* Whether the instance records only births and ends of processes because BPF programs record the
 * rest. */
static bool is_quiet(const struct kernel *k)
{
	for (int i = 0; i < k->selection.n_events; i++) {
		const struct kernel_pattern *e = &k->selection.events[i];

		if (!e->bpf && strcmp(e->system, "sched") != 0 && strcmp(e->system, "task") != 0)
			return false;
	}
	return (!k->selection.n_entry || k->selection.entry_bpf) &&
	       (!k->selection.n_exit || k->selection.exit_bpf);
}

/* The same before the programs are made: none of them is refused, usually. */
static bool will_be_quiet(const struct kernel *k, const struct kernel_options *o)
{
	for (int i = 0; i < k->selection.n_events; i++) {
		const char *system = k->selection.events[i].system;

		if (strcmp(system, "sched") != 0 && strcmp(system, "task") != 0 &&
		    (strcmp(system, "signal") != 0 || !k->capture_bytes))
			return false;
	}
	return !o->n_uprobes && !o->graph.n_patterns;
}

static int refuse_size(uint64_t kib, struct diag *d)
{
	return diag_fail(d, -EFBIG,
			 "a buffer of %" PRIu64
			 " KiB of each CPU is more than the lender of kernel "
			 "tracing lends: an eighth of memory for all\n  choose a smaller "
			 "--kernel-buffer",
			 kib);
}

/*
 * Whether the buffers may stay as the kernel made them. Setting their size costs another grace period,
 * 15 ms, and of births and ends of processes thousands fit in either.
 */
static bool may_stay(const struct kernel *k, const struct kernel_options *o, uint64_t wanted,
		     bool quiet, uint64_t *kib)
{
	*kib = quiet && !o->buffer_kib ? get_number(k, "buffer_size_kb") : 0;
	return *kib >= wanted / 2 && *kib <= wanted;
}

static uint64_t wanted_kib(const struct kernel *k, const struct kernel_options *o, bool quiet)
{
	uint64_t kib = kernel_buffer_kib(o) / (quiet ? QUIET_PART : 1),
		 page_kib = k->drain.page_size / 1024;

	return k->bpf && kib < 2 * page_kib ? 2 * page_kib : kib;
}

static void count_pages(struct kernel *k, uint64_t kib)
{
	k->drain.buffer_pages = (uint32_t)(kib / (k->drain.page_size / 1024));
}

static int size_buffers(struct kernel *k, uint64_t kib, struct diag *d)
{
	int err = set_number(k, "buffer_size_kb", (long)kib, d);

	count_pages(k, kib);
	return err == -EFBIG ? refuse_size(kib, d) : err;
}

static void set_clock(struct kernel_instance_setup *p)
{
	p->err = kernel_set(p->kernel, "trace_clock", clock_tracefs_name(&p->kernel->drain.clock),
			    &p->d);
}

/* The file is opened first: opening waits for whoever sets the clock. */
static void set_clock_and_subbuffers(struct kernel_instance_setup *p)
{
	pthread_t thread;
	bool beside;

	p->subbuffers =
		openat(p->kernel->instance.dir, "buffer_subbuf_size_kb", O_WRONLY | O_CLOEXEC);
	beside = p->subbuffers >= 0 && kernel_thread_start(&thread, size_subbuffers, p);
	set_clock(p);
	if (beside)
		pthread_join(thread, NULL);
	else
		size_subbuffers(p);
	if (p->subbuffers >= 0)
		close(p->subbuffers);
}

static void set_up_modes(struct kernel_instance_setup *p)
{
	struct kernel *k = p->kernel;

	if (k->root >= 0) {
		set_clock_and_subbuffers(p);
	} else { /* a lender serves one request after the other */
		set_clock(p);
		set_number(k, "buffer_subbuf_size_kb", KERNEL_SUBBUFFER_KIB, NULL);
	}
	read_subbuffers(k);
	if (!p->err)
		p->err = set_up_options(k, p->o, &p->d);
}

static void size_early(struct kernel_instance_setup *p)
{
	uint64_t kib;

	if (p->err || !p->has_events)
		return;
	p->kib = wanted_kib(p->kernel, p->o, p->is_quiet);
	if (may_stay(p->kernel, p->o, p->kib, p->is_quiet, &kib))
		count_pages(p->kernel, kib);
	else
		p->err = size_buffers(p->kernel, p->kib, &p->d);
}

static void *set_up_instance(void *arg)
{
	struct kernel_instance_setup *p = arg;

	set_up_modes(p);
	while (sem_wait(&p->events))
		;
	size_early(p);
	return NULL;
}

int kernel_instance_begin(struct kernel_instance_setup *p, struct diag *d)
{
	struct kernel *k = p->kernel;
	int err = k->root < 0 ? 0 : kernel_instance_create(&k->instance, k->root, d);

	if (err)
		return err;
	k->drain.instance = k->instance.dir;
	p->has_begun = true;
	sem_init(&p->events, 0, 0);
	p->has_thread = kernel_thread_start(&p->thread, set_up_instance, p);
	if (!p->has_thread)
		set_up_modes(p);
	return 0;
}

void kernel_instance_announce(struct kernel_instance_setup *p)
{
	if (!p->has_begun)
		return;
	p->has_events = true;
	p->is_quiet = p->kernel->bpf && will_be_quiet(p->kernel, p->o);
	if (p->has_thread)
		sem_post(&p->events);
	else
		size_early(p);
}

int kernel_instance_end(struct kernel_instance_setup *p, int err, struct diag *d)
{
	if (p->has_thread) {
		if (!p->has_events)
			sem_post(&p->events);
		pthread_join(p->thread, NULL);
	}
	p->has_thread = false;
	return err || !p->err ? err : diag_fail(d, p->err, "%s", p->d.text);
}

int kernel_instance_resize(struct kernel_instance_setup *p, struct diag *d)
{
	struct kernel *k = p->kernel;
	uint64_t kib = p->has_begun ? wanted_kib(k, p->o, k->bpf && is_quiet(k)) : p->kib;

	return kib == p->kib ? 0 : size_buffers(k, kib, d);
}

int kernel_instance_require(struct kernel *k, struct diag *d)
{
	int err = k->setup->has_begun ? 0 : kernel_instance_begin(k->setup, d);

	if (err)
		return err;
	if (!k->setup->has_events)
		kernel_instance_announce(k->setup);
	return kernel_instance_end(k->setup, 0, d);
}
