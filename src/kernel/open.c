/* SPDX-License-Identifier: MIT */
/*
 * kernel/open.c - opens the kernel's half, in one step or in two.
 *
 * Most of the time goes into waiting: the kernel waits for grace periods when the clock and the
 * sub-buffers of an instance are set, and its verifier follows the BPF programs. None of that
 * depends on the session, which is opened meanwhile (its clock alone is measured for 20 ms). So a
 * thread takes the first step:
 *
 *   kernel_prepare()   instance, programs, events: everything that needs only the clock's kind
 *   kernel_complete()  what needs the session's clock, or the directory of the recording
 *
 * The thread takes no signals, and it has ended before the process forks. See kernel.h.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/internal.h"

static int make(struct kernel **out, const struct kernel_options *o, struct diag *d)
{
	struct kernel *k = calloc(1, sizeof *k);

	*out = k;
	if (!k)
		return diag_fail(d, -ENOMEM, "no memory to record the kernel");
	k->root = -1;
	k->instance = KERNEL_NO_INSTANCE;
	k->available = -1;
	k->functions = KERNEL_NO_FUNCTIONS;
	k->drain.sink = (struct ctf_writer){ .dir = -1, .index_dir = -1, .metadata = -1 };
	k->drain.clock = *o->clock;
	k->whole_machine = o->whole_machine;
	k->dumps_followed = o->dumps_followed;
	k->capture_bytes = o->capture_bytes;
	if (o->capture_bytes)
		k->captures = CAPTURE_EXTRA | (o->captures_files ? CAPTURE_FILES : 0) |
			      (o->captures_environment ? CAPTURE_ENVIRONMENT : 0);
	k->is_overwrite = o->overwrite;
	k->ends_soon = o->ends_soon;
	return kernel_prepare(k, o, d);
}

static int complete(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	int err;

	k->drain.clock = *o->clock;
	k->clock_offset_ns = o->clock_offset_ns;
	k->is_of_command = o->is_of_command;
	err = kernel_complete(k, o, d);
	if (!err) {
		k->drain.sink.quota = o->quota;
		k->drain.sink.disk = o->disk;
		k->drain.sink.ledger = o->ledger;
	}
	return err;
}

/* The process may go on without the kernel's half: a child that removes the instance would be its
 * zombie. */
static int give_up(struct kernel **k, int err)
{
	if (*k)
		(*k)->ends_soon = false;
	kernel_close(*k);
	*k = NULL;
	return err;
}

int kernel_open(struct kernel **out, const struct kernel_options *o, struct diag *d)
{
	int err = make(out, o, d);

	if (!err)
		err = complete(*out, o, d);
	return err ? give_up(out, err) : 0;
}

/* ---------------------------------------------------------------- in two steps */

struct kernel_opening {
	struct kernel_options o;
	struct abi_clock clock;
	struct kernel *kernel;
	struct diag d;
	int err;
	bool has_thread;
	pthread_t thread;
};

static void *make_in_thread(void *arg)
{
	struct kernel_opening *p = arg;

	p->err = make(&p->kernel, &p->o, &p->d);
	return NULL;
}

bool kernel_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	bool has_thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	has_thread = !pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return has_thread;
}

struct kernel_opening *kernel_open_begin(const struct kernel_options *o)
{
	struct kernel_opening *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->o = *o;
	p->clock = *o->clock;
	p->o.clock = &p->clock;
	p->has_thread = kernel_thread_start(&p->thread, make_in_thread, p);
	if (p->has_thread)
		return p;
	free(p);
	return NULL;
}

static int wait_for(struct kernel_opening *p, struct kernel **out, struct diag *d)
{
	int err;

	assert(p->has_thread);
	pthread_join(p->thread, NULL);
	*out = p->kernel;
	err = p->err;
	if (d && *p->d.text)
		*d = p->d;
	free(p);
	return err;
}

int kernel_open_end(struct kernel_opening *p, struct kernel **out, const struct kernel_options *o,
		    struct diag *d)
{
	int err;

	if (!p)
		return kernel_open(out, o, d);
	err = wait_for(p, out, d);
	if (!err)
		err = complete(*out, o, d);
	return err ? give_up(out, err) : 0;
}

void kernel_open_abandon(struct kernel_opening *p)
{
	struct kernel *k;

	if (!p)
		return;
	wait_for(p, &k, NULL);
	kernel_close(k);
}
