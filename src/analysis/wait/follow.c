/* SPDX-License-Identifier: MIT */
/* analysis/wait/follow.c - wait.h's states without its sums: see follow.h. */
#include "analysis/wait/follow.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/wait/internal.h"

struct wait_follow {
	struct wait_analysis w;
	struct wait_reading *r;
};

/* The overview of all threads needs no paths of waits. */
static const struct wait_question overview = { .tid = -1, .pid = -1 };

int wait_follow_open(struct wait_follow **result, struct trace *t, const struct pass_range *range,
		     struct diag *d)
{
	struct wait_follow *f = calloc(1, sizeof *f);
	int err;

	*result = f;
	if (f)
		f->r = calloc(1, sizeof *f->r);
	if (!f || !f->r) {
		free(f);
		*result = NULL;
		return diag_fail(d, -ENOMEM, "no memory for threads");
	}
	f->r->w = &f->w;
	f->r->q = &overview;
	f->r->is_followed = true;
	err = pass_init(&f->w.run, t, range, d);
	if (!err && wait_prepare(f->r))
		err = diag_fail(d, -ENOMEM, "no memory for threads");
	if (!err)
		return 0;
	wait_follow_close(f);
	*result = NULL;
	return err;
}

void wait_follow_close(struct wait_follow *f)
{
	if (!f)
		return;
	wait_close(f->r);
	wait_fini(&f->w);
	free(f);
}

struct pass *wait_follow_pass(struct wait_follow *f)
{
	return &f->w.run;
}

const struct wait_analysis *wait_follow_known(const struct wait_follow *f)
{
	return &f->w;
}

int wait_follow_event(struct wait_follow *f, const struct trace_event *e, uint32_t thread)
{
	f->r->n_changed = 0;
	return wait_on_event(f->r, &f->w.run, e, thread);
}

int wait_follow_lost(struct wait_follow *f, const struct trace_event *e)
{
	f->r->n_changed = 0;
	return wait_on_lost(f->r, &f->w.run, e);
}

const uint32_t *wait_follow_changed(const struct wait_follow *f, uint32_t *n)
{
	*n = f->r->n_changed;
	return f->r->changed;
}

struct wait_view wait_follow_view(const struct wait_follow *f, uint32_t thread)
{
	const struct wait_thread *t;

	if (!thread || thread >= f->r->n_threads)
		return (struct wait_view){ .state = WAIT_UNKNOWN };
	t = &f->r->threads[thread];
	return (struct wait_view){ t->now.state, t->in_call, t->call.call, t->cpu };
}

const struct wait_interval *wait_follow_reason(const struct wait_follow *f, uint32_t thread)
{
	if (!thread || thread >= f->r->n_threads || !f->r->threads[thread].waits)
		return NULL;
	return &f->r->threads[thread].wait;
}
