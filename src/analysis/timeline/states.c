/* SPDX-License-Identifier: MIT */
/*
 * analysis/timeline/states.c - states of threads on the timeline, from switches and wakeups.
 *
 * A state is reported when it ends. One that a loss or an unselected event interrupts is dropped.
 */
#include <assert.h>
#include <errno.h>

#include "analysis/timeline/internal.h"

/* The thread in field @op if its states are known: not an idle one, and with all its switches; else
 * 0; or -ENOMEM. */
static int64_t thread_in(struct timeline *t, const struct timeline_current *n,
			 const struct ctf_op *op)
{
	int64_t tid = pass_number(n->e, op, -1),
		number = tid > 0 ? threads_of(t->threads, n->e, tid) : 0;

	if (number <= 0)
		return number;
	if (pass_grow(&t->states, &t->n_states, (uint32_t)number, sizeof *t->states))
		return -ENOMEM;
	return coverage_is_complete(&t->coverage, (uint32_t)number) ? number : 0;
}

static int end_state(struct timeline *t, uint32_t thread, const struct timeline_current *n)
{
	struct timeline_thread *s = &t->states[thread];
	struct timeline_item item = { .kind = TIMELINE_STATE,
				      .thread = thread,
				      .cpu = s->cpu,
				      .state = s->state,
				      .begin_ns = s->since_ns,
				      .time_ns = n->e->time_ns };

	assert(thread < t->n_states);
	if (s->state == TIMELINE_UNKNOWN || !n->is_chosen || s->since_ns >= n->e->time_ns)
		return 0;
	return timeline_report(t, &item);
}

static void begin_state(struct timeline *t, int64_t thread, enum timeline_state state,
			const struct timeline_current *n)
{
	struct timeline_thread *s = &t->states[thread];

	s->state = n->is_chosen ? (uint8_t)state : TIMELINE_UNKNOWN;
	s->cpu = n->e->cpu;
	s->since_ns = n->e->time_ns;
}

static int switch_out(struct timeline *t, const struct timeline_current *n, int64_t prev)
{
	int64_t state = pass_number(n->e, n->plan->field[2], THREAD_STATE_SLEEPS);
	struct timeline_thread *s = &t->states[prev];
	int err = s->state == TIMELINE_RUNNING && s->cpu == n->e->cpu
			  ? end_state(t, (uint32_t)prev, n)
			  : 0;

	begin_state(t, prev,
		    !(state & THREAD_STATE_SLEEPS) ? TIMELINE_RUNNABLE
		    : state & THREAD_STATE_DEAD	   ? TIMELINE_UNKNOWN
						   : TIMELINE_BLOCKED,
		    n);
	s->flow = 0;
	return err;
}

static int switch_in(struct timeline *t, const struct timeline_current *n, int64_t next)
{
	struct timeline_thread *s = &t->states[next];
	struct timeline_item item = { .kind = TIMELINE_RUNS,
				      .thread = (uint32_t)next,
				      .cpu = n->e->cpu,
				      .time_ns = n->e->time_ns,
				      .flow = s->flow };
	int err = s->state != TIMELINE_RUNNING ? end_state(t, (uint32_t)next, n) : 0;

	begin_state(t, next, TIMELINE_RUNNING, n);
	if (!err && s->flow && n->is_chosen)
		err = timeline_report(t, &item);
	s->flow = 0;
	return err;
}

int timeline_on_switch(struct timeline *t, const struct timeline_current *n)
{
	int64_t prev = thread_in(t, n, n->plan->field[0]),
		next = thread_in(t, n, n->plan->field[1]);
	uint32_t cpu = n->e->cpu < TIMELINE_CPUS_MAX ? n->e->cpu : TIMELINE_CPUS_MAX;
	struct timeline_item item = timeline_item_of(n, TIMELINE_SWITCH);
	uint32_t before;
	int err = 0;

	if (prev < 0 || next < 0 || pass_grow(&t->running, &t->n_running, cpu, sizeof *t->running))
		return -ENOMEM;
	/* The thread that ran here and did not leave has left without a recorded switch. */
	before = t->running[cpu];
	if (before && before - 1 != prev && t->states[before - 1].state == TIMELINE_RUNNING &&
	    t->states[before - 1].cpu == n->e->cpu)
		t->states[before - 1].state = TIMELINE_UNKNOWN;
	t->running[cpu] = next ? (uint32_t)next + 1 : 0;
	if (n->is_chosen)
		err = timeline_report(t, &item);
	if (!err && prev)
		err = switch_out(t, n, prev);
	if (!err && next)
		err = switch_in(t, n, next);
	return err;
}

int timeline_on_waking(struct timeline *t, const struct timeline_current *n)
{
	int64_t thread = thread_in(t, n, n->plan->field[0]);
	struct timeline_thread *s;
	int err = 0;

	if (!n->is_chosen)
		return 0;
	if (thread < 0)
		return -ENOMEM;
	s = thread ? &t->states[thread] : NULL;
	if (!s || s->state == TIMELINE_RUNNING || s->state == TIMELINE_RUNNABLE)
		return timeline_instant(t, n, 0);
	if (s->state == TIMELINE_BLOCKED)
		err = end_state(t, (uint32_t)thread, n);
	begin_state(t, thread, TIMELINE_RUNNABLE, n);
	s->flow = ++t->n_flows;
	return err ? err : timeline_instant(t, n, s->flow);
}

/* Reports the states that are open at the end of the recording. */
int timeline_end_states(struct timeline *t)
{
	struct trace_event e = { .time_ns = t->last_ns };
	struct timeline_current n = { .e = &e, .is_chosen = true };
	int err = 0;

	for (uint32_t i = 1; i < t->n_states && !err; i++)
		err = end_state(t, i, &n);
	return err;
}
