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

static int update_tables(struct wait_reading *r)
{
	struct wait_analysis *w = r->w;
	size_t n = trace_n_classes(w->run.trace) + (size_t)1;
	struct event_table *plans = wait_plan(w);
	bool *none = calloc(n, sizeof *none), *none_either = calloc(n, sizeof *none);

	if (!plans || !none || !none_either) {
		free(plans);
		free(none);
		free(none_either);
		return -ENOMEM;
	}
	free(r->plans);
	free(r->is_a);
	free(r->is_b);
	r->plans = plans;
	r->is_a = none; /* the overview asks for no spans */
	r->is_b = none_either;
	return 0;
}

int wait_follow_update(struct wait_follow *f, struct diag *d)
{
	struct wait_analysis *w = &f->w;
	uint32_t n_before = w->calls.n_classes;
	int err = threads_update(w->run.threads, w->run.trace, d);

	if (!err && w->has_objects && objects_update(&w->objects, &w->run))
		return diag_fail(d, -ENOMEM, "no memory for names");
	if (err || n_before == trace_n_classes(w->run.trace) + 1)
		return err;
	if (calls_update(&w->calls, &w->run) || update_tables(f->r) ||
	    irq_stack_update(&w->irqs, &w->run) || devices_update(&w->machine, &w->run) ||
	    coverage_update(&f->r->coverage, &w->run))
		return diag_fail(d, -ENOMEM, "no memory for threads");
	return 0;
}

int wait_follow_names(struct wait_follow *f, const char *const *paths, int n_paths, struct diag *d)
{
	return wait_names(f->r, paths, n_paths, d);
}

void wait_follow_spare(struct wait_follow *f)
{
	f->r->needs_no_arguments = true;
}

const struct irq_stack_event *wait_follow_irq(const struct wait_follow *f)
{
	return &f->r->irq;
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
	f->r->n_changed = f->r->n_closed = 0;
	return wait_on_event(f->r, &f->w.run, e, thread);
}

/* Whether @thread runs on @cpu, in no interrupt, as all its events have said. */
static bool is_steady(const struct wait_reading *r, int64_t cpu, uint32_t thread)
{
	return cpu >= 0 && cpu < r->n_cpus && thread && thread < r->n_threads &&
	       r->cpus[cpu].thread == thread + 1 && r->threads[thread].cpu == cpu + 1 &&
	       !irq_stack_on(&r->w->irqs, (uint32_t)cpu) && coverage_has_own(&r->coverage, thread);
}

bool wait_follow_call(struct wait_follow *f, const struct trace_event *e, uint32_t thread,
		      struct wait_closed *closed, uint8_t *state)
{
	struct wait_reading *r = f->r;
	const struct call_class *c = f->w.calls.classes[trace_class_number(e)];
	struct wait_thread *t;

	if (!c->is || !r->needs_no_arguments || !is_steady(r, pass_cpu(&f->w.run, e), thread) ||
	    r->coverage.scoped != e->stream->source)
		return false;
	t = &r->threads[thread];
	if (c->is == CALL_EXIT && !t->in_call)
		return false;
	*closed = (struct wait_closed){ thread, t->now.state, t->now.begin_ns, e->time_ns };
	t->has_called = true;
	t->in_fault = false;
	t->in_call = c->is == CALL_ENTRY;
	t->call.class = t->in_call ? c : NULL;
	t->call.call = t->in_call ? c->call + 1 : 0;
	*state = t->in_call ? WAIT_KERNEL : WAIT_USER;
	t->now = (struct wait_segment){ e->time_ns, INT64_MAX, *state, t->call.call, 0, { 0 } };
	return true;
}

int wait_follow_lost(struct wait_follow *f, const struct trace_event *e)
{
	f->r->n_changed = f->r->n_closed = 0;
	return wait_on_lost(f->r, &f->w.run, e);
}

const uint32_t *wait_follow_changed(const struct wait_follow *f, uint32_t *n)
{
	*n = f->r->n_changed;
	return f->r->changed;
}

const struct wait_closed *wait_follow_closed(const struct wait_follow *f, uint32_t *n)
{
	*n = f->r->n_closed;
	return f->r->closed;
}

int wait_follow_weigh(struct wait_follow *f)
{
	return coverage_finalize(&f->r->coverage, &f->w.run);
}

bool wait_follow_is_complete(const struct wait_follow *f, uint32_t thread)
{
	return coverage_is_complete(&f->r->coverage, thread);
}

struct wait_view wait_follow_view(const struct wait_follow *f, uint32_t thread)
{
	const struct wait_thread *t;

	if (!thread || thread >= f->r->n_threads)
		return (struct wait_view){ .state = WAIT_UNKNOWN };
	t = &f->r->threads[thread];
	return (struct wait_view){ t->now.state, t->in_call, t->call.call, t->cpu,
				   t->now.begin_ns };
}

const struct wait_interval *wait_follow_reason(const struct wait_follow *f, uint32_t thread)
{
	if (!thread || thread >= f->r->n_threads || !f->r->threads[thread].waits)
		return NULL;
	return &f->r->threads[thread].wait;
}
