/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/locks.c - joins entries and exits of futex calls by thread; rows are merged by
 * process at the end.
 */
#include "analysis/report/locks.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event_table.h"

enum { FUTEX_LOCK_PI_2 = 13 }; /* some headers lack it */
enum role { ROLE_NONE, ROLE_WAKING, ROLE_DEATH };
enum does { DOES_NOTHING, DOES_WAIT, DOES_WAKE };

static const struct event_table_kind kinds[] = {
	{ "sched_waking", ROLE_WAKING, { "tid" } },
	{ "sched_process_exit", ROLE_DEATH, { NULL } },
};

struct state {		/* of a thread */
	enum does does; /* the call in progress */
	bool is_pi;
	uint32_t epoch;
	uint32_t futex; /* as objects_at() has it */
	int64_t begin_ns;
	uint32_t waker;
};

struct reading {
	struct locks *l;
	struct calls calls;
	struct event_table *plans;
	struct state *states; /* by thread */
	uint32_t n_states;
	const struct locks_options *o;
	struct index row_keys;	/* thread, futex */
	struct index edge_keys; /* waiter, waker, futex */
	uint32_t n_row_rooms, n_edge_rooms;
};

static struct lock_row *row_of(struct reading *r, uint32_t thread, uint32_t futex)
{
	int64_t i = index_find(&r->row_keys, thread, futex, 0, true);

	if (i < 0 || pass_grow(&r->l->rows, &r->n_row_rooms, (uint32_t)i, sizeof *r->l->rows))
		return NULL;
	r->l->rows[i].process = thread; /* until finalize() */
	r->l->rows[i].futex = futex;
	return &r->l->rows[i];
}

static enum does does_of(const struct calls *c, const struct call_made *m, bool *is_pi)
{
	const char *name = c->names[m->call - 1];
	int command = (int)m->args[1] & FUTEX_CMD_MASK;

	*is_pi = false;
	if (!strcmp(name, "futex_wait"))
		return DOES_WAIT;
	if (!strcmp(name, "futex_wake"))
		return DOES_WAKE;
	if (strcmp(name, "futex") != 0)
		return DOES_NOTHING;
	switch (command) {
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI_2:
		*is_pi = true;
		return DOES_WAIT;
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return DOES_WAIT;
	case FUTEX_UNLOCK_PI:
		*is_pi = true;
		return DOES_WAKE;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
		return DOES_WAKE;
	}
	return DOES_NOTHING;
}

/* The call in progress will get no exit. */
static int leave_open(struct reading *r, uint32_t thread)
{
	struct state *st = &r->states[thread];
	struct lock_row *row = st->does ? row_of(r, thread, st->futex) : NULL;

	if (!st->does)
		return 0;
	if (row)
		row->n_open++;
	st->does = DOES_NOTHING;
	return row ? 0 : -ENOMEM;
}

static int enter(struct reading *r, const struct call_class *c, const struct trace_event *e,
		 uint32_t thread, uint32_t epoch)
{
	struct state *st = &r->states[thread];
	struct call_made m;
	int64_t futex;

	if (leave_open(r, thread))
		return -ENOMEM;
	calls_read(c, e, &m);
	*st = (struct state){ .epoch = epoch, .begin_ns = e->time_ns };
	st->does = does_of(&r->calls, &m, &st->is_pi);
	if (!st->does)
		return 0;
	futex = objects_of_address(&r->l->objects, e, thread, (uint64_t)m.args[0]);
	r->l->n_calls++;
	st->futex = (uint32_t)futex;
	return futex < 0 ? -ENOMEM : 0;
}

static int add_edge(struct reading *r, const struct state *st, uint32_t thread, uint64_t ns)
{
	int64_t i = index_find(&r->edge_keys, thread, st->waker, st->futex, true);
	struct lock_edge *edge;

	if (i < 0 || pass_grow(&r->l->edges, &r->n_edge_rooms, (uint32_t)i, sizeof *r->l->edges))
		return -ENOMEM;
	edge = &r->l->edges[i];
	edge->waiter = thread;
	edge->waker = st->waker;
	edge->futex = st->futex;
	edge->n++;
	edge->ns += ns;
	edge->max_ns = ns > edge->max_ns ? ns : edge->max_ns;
	return 0;
}

static int end_wait(struct reading *r, struct lock_row *row, uint32_t thread, int64_t time_ns,
		    int64_t result)
{
	const struct state *st = &r->states[thread];
	uint64_t ns = time_ns > st->begin_ns ? (uint64_t)(time_ns - st->begin_ns) : 0;

	if (result == -EAGAIN) {
		row->n_changed++;
		return 0;
	}
	assert(row->n_timed_out + row->n_interrupted <= row->waits.n);
	row->n_timed_out += result == -ETIMEDOUT;
	row->n_interrupted += result < 0 && result != -ETIMEDOUT;
	row->is_pi |= st->is_pi;
	if (!result && r->l->has_wakeups && !st->waker)
		r->l->n_without_waker++;
	slowest_add(&r->l->slowest, &(struct slow){ ns, st->begin_ns, thread,
						    result ? 0 : st->waker, (int64_t)st->futex });
	if (!result && st->waker && add_edge(r, st, thread, ns))
		return -ENOMEM;
	return samples_add(&r->l->waits, ns) || samples_add(&row->waits, ns) ? -ENOMEM : 0;
}

static int leave(struct reading *r, const struct call_class *c, const struct trace_event *e,
		 uint32_t thread, uint32_t epoch)
{
	struct state *st = &r->states[thread];
	int64_t result = pass_number(e, c->field[0], 0);
	struct lock_row *row;
	int err = 0;

	if (!st->does)
		return 0;
	if (st->epoch != epoch)
		return leave_open(r, thread);
	row = row_of(r, thread, st->futex);
	if (!row)
		return -ENOMEM;
	if (st->does == DOES_WAIT) {
		err = end_wait(r, row, thread, e->time_ns, result);
	} else {
		row->n_wakes++;
		row->n_woken += result > 0 ? (uint64_t)result : 0;
	}
	st->does = DOES_NOTHING;
	return err;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	uint32_t class = trace_class_number(e), epoch = run->epoch[TRACE_KERNEL];
	const struct call_class *c = r->calls.classes[class];
	const struct event_table *p = &r->plans[class];
	int64_t woken;

	if (objects_on_event(&r->l->objects, run, &r->calls, e, thread))
		return -ENOMEM;
	if (e->time_ns < run->range.from_ns || (!c->is && !p->role))
		return 0;
	if (pass_grow(&r->states, &r->n_states, thread, sizeof *r->states))
		return -ENOMEM;
	if (c->is == CALL_ENTRY)
		return enter(r, c, e, thread, epoch);
	if (c->is == CALL_EXIT)
		return leave(r, c, e, thread, epoch);
	if (p->role == ROLE_DEATH)
		return leave_open(r, thread);
	woken = threads_of(run->threads, e, pass_number(e, p->field[0], -1));
	if (woken > 0 && woken < r->n_states)
		r->states[woken].waker = threads_at(run->threads, thread)->tid > 0 ? thread : 0;
	return woken < 0 ? -ENOMEM : 0;
}

/* ---------------------------------------------------------------- the end */

static int by_futex(const void *a, const void *b)
{
	const struct lock_row *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->futex < y->futex ? -1 : x->futex > y->futex;
}

static int most_waiting_first(const void *a, const void *b)
{
	const struct lock_row *x = a, *y = b;

	if (x->waits.sum != y->waits.sum)
		return x->waits.sum < y->waits.sum ? 1 : -1;
	return by_futex(a, b);
}

static int most_edge_first(const void *a, const void *b)
{
	const struct lock_edge *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->waiter != y->waiter ? (x->waiter < y->waiter ? -1 : 1)
				      : (x->futex < y->futex ? -1 : 1);
}

static int add_up(struct lock_row *to, struct lock_row *from)
{
	int err = samples_merge(&to->waits, &from->waits);

	to->is_pi |= from->is_pi;
	to->n_timed_out += from->n_timed_out;
	to->n_interrupted += from->n_interrupted;
	to->n_changed += from->n_changed;
	to->n_open += from->n_open;
	to->n_wakes += from->n_wakes;
	to->n_woken += from->n_woken;
	samples_fini(&from->waits);
	return err;
}

/* The process of @thread, and the futex by its final number. */
static void settle(const struct locks *l, uint32_t thread, uint32_t *process, uint32_t *futex)
{
	const struct object *f = objects_at(&l->objects, *futex);

	*process = threads_at(l->run.threads, thread)->process;
	*futex = f ? f->same : 0;
}

static int finalize(void *context)
{
	struct reading *r = context;
	struct locks *l = r->l;
	uint32_t kept = 0;
	int err = objects_settle(&l->objects);

	for (uint32_t i = 0; i < r->n_states && i < threads_n(l->run.threads) && !err; i++)
		err = leave_open(r, i);
	l->n_rows = r->row_keys.n < r->n_row_rooms ? r->row_keys.n : r->n_row_rooms;
	l->n_edges = r->edge_keys.n < r->n_edge_rooms ? r->edge_keys.n : r->n_edge_rooms;
	for (uint32_t i = 0; i < l->n_rows; i++)
		settle(l, l->rows[i].process, &l->rows[i].process, &l->rows[i].futex);
	for (uint32_t i = 0; i < l->n_edges; i++)
		settle(l, l->edges[i].waiter, &l->edges[i].process, &l->edges[i].futex);
	if (l->n_rows)
		qsort(l->rows, l->n_rows, sizeof *l->rows, by_futex);
	for (uint32_t i = 0; i < l->n_rows && !err; i++) {
		if (kept && !by_futex(&l->rows[kept - 1], &l->rows[i])) {
			err = add_up(&l->rows[kept - 1], &l->rows[i]);
		} else if (kept++ != i) {
			l->rows[kept - 1] = l->rows[i];
			l->rows[i] = (struct lock_row){ 0 };
		}
	}
	if (err)
		return err;
	l->n_rows = kept;
	if (kept)
		qsort(l->rows, kept, sizeof *l->rows, most_waiting_first);
	if (l->n_edges)
		qsort(l->edges, l->n_edges, sizeof *l->edges, most_edge_first);
	slowest_sort(&l->slowest);
	return 0;
}

static int prepare(void *context)
{
	struct reading *r = context;
	struct locks *l = r->l;

	r->plans = event_table_make(&l->run, kinds, sizeof kinds / sizeof *kinds);
	if (!r->plans || calls_init(&r->calls, &l->run) ||
	    slowest_init(&l->slowest, r->o->n_slowest) ||
	    objects_init(&l->objects, &l->run, r->o->paths, r->o->n_paths, NULL))
		return -ENOMEM;
	l->has_calls = r->calls.has_entries;
	l->has_wakeups = event_table_has(&l->run, r->plans, ROLE_WAKING);
	return 0;
}

int locks_init(struct locks *l, struct trace *t, const struct pass_range *range,
	       const struct locks_options *o, struct diag *d)
{
	static const struct pass_analysis analysis = {
		.about = "locks",
		.wants_earlier = true, /* for stacks of threads */
		.prepare = prepare,
		.on_event = on_event,
		.finish = finalize,
	};
	struct reading r = { .l = l, .o = o };
	int err;

	*l = (struct locks){ 0 };
	err = pass_run(&l->run, t, range, &analysis, &r, d);
	if (!err)
		err = objects_read_blocks(&l->objects, &l->run, o->paths, o->n_paths, d);
	free(r.plans);
	free(r.states);
	calls_fini(&r.calls);
	index_fini(&r.row_keys);
	index_fini(&r.edge_keys);
	if (err)
		locks_fini(l);
	return err;
}

void locks_fini(struct locks *l)
{
	for (uint32_t i = 0; i < l->n_rows; i++)
		samples_fini(&l->rows[i].waits);
	free(l->rows);
	free(l->edges);
	samples_fini(&l->waits);
	slowest_fini(&l->slowest);
	objects_fini(&l->objects);
	pass_fini(&l->run);
	*l = (struct locks){ 0 };
}
