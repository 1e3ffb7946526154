/* SPDX-License-Identifier: MIT */
/* analysis/wait/events.c - what each event says: who is on which CPU, in what call, woken by whom. */
#include <errno.h>

#include "analysis/event_table.h"
#include "analysis/wait/internal.h"

enum { STATE_SLEEPS = 0xff }; /* of prev_state: see analysis/report/sched.c */

enum role { ROLE_NONE, ROLE_SWITCH, ROLE_WAKING, ROLE_FORK, ROLE_FAULT, ROLE_COMPLETE, ROLE_DUMP, ROLE_EXEC };

static const struct plan_kind kinds[] = {
	{ "lttng_statedump_*", ROLE_DUMP, { NULL } },
	{ "sched_switch", ROLE_SWITCH, { "prev_tid", "next_tid", "prev_state" } },
	{ "sched_waking", ROLE_WAKING, { "tid" } },
	{ "sched_wakeup", ROLE_WAKING, { "tid" } },
	{ "sched_wakeup_new", ROLE_WAKING, { "tid" } },
	{ "sched_process_fork", ROLE_FORK, { "child_tid" } },
	{ "x86_exceptions_page_fault_*", ROLE_FAULT, { NULL } },
	{ "block_rq_complete", ROLE_COMPLETE, { "dev" } },
	{ "sched_process_exec", ROLE_EXEC, { NULL } },
};

struct plan *why_plan(struct why *w)
{
	struct plan *plans = plan_make(&w->run, kinds, sizeof kinds / sizeof *kinds);

	if (!plans)
		return NULL;
	w->has_wakeups = plan_has(&w->run, plans, ROLE_WAKING);
	w->has_faults = plan_has(&w->run, plans, ROLE_FAULT);
	w->has_block = plan_has(&w->run, plans, ROLE_COMPLETE);
	return plans;
}

/* ---------------------------------------------------------------- CPUs */

static int come(struct why_reading *r, uint32_t cpu, int64_t thread, int64_t time_ns)
{
	struct life *l = why_life_of(r, thread);
	int err = 0;

	r->places[cpu].thread = (uint32_t)thread + 1;
	if (!l)
		return thread > 0 ? -ENOMEM : 0;
	if (l->cpu) /* it runs elsewhere: that it left was not told */
		err = why_tear(r, (uint32_t)thread, time_ns);
	if (!err && l->now.state == WHY_BLOCKED && why_is_asked(r, (uint32_t)thread))
		err = why_follow_back(r, l, time_ns); /* woken unseen */
	why_end_wait(r, l, time_ns);
	l->is_seen = true;
	l->is_fault = false;
	l->cpu = cpu + 1;
	return err ? err : why_turn(r, (uint32_t)thread, why_state_on(r, l), time_ns);
}

/* Whatever @thread does on @cpu, it is there. */
static int be_there(struct why_reading *r, uint32_t cpu, uint32_t thread, int64_t time_ns)
{
	uint32_t before = r->places[cpu].thread;
	int err = 0;

	if (before == thread + 1)
		return 0;
	if (before > 1)
		err = why_tear(r, before - 1, time_ns);
	if (!err && thread && r->lives[thread].now.state != WHY_UNKNOWN)
		err = why_tear(r, thread, time_ns);
	return err ? err : come(r, cpu, thread, time_ns);
}

static int see_switch(struct why_reading *r, const struct plan *p, uint32_t cpu, const struct trace_event *e,
		      uint32_t prev)
{
	int64_t next = threads_of(r->w->run.threads, e, run_number(e, p->field[1], -1));
	struct life *l;
	bool sleeps = run_number(e, p->field[2], STATE_SLEEPS) & STATE_SLEEPS, is_dead;
	int err = next < 0 ? -ENOMEM : 0;

	r->w->has_switches = true;
	r->places[cpu].raised = 0;
	l = &r->lives[prev];
	if (!err && prev) {
		is_dead = threads_at(r->w->run.threads, prev)->is_dead;
		l->cpu = 0;
		err = why_turn(r, prev, is_dead ? WHY_GONE : sleeps ? WHY_BLOCKED : WHY_PREEMPTED, e->time_ns);
		if (!is_dead)
			why_begin_wait(l, prev, sleeps, e->time_ns);
	}
	return err ? err : come(r, cpu, next, e->time_ns);
}

/* A child begins in its parent's call, from which it returns as well. */
static int see_fork(struct why_reading *r, const struct plan *p, const struct trace_event *e, uint32_t parent)
{
	int64_t child = threads_of(r->w->run.threads, e, run_number(e, p->field[0], -1));
	struct life *l = why_life_of(r, child);

	if (!l)
		return child > 0 ? -ENOMEM : 0;
	l->now = (struct why_segment){ e->time_ns, INT64_MAX, WHY_RUNNABLE, 0, 0, { 0 } };
	l->call = r->lives[parent].call;
	l->in_call = r->lives[parent].in_call;
	l->is_seen = true;
	why_begin_wait(l, (uint32_t)child, false, e->time_ns);
	return 0;
}

static int see_call(struct why_reading *r, const struct call_class *c, const struct trace_event *e, uint32_t thread)
{
	struct life *l = &r->lives[thread];
	int err;

	if (c->is == CALL_EXIT && !l->in_call && l->now.state == WHY_USER)
		l->now.state = WHY_KERNEL; /* begun before the recording */
	err = why_turn(r, thread, l->now.state, e->time_ns);
	l->has_called = true;
	l->in_call = c->is == CALL_ENTRY;
	if (l->in_call)
		calls_read(c, e, &l->call);
	else
		l->call = (struct call_made){ 0 };
	l->now.state = why_state_on(r, l);
	l->now.call = l->call.call;
	return err;
}

/* ---------------------------------------------------------------- events */

/*
 * A soft interrupt that a thread raises runs upon it when it lets it, as when it sends to an address of this machine: whom
 * that wakes, the thread has woken.  One that a hard interrupt raises is of nobody.
 */
static void note_raised(struct why_reading *r, uint32_t cpu, const struct irqs_event *what)
{
	const struct irq_source *source = &r->w->irqs.sources[what->source];
	const struct irq_frame *f = irqs_on(&r->w->irqs, cpu);
	uint32_t bit = source->kind == IRQ_SOFT && source->number >= 0 && source->number < 32 ? 1u << source->number : 0;

	if (what->is == IRQS_RAISE && !f)
		r->places[cpu].raised |= bit;
	else if (what->is == IRQS_END || (what->is == IRQS_RAISE && f->source != what->source))
		r->places[cpu].raised &= ~bit;
}

static int see_irq(struct why_reading *r, uint32_t cpu, const struct irqs_event *what, int64_t time_ns)
{
	uint32_t thread = r->places[cpu].thread;
	struct life *l;
	uint8_t state;

	if (what->is == IRQS_BEGIN && r->w->irqs.cpus[cpu].depth == 1)
		r->places[cpu].has_completed = false;
	note_raised(r, cpu, what);
	if (thread <= 1 || (what->is != IRQS_BEGIN && what->is != IRQS_END))
		return 0;
	l = &r->lives[thread - 1];
	if (l->cpu != cpu + 1)
		return 0;
	state = why_state_on(r, l);
	return l->now.state == state ? 0 : why_turn(r, thread - 1, state, time_ns);
}

static int see_kernel(struct why_reading *r, const struct plan *p, uint32_t cpu, const struct trace_event *e,
		      uint32_t thread)
{
	const struct call_class *call = &r->w->calls.classes[trace_class_number(e)];
	struct irqs_event irq;
	int64_t other;
	int err;

	/* First who is there, then what came upon it; a switch empties the stack of interrupts itself. */
	if (threads_at(r->w->run.threads, thread)->tid == 0)
		thread = 0;
	err = be_there(r, cpu, thread, e->time_ns);
	if (!err)
		err = irqs_see(&r->w->irqs, cpu, e, &irq);
	if (!err && irq.is != IRQS_NOTHING)
		err = see_irq(r, cpu, &irq, e->time_ns);
	if (err)
		return err;
	if (call->is && thread)
		return see_call(r, call, e, thread);
	switch (p->role) {
	case ROLE_SWITCH:
		return see_switch(r, p, cpu, e, thread);
	case ROLE_WAKING:
		other = threads_of(r->w->run.threads, e, run_number(e, p->field[0], -1));
		return other < 0 ? -ENOMEM : why_see_waking(r, other, thread, cpu, e->time_ns);
	case ROLE_FORK:
		return see_fork(r, p, e, thread);
	case ROLE_FAULT:
		r->lives[thread].is_fault = true;
		return 0;
	case ROLE_EXEC:
		return why_begin_anew(r, thread, e->time_ns);
	case ROLE_COMPLETE:
		r->places[cpu].has_completed = true;
		r->places[cpu].device = (uint32_t)run_number(e, p->field[0], 0);
		return 0;
	}
	return 0;
}

int why_see(void *context, struct run *run, const struct trace_event *e, uint32_t thread)
{
	struct why_reading *r = context;
	uint32_t class = trace_class_number(e);
	const struct plan *p = &r->plans[class];
	int64_t cpu;
	int err = 0;

	if (!r->has_begun)
		r->begin_ns = e->time_ns;
	r->has_begun = true;
	if (e->stream->source->domain == TRACE_KERNEL && p->role != ROLE_DUMP) {
		cpu = run_cpu(run, e);
		if (cpu < 0 || follow_see(&r->follow, run, e, thread) < 0 || run_grow(&r->places, &r->n_places, (uint32_t)cpu, sizeof *r->places) ||
		    !why_life_of(r, thread ? thread : 1))
			return -ENOMEM;
		err = see_kernel(r, p, (uint32_t)cpu, e, thread);
	}
	if (p->role == ROLE_DUMP && (irqs_name(&r->w->irqs, e) || machine_see(&r->w->machine, e)))
		err = -ENOMEM;
	if (!err && (r->is_a[class] || r->is_b[class]))
		err = why_see_mark(r, e, thread, r->is_a[class], r->is_b[class]);
	return err;
}

int why_see_lost(void *context, struct run *run, const struct trace_event *e)
{
	struct why_reading *r = context;
	int err = 0;

	(void)run;
	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	if (follow_lost(&r->follow, e) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->n_lives && i < threads_n(r->w->run.threads) && !err; i++) {
		int64_t at_ns = r->lives[i].now.begin_ns;

		if (r->lives[i].now.state != WHY_GONE) {
			err = why_tear(r, i, e->time_ns > at_ns ? e->time_ns : at_ns);
			r->lives[i].n_torn--; /* that is no contradiction */
		}
		r->lives[i].in_call = false;
		r->lives[i].call = (struct call_made){ 0 };
	}
	for (uint32_t i = 0; i < r->n_places; i++)
		r->places[i] = (struct why_place){ 0 };
	irqs_forget(&r->w->irqs);
	return err;
}
