/* SPDX-License-Identifier: MIT */
/* analysis/wait/wait.c - see wait.h: before the first event and after the last. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/coverage.h"
#include "analysis/event_table.h"
#include "analysis/wait/internal.h"

static void mark_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct why_reading *r = context;

	r->is_a[number] = r->q->a && run_is_like(r->q->a, s, c->name);
	r->is_b[number] = r->q->b && run_is_like(r->q->b, s, c->name);
	r->w->n_classes_a += r->is_a[number];
	r->w->n_classes_b += r->is_b[number];
}

static int prepare(struct why_reading *r, struct diag *d)
{
	struct why *w = r->w;
	size_t n = trace_n_classes(w->run.trace) + (size_t)1;

	w->run.sees_before = true;
	r->plans = why_plan(w);
	r->is_a = calloc(n, sizeof *r->is_a);
	r->is_b = calloc(n, sizeof *r->is_b);
	w->waits = calloc(r->q->n_slowest + (size_t)1, sizeof *w->waits);
	w->slowest = calloc(r->q->n_slowest + (size_t)1, sizeof *w->slowest);
	if (!r->plans || !r->is_a || !r->is_b || !w->waits || !w->slowest || calls_init(&w->calls, &w->run) ||
	    irqs_init(&w->irqs, &w->run) || machine_init(&w->machine, &w->run) || follow_init(&r->follow, &w->run))
		return diag_fail(d, -ENOMEM, "no memory for threads");
	run_each_class(&w->run, mark_class, r);
	return 0;
}

static int end_life(struct why_reading *r, uint32_t thread, uint32_t *n_rooms)
{
	struct why *w = r->w;
	struct life *l = &r->lives[thread];
	struct why_row row = { .thread = thread };
	int err = 0;

	if (l->now.state == WHY_BLOCKED && why_is_asked(r, thread))
		err = why_follow_back(r, l, w->run.last_ns);
	why_end_wait(r, l, w->run.last_ns);
	if (!err)
		err = why_turn(r, thread, WHY_GONE, w->run.last_ns);
	w->n_open += l->is_in_span;
	row.account = l->account;
	for (int i = 0; i < WHY_STATES; i++)
		row.ns += row.account.ns[i];
	if (err || !row.ns || row.ns == row.account.ns[WHY_UNKNOWN] ||
	    threads_at(w->run.threads, thread)->tid <= 0)
		return err;
	if (!follow_is_whole(&r->follow, thread)) {
		w->n_left_out++;
		if (why_is_overview(r))
			return 0;
	}
	w->n_contradictions += why_is_target(r, thread) ? l->n_torn : 0;
	if (!r->q->a) {
		why_add_account(&w->all, &row.account);
		w->ns += row.ns;
	}
	if (run_grow(&w->rows, n_rooms, w->n_rows, sizeof *w->rows))
		return -ENOMEM;
	w->rows[w->n_rows++] = row;
	return 0;
}

static int most_known_first(const void *a, const void *b)
{
	const struct why_row *x = a, *y = b;
	uint64_t m = x->ns - x->account.ns[WHY_UNKNOWN], n = y->ns - y->account.ns[WHY_UNKNOWN];

	if (m != n)
		return m < n ? 1 : -1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int settle(struct why_reading *r)
{
	struct why *w = r->w;
	uint32_t n_rooms = 0;
	int err = 0;

	follow_settle(&r->follow);
	w->is_overview = why_is_overview(r);
	for (uint32_t i = 1; i < r->n_lives && i < threads_n(w->run.threads) && !err; i++)
		err = end_life(r, i, &n_rooms);
	if (w->n_rows)
		qsort(w->rows, w->n_rows, sizeof *w->rows, most_known_first);
	why_parts_settle(&w->parts);
	why_parts_settle(&w->chain);
	return err;
}

static void reading_close(struct why_reading *r)
{
	for (uint32_t i = 0; i < r->n_lives; i++) {
		free(r->lives[i].kept);
		if (r->lives[i].waits)
			free(r->lives[i].wait.pieces);
		why_forget_span(&r->lives[i]);
	}
	follow_fini(&r->follow);
	free(r->lives);
	free(r->places);
	free(r->plans);
	free(r->is_a);
	free(r->is_b);
	free(r);
}

int why_init(struct why *w, struct trace *t, const struct run_range *range, const struct why_question *q,
	     struct diag *d)
{
	struct why_reading *r = calloc(1, sizeof *r);
	int err;

	*w = (struct why){ 0 };
	if (!r)
		return diag_fail(d, -ENOMEM, "no memory for threads");
	r->w = w;
	r->q = q;
	err = run_init(&w->run, t, range, d);
	if (!err)
		err = prepare(r, d);
	if (!err)
		err = run_all(&w->run, why_see, why_see_lost, r, d);
	if (!err && settle(r))
		err = diag_fail(d, -ENOMEM, "no memory for threads");
	reading_close(r);
	if (err)
		why_fini(w);
	return err;
}

void why_fini(struct why *w)
{
	for (uint32_t i = 0; i < w->n_waits; i++)
		free(w->waits[i].pieces);
	for (uint32_t i = 0; i < w->n_slowest; i++)
		for (uint32_t k = 0; k < w->slowest[i].n_waits; k++)
			free(w->slowest[i].waits[k].pieces);
	free(w->waits);
	free(w->slowest);
	free(w->rows);
	free(w->parts.at);
	free(w->chain.at);
	samples_fini(&w->spans);
	calls_fini(&w->calls);
	irqs_fini(&w->irqs);
	machine_fini(&w->machine);
	run_fini(&w->run);
	*w = (struct why){ 0 };
}
