/* SPDX-License-Identifier: MIT */
/* analysis/wait/events.c - what each event says: who is on which CPU, in what call, woken by whom.
 */
#include <errno.h>

#include "analysis/event_table.h"
#include "analysis/wait/internal.h"

enum { STATE_SLEEPS = 0xff }; /* of prev_state: see analysis/report/sched.c */

enum role {
	ROLE_NONE,
	ROLE_SWITCH,
	ROLE_WAKING,
	ROLE_FORK,
	ROLE_FAULT,
	ROLE_COMPLETE,
	ROLE_DUMP,
	ROLE_EXEC
};

static const struct event_table_kind kinds[] = {
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

struct event_table *wait_plan(struct wait_analysis *w)
{
	struct event_table *plans = event_table_make(&w->run, kinds, sizeof kinds / sizeof *kinds);

	if (!plans)
		return NULL;
	w->has_wakeups = event_table_has(&w->run, plans, ROLE_WAKING);
	w->has_faults = event_table_has(&w->run, plans, ROLE_FAULT);
	w->has_block = event_table_has(&w->run, plans, ROLE_COMPLETE);
	return plans;
}

/* ---------------------------------------------------------------- CPUs */

static int come(struct wait_reading *r, uint32_t cpu, int64_t thread, int64_t time_ns)
{
	struct wait_thread *l = wait_thread_of(r, thread);
	int err = 0;

	r->places[cpu].thread = (uint32_t)thread + 1;
	if (!l)
		return thread > 0 ? -ENOMEM : 0;
	if (l->cpu) /* it runs elsewhere: that it left was not told */
		err = wait_contradict(r, (uint32_t)thread, time_ns);
	if (!err && l->now.state == WAIT_BLOCKED && wait_is_asked(r, (uint32_t)thread))
		err = wait_follow_back(r, l, time_ns); /* woken unseen */
	wait_end_wait(r, l, time_ns);
	l->is_seen = true;
	l->is_fault = false;
	l->cpu = cpu + 1;
	return err ? err : wait_turn(r, (uint32_t)thread, wait_state_on(r, l), time_ns);
}

/* Whatever @thread does on @cpu, it is there. */
static int be_there(struct wait_reading *r, uint32_t cpu, uint32_t thread, int64_t time_ns)
{
	uint32_t before = r->places[cpu].thread;
	int err = 0;

	if (before == thread + 1)
		return 0;
	if (before > 1)
		err = wait_contradict(r, before - 1, time_ns);
	if (!err && thread && r->threads[thread].now.state != WAIT_UNKNOWN)
		err = wait_contradict(r, thread, time_ns);
	return err ? err : come(r, cpu, thread, time_ns);
}

static int on_switch(struct wait_reading *r, const struct event_table *p, uint32_t cpu,
		     const struct trace_event *e, uint32_t prev)
{
	int64_t next = threads_of(r->w->run.threads, e, pass_number(e, p->field[1], -1));
	struct wait_thread *l;
	bool sleeps = pass_number(e, p->field[2], STATE_SLEEPS) & STATE_SLEEPS, is_dead;
	int err = next < 0 ? -ENOMEM : 0;

	r->w->has_switches = true;
	r->places[cpu].raised = 0;
	l = &r->threads[prev];
	if (!err && prev) {
		is_dead = threads_at(r->w->run.threads, prev)->is_dead;
		l->cpu = 0;
		err = wait_turn(r, prev,
				is_dead	 ? WAIT_GONE
				: sleeps ? WAIT_BLOCKED
					 : WAIT_PREEMPTED,
				e->time_ns);
		if (!is_dead)
			wait_begin_wait(l, prev, sleeps, e->time_ns);
	}
	return err ? err : come(r, cpu, next, e->time_ns);
}

/* A child begins in its parent's call, from which it returns as well. */
static int on_fork(struct wait_reading *r, const struct event_table *p, const struct trace_event *e,
		   uint32_t parent)
{
	int64_t child = threads_of(r->w->run.threads, e, pass_number(e, p->field[0], -1));
	struct wait_thread *l = wait_thread_of(r, child);

	if (!l)
		return child > 0 ? -ENOMEM : 0;
	l->now = (struct wait_segment){ e->time_ns, INT64_MAX, WAIT_RUNNABLE, 0, 0, { 0 } };
	l->call = r->threads[parent].call;
	l->in_call = r->threads[parent].in_call;
	l->is_seen = true;
	wait_begin_wait(l, (uint32_t)child, false, e->time_ns);
	return 0;
}

static int on_call(struct wait_reading *r, const struct call_class *c, const struct trace_event *e,
		   uint32_t thread)
{
	struct wait_thread *l = &r->threads[thread];
	int err;

	if (c->is == CALL_EXIT && !l->in_call && l->now.state == WAIT_USER)
		l->now.state = WAIT_KERNEL; /* begun before the recording */
	err = wait_turn(r, thread, l->now.state, e->time_ns);
	l->has_called = true;
	l->in_call = c->is == CALL_ENTRY;
	if (l->in_call)
		calls_read(c, e, &l->call);
	else
		l->call = (struct call_made){ 0 };
	l->now.state = wait_state_on(r, l);
	l->now.call = l->call.call;
	return err;
}

/* ---------------------------------------------------------------- events */

/*
 * A soft interrupt that a thread raises runs upon it when it lets it, as when it sends to an
 * address of this machine: whom that wakes, the thread has woken.  One that a hard interrupt raises
 * is of nobody.
 */
static void note_raised(struct wait_reading *r, uint32_t cpu, const struct irq_stack_event *what)
{
	const struct irq_source *source = &r->w->irqs.sources[what->source];
	const struct irq_frame *f = irq_stack_on(&r->w->irqs, cpu);
	uint32_t bit = source->kind == IRQ_SOFT && source->number >= 0 && source->number < 32
			       ? 1u << source->number
			       : 0;

	if (what->is == IRQS_RAISE && !f)
		r->places[cpu].raised |= bit;
	else if (what->is == IRQS_END || (what->is == IRQS_RAISE && f->source != what->source))
		r->places[cpu].raised &= ~bit;
}

static int on_irq(struct wait_reading *r, uint32_t cpu, const struct irq_stack_event *what,
		  int64_t time_ns)
{
	uint32_t thread = r->places[cpu].thread;
	struct wait_thread *l;
	uint8_t state;

	if (what->is == IRQS_BEGIN && r->w->irqs.cpus[cpu].depth == 1)
		r->places[cpu].has_completed = false;
	note_raised(r, cpu, what);
	if (thread <= 1 || (what->is != IRQS_BEGIN && what->is != IRQS_END))
		return 0;
	l = &r->threads[thread - 1];
	if (l->cpu != cpu + 1)
		return 0;
	state = wait_state_on(r, l);
	return l->now.state == state ? 0 : wait_turn(r, thread - 1, state, time_ns);
}

static int on_kernel(struct wait_reading *r, const struct event_table *p, uint32_t cpu,
		     const struct trace_event *e, uint32_t thread)
{
	const struct call_class *call = &r->w->calls.classes[trace_class_number(e)];
	struct irq_stack_event irq;
	int64_t other;
	int err;

	/* First who is there, then what came upon it; a switch empties the stack of interrupts
	 * itself. */
	if (threads_at(r->w->run.threads, thread)->tid == 0)
		thread = 0;
	err = be_there(r, cpu, thread, e->time_ns);
	if (!err)
		err = irq_stack_on_event(&r->w->irqs, cpu, e, &irq);
	if (!err && irq.is != IRQS_NOTHING)
		err = on_irq(r, cpu, &irq, e->time_ns);
	if (err)
		return err;
	if (call->is && thread)
		return on_call(r, call, e, thread);
	switch (p->role) {
	case ROLE_SWITCH:
		return on_switch(r, p, cpu, e, thread);
	case ROLE_WAKING:
		other = threads_of(r->w->run.threads, e, pass_number(e, p->field[0], -1));
		return other < 0 ? -ENOMEM : wait_on_waking(r, other, thread, cpu, e->time_ns);
	case ROLE_FORK:
		return on_fork(r, p, e, thread);
	case ROLE_FAULT:
		r->threads[thread].is_fault = true;
		return 0;
	case ROLE_EXEC:
		return wait_begin_anew(r, thread, e->time_ns);
	case ROLE_COMPLETE:
		r->places[cpu].has_completed = true;
		r->places[cpu].device = (uint32_t)pass_number(e, p->field[0], 0);
		return 0;
	}
	return 0;
}

int wait_on_event(void *context, struct pass *run, const struct trace_event *e, uint32_t thread)
{
	struct wait_reading *r = context;
	uint32_t class = trace_class_number(e);
	const struct event_table *p = &r->plans[class];
	int64_t cpu;
	int err = 0;

	if (!r->has_begun)
		r->begin_ns = e->time_ns;
	r->has_begun = true;
	if (e->stream->source->domain == TRACE_KERNEL && p->role != ROLE_DUMP) {
		cpu = pass_cpu(run, e);
		if (cpu < 0 || coverage_on_event(&r->follow, run, e, thread) < 0 ||
		    pass_grow(&r->places, &r->n_places, (uint32_t)cpu, sizeof *r->places) ||
		    !wait_thread_of(r, thread ? thread : 1))
			return -ENOMEM;
		err = on_kernel(r, p, (uint32_t)cpu, e, thread);
	}
	if (p->role == ROLE_DUMP &&
	    (irq_stack_name(&r->w->irqs, e) || devices_on_event(&r->w->machine, e)))
		err = -ENOMEM;
	if (!err && (r->is_a[class] || r->is_b[class]))
		err = wait_on_mark(r, e, thread, r->is_a[class], r->is_b[class]);
	return err;
}

int wait_on_lost(void *context, struct pass *run, const struct trace_event *e)
{
	struct wait_reading *r = context;
	int err = 0;

	(void)run;
	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	if (coverage_lost(&r->follow, e) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->n_incarnations && i < threads_n(r->w->run.threads) && !err;
	     i++) {
		int64_t at_ns = r->threads[i].now.begin_ns;

		if (r->threads[i].now.state != WAIT_GONE) {
			err = wait_contradict(r, i, e->time_ns > at_ns ? e->time_ns : at_ns);
			r->threads[i].n_contradictions--; /* that is no contradiction */
		}
		r->threads[i].in_call = false;
		r->threads[i].call = (struct call_made){ 0 };
	}
	for (uint32_t i = 0; i < r->n_places; i++)
		r->places[i] = (struct wait_site){ 0 };
	irq_stack_forget(&r->w->irqs);
	return err;
}
