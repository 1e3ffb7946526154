/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/wait.c - prepares the pass, and makes rows from the states of threads at its end:
 * see wait.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/coverage.h"
#include "analysis/event_table.h"
#include "analysis/names/heap_sites.h"
#include "analysis/wait/internal.h"

static void mark_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct wait_reading *r = context;

	r->is_a[number] = r->q->a && pass_is_like(r->q->a, s, c->name);
	r->is_b[number] = r->q->b && pass_is_like(r->q->b, s, c->name);
	r->w->n_classes_a += r->is_a[number];
	r->w->n_classes_b += r->is_b[number];
}

int wait_prepare(void *context)
{
	struct wait_reading *r = context;
	struct wait_analysis *w = r->w;
	size_t n = trace_n_classes(w->run.trace) + (size_t)1;

	r->plans = wait_plan(w);
	r->is_a = calloc(n, sizeof *r->is_a);
	r->is_b = calloc(n, sizeof *r->is_b);
	w->waits = calloc(r->q->n_slowest + (size_t)1, sizeof *w->waits);
	w->slowest = calloc(r->q->n_slowest + (size_t)1, sizeof *w->slowest);
	if (!r->plans || !r->is_a || !r->is_b || !w->waits || !w->slowest ||
	    calls_init(&w->calls, &w->run) || irq_stack_init(&w->irqs, &w->run) ||
	    devices_init(&w->machine, &w->run) || coverage_init(&r->coverage, &w->run))
		return -ENOMEM;
	/* Sums of all threads have no objects. */
	if (r->q->n_paths && !wait_is_overview(r) &&
	    wait_names(r, r->q->paths, r->q->n_paths, NULL))
		return -ENOMEM;
	pass_each_class(&w->run, mark_class, r);
	return 0;
}

int wait_names(struct wait_reading *r, const char *const *paths, int n_paths, struct diag *d)
{
	struct wait_analysis *w = r->w;

	if (objects_init(&w->objects, &w->run, paths, n_paths, d))
		return -ENOMEM;
	w->has_objects = true;
	return r->is_followed ? 0
			      : heap_sites_open(&w->sites, w->run.trace, "sched_switch", paths,
						n_paths, d);
}

static int finish_thread(struct wait_reading *r, uint32_t thread, uint32_t *n_rooms)
{
	struct wait_analysis *w = r->w;
	struct wait_thread *t = &r->threads[thread];
	struct wait_row row = { .thread = thread };
	int err = 0;

	if (t->now.state == WAIT_BLOCKED && wait_is_asked(r, thread))
		err = wait_follow_back(r, t, w->run.last_ns);
	wait_end_wait(r, t, w->run.last_ns);
	if (!err)
		err = wait_change_state(r, thread, WAIT_GONE, w->run.last_ns);
	w->n_open += t->is_in_span;
	row.account = t->account;
	for (int i = 0; i < WAIT_STATES; i++)
		row.ns += row.account.ns[i];
	if (err || !row.ns || row.ns == row.account.ns[WAIT_UNKNOWN] ||
	    threads_at(w->run.threads, thread)->tid <= 0)
		return err;
	if (!coverage_is_complete(&r->coverage, thread)) {
		w->n_left_out++;
		if (wait_is_overview(r))
			return 0;
	}
	w->n_contradictions += wait_is_target(r, thread) ? t->n_contradictions : 0;
	if (!r->q->a) {
		wait_add_account(&w->all, &row.account);
		w->ns += row.ns;
	}
	if (pass_grow(&w->rows, n_rooms, w->n_rows, sizeof *w->rows))
		return -ENOMEM;
	w->rows[w->n_rows++] = row;
	return 0;
}

static int most_known_first(const void *a, const void *b)
{
	const struct wait_row *x = a, *y = b;
	uint64_t m = x->ns - x->account.ns[WAIT_UNKNOWN], n = y->ns - y->account.ns[WAIT_UNKNOWN];

	if (m != n)
		return m < n ? 1 : -1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int finalize(void *context)
{
	struct wait_reading *r = context;
	struct wait_analysis *w = r->w;
	uint32_t n_rooms = 0;
	int err = coverage_finalize(&r->coverage, &w->run);

	if (!err && w->has_objects)
		err = objects_settle(&w->objects);
	w->is_overview = wait_is_overview(r);
	for (uint32_t i = 1; i < r->n_threads && i < threads_n(w->run.threads) && !err; i++)
		err = finish_thread(r, i, &n_rooms);
	if (w->n_rows)
		qsort(w->rows, w->n_rows, sizeof *w->rows, most_known_first);
	wait_parts_sort(&w->parts);
	wait_parts_sort(&w->chain);
	return err ? err : wait_holders_settle(r);
}

void wait_close(struct wait_reading *r)
{
	for (uint32_t i = 0; i < r->n_threads; i++) {
		free(r->threads[i].history);
		if (r->threads[i].waits)
			free(r->threads[i].wait.slices);
		wait_forget_span(&r->threads[i]);
	}
	wait_holders_free(r);
	coverage_fini(&r->coverage);
	free(r->threads);
	free(r->cpus);
	free(r->plans);
	free(r->changed);
	free(r->closed);
	free(r->is_a);
	free(r->is_b);
	free(r);
}

int wait_init(struct wait_analysis *w, struct trace *t, const struct pass_range *range,
	      const struct wait_question *q, struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "threads",
		.wants_earlier = true, /* states begin before the range */
		.prepare = wait_prepare,
		.on_event = wait_on_event,
		.on_lost = wait_on_lost,
		.finish = finalize,
	};
	struct wait_reading *r = calloc(1, sizeof *r);
	int err;

	*w = (struct wait_analysis){ 0 };
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory for threads");
	r->w = w;
	r->q = q;
	err = pass_run(&w->run, t, range, &analysis, r, d);
	if (!err && w->has_objects)
		err = objects_read_blocks(&w->objects, &w->run, q->paths, q->n_paths, d);
	wait_close(r);
	if (err)
		wait_fini(w);
	return err;
}

void wait_fini(struct wait_analysis *w)
{
	for (uint32_t i = 0; i < w->n_waits; i++)
		free(w->waits[i].slices);
	for (uint32_t i = 0; i < w->n_slowest; i++)
		for (uint32_t k = 0; k < w->slowest[i].n_waits; k++)
			free(w->slowest[i].waits[k].slices);
	free(w->waits);
	free(w->slowest);
	free(w->rows);
	free(w->parts.at);
	free(w->chain.at);
	free(w->holders.at);
	heap_sites_close(w->sites);
	samples_fini(&w->spans);
	objects_fini(&w->objects);
	calls_fini(&w->calls);
	irq_stack_fini(&w->irqs);
	devices_fini(&w->machine);
	pass_fini(&w->run);
	*w = (struct wait_analysis){ 0 };
}
