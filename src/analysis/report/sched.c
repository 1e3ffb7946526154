/* SPDX-License-Identifier: MIT */
/* analysis/report/sched.c - one state for each thread: it runs, waits for a CPU, or neither. */
#include "analysis/report/sched.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event_table.h"

enum role { ROLE_NONE, ROLE_SWITCH, ROLE_WAKING, ROLE_WAKEUP, ROLE_MIGRATE, ROLE_DEATH };

struct state { /* of a thread */
	bool runs, waits;
	uint8_t why; /* enum sched_wait */
	uint32_t epoch;
	int64_t since_ns;
};

struct reading {
	struct sched *s;
	struct coverage coverage;
	struct event_table *plans;
	struct state *states; /* by thread, like the rows */
	uint32_t n_states, n_rooms, n_slowest;
	bool by_process;
};

static const struct event_table_kind roles[] = {
	{ "sched_switch", ROLE_SWITCH, { "prev_tid", "next_tid", "prev_state" } },
	{ "sched_waking", ROLE_WAKING, { "tid" } },
	{ "sched_wakeup", ROLE_WAKEUP, { "tid" } },
	{ "sched_wakeup_new", ROLE_WAKEUP, { "tid" } },
	{ "sched_migrate_task", ROLE_MIGRATE, { "tid" } },
	{ "sched_process_exit", ROLE_DEATH, { NULL } },
};

/* The thread in field @op; 0 if there is none or it is an idle one; -ENOMEM. */
static int64_t thread_in(struct reading *r, struct pass *run, const struct trace_event *e,
			 const struct ctf_op *op)
{
	int64_t tid = pass_number(e, op, -1),
		number = tid > 0 ? threads_of(run->threads, e, tid) : 0;

	if (number <= 0)
		return number;
	if (pass_grow(&r->states, &r->n_states, (uint32_t)number, sizeof *r->states) ||
	    pass_grow(&r->s->rows, &r->n_rooms, (uint32_t)number, sizeof *r->s->rows))
		return -ENOMEM;
	return number;
}

static void begin_wait(struct state *st, enum sched_wait why, int64_t time_ns, uint32_t epoch)
{
	*st = (struct state){
		.waits = true, .why = (uint8_t)why, .epoch = epoch, .since_ns = time_ns
	};
}

static int end_wait(struct reading *r, uint32_t thread, const struct trace_event *e, uint32_t epoch)
{
	struct state *st = &r->states[thread];
	struct sched_row *row = &r->s->rows[thread];
	uint64_t duration_ns =
		e->time_ns > st->since_ns ? (uint64_t)(e->time_ns - st->since_ns) : 0;

	assert(!(st->runs && st->waits));
	if (!st->waits)
		return 0;
	st->waits = false;
	if (st->epoch != epoch) {
		r->s->n_cut++;
		return 0;
	}
	if (!row->slowest.at && slowest_init(&row->slowest, r->s->slowest.max))
		return -ENOMEM;
	slowest_add(&row->slowest,
		    &(struct slow){ duration_ns, st->since_ns, thread, st->why, (int64_t)e->cpu });
	return samples_add(st->why == SCHED_WOKEN ? &row->woken : &row->preempted, duration_ns);
}

static int on_switch(struct reading *r, const struct event_table *p, struct pass *run,
		     const struct trace_event *e)
{
	int64_t prev = thread_in(r, run, e, p->field[0]), next = thread_in(r, run, e, p->field[1]);
	uint32_t epoch = run->epoch[TRACE_KERNEL];
	int err = prev < 0 || next < 0 ? -ENOMEM : 0;

	r->s->n_switches++;
	if (!err && prev) {
		r->states[prev] = (struct state){ 0 };
		if (!(pass_number(e, p->field[2], THREAD_STATE_SLEEPS) & THREAD_STATE_SLEEPS)) {
			r->s->rows[prev].n_preempted++;
			begin_wait(&r->states[prev], SCHED_PREEMPTED, e->time_ns, epoch);
		}
	}
	if (!err && next) {
		err = end_wait(r, (uint32_t)next, e, epoch);
		r->states[next].runs = true;
		r->s->rows[next].n_switches++;
	}
	return err;
}

/* A thread on its way to sleep that is still on its CPU may be woken: then it runs on. After a loss
 * a thread is taken to be off CPU, because its switch-out may be lost. */
static int on_wakeup(struct reading *r, const struct event_table *p, struct pass *run,
		     const struct trace_event *e)
{
	int64_t thread = thread_in(r, run, e, p->field[0]);
	uint32_t epoch = run->epoch[TRACE_KERNEL];

	r->s->n_wakeups++;
	if (thread <= 0)
		return (int)thread;
	/* sched_waking is not sent to a runnable thread: it ran and slept since, without recorded
	 * switches. */
	if (!r->states[thread].runs && (!r->states[thread].waits || p->role == ROLE_WAKING))
		begin_wait(&r->states[thread], SCHED_WOKEN, e->time_ns, epoch);
	return 0;
}

static int on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
	const struct event_table *p = &r->plans[trace_class_number(e)];
	int64_t number;

	if (coverage_on_event(&r->coverage, run, e, thread) < 0)
		return -ENOMEM;
	switch (p->role) {
	case ROLE_NONE:
		return 0;
	case ROLE_SWITCH:
		return on_switch(r, p, run, e);
	case ROLE_WAKING:
	case ROLE_WAKEUP:
		return on_wakeup(r, p, run, e);
	case ROLE_MIGRATE:
		number = thread_in(r, run, e, p->field[0]);
		if (number > 0)
			r->s->rows[number].n_migrations++;
		return number < 0 ? -ENOMEM : 0;
	case ROLE_DEATH:
		if (thread < r->n_states)
			r->states[thread].waits = false;
		return 0;
	}
	return 0;
}

static int on_lost(void *context, struct pass *run, const struct trace_event *e)
{
	struct reading *r = context;

	(void)run;
	if (coverage_lost(&r->coverage, e) < 0)
		return -ENOMEM;
	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	for (uint32_t i = 0; i < r->n_states; i++) {
		r->s->n_cut += r->states[i].waits;
		r->states[i] = (struct state){ 0 };
	}
	return 0;
}

/* ---------------------------------------------------------------- the end */

static int add_up(struct sched_row *to, const struct sched_row *from)
{
	to->n_switches += from->n_switches;
	to->n_preempted += from->n_preempted;
	to->n_migrations += from->n_migrations;
	return samples_merge(&to->woken, &from->woken) ||
			       samples_merge(&to->preempted, &from->preempted)
		       ? -ENOMEM
		       : 0;
}

static void free_row(struct sched_row *row)
{
	samples_fini(&row->woken);
	samples_fini(&row->preempted);
	slowest_fini(&row->slowest);
	*row = (struct sched_row){ 0 };
}

static int by_thread(const void *a, const void *b)
{
	const struct sched_row *x = a, *y = b;

	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int most_waiting_first(const void *a, const void *b)
{
	const struct sched_row *x = a, *y = b;
	uint64_t m = x->woken.sum + x->preempted.sum, n = y->woken.sum + y->preempted.sum;

	return m != n ? (m < n ? 1 : -1) : by_thread(a, b);
}

static int finalize(void *context)
{
	struct reading *r = context;
	struct sched *s = r->s;
	uint32_t kept = 0;
	int err = coverage_finalize(&r->coverage, &s->run);

	s->n_rows = r->n_rooms;
	for (uint32_t i = 0; i < s->n_rows && !err; i++) {
		struct sched_row *row = &s->rows[i];

		row->thread = i;
		if (!row->n_switches && !row->n_preempted)
			continue;
		if (!coverage_is_complete(&r->coverage, i)) {
			s->n_left_out++;
			free_row(row);
			continue;
		}
		for (uint32_t k = 0; k < row->slowest.n; k++)
			slowest_add(&s->slowest, &row->slowest.at[k]);
		err = add_up(&s->all, row);
		row->thread = r->by_process ? threads_at(s->run.threads, i)->process : i;
	}
	if (s->n_rows)
		qsort(s->rows, s->n_rows, sizeof *s->rows, by_thread);
	for (uint32_t i = 0; i < s->n_rows && !err; i++) {
		struct sched_row *row = &s->rows[i];

		if (!row->n_switches && !row->n_preempted)
			continue;
		if (kept && s->rows[kept - 1].thread == row->thread) {
			err = add_up(&s->rows[kept - 1], row);
			free_row(row);
		} else if (kept++ != i) {
			s->rows[kept - 1] = *row;
			*row = (struct sched_row){ 0 };
		}
	}
	if (err)
		return err;
	s->n_rows = kept;
	if (s->n_rows)
		qsort(s->rows, s->n_rows, sizeof *s->rows, most_waiting_first);
	slowest_sort(&s->slowest);
	return 0;
}

static int prepare(void *context)
{
	struct reading *r = context;
	struct sched *s = r->s;

	r->plans = event_table_make(&s->run, roles, sizeof roles / sizeof *roles);
	if (!r->plans || slowest_init(&s->slowest, r->n_slowest) ||
	    coverage_init(&r->coverage, &s->run))
		return -ENOMEM;
	return 0;
}

int sched_init(struct sched *s, struct trace *t, const struct pass_range *range, bool by_process,
	       uint32_t n_slowest, struct diag *d)
{
	static const struct pass_analysis analysis = { .about = "threads",
						       .prepare = prepare,
						       .on_event = on_event,
						       .on_lost = on_lost,
						       .finish = finalize };
	struct reading r = { .s = s, .by_process = by_process, .n_slowest = n_slowest };
	int err;

	*s = (struct sched){ 0 };
	err = pass_run(&s->run, t, range, &analysis, &r, d);
	coverage_fini(&r.coverage);
	free(r.plans);
	free(r.states);
	if (err)
		sched_fini(s);
	return err;
}

void sched_fini(struct sched *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++)
		free_row(&s->rows[i]);
	free_row(&s->all);
	free(s->rows);
	slowest_fini(&s->slowest);
	pass_fini(&s->run);
	*s = (struct sched){ 0 };
}
