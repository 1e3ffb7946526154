/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/events.c - applies each event to threads and CPUs: switches, calls, wakeups,
 * interrupts.
 */
#include <errno.h>
#include <string.h>

#include "analysis/event_table.h"
#include "analysis/names/heap_sites.h"
#include "analysis/wait/internal.h"

enum role {
	ROLE_NONE,
	ROLE_SWITCH,
	ROLE_WAKING,
	ROLE_MIGRATE,
	ROLE_FORK,
	ROLE_FAULT,
	ROLE_IN_FAULT,
	ROLE_MAY_BE_IN_FAULT, /* interrupts cause it too */
	ROLE_COMPLETE,
	ROLE_DUMP,
	ROLE_EXEC
};

static const struct event_table_kind kinds[] = {
	{ "lttng_statedump_*", ROLE_DUMP, { NULL } },
	{ "sched_switch", ROLE_SWITCH, { "prev_tid", "next_tid", "prev_state" } },
	{ "sched_waking", ROLE_WAKING, { "tid", "target_cpu" } },
	{ "sched_wakeup", ROLE_WAKING, { "tid", "target_cpu" } },
	{ "sched_wakeup_new", ROLE_WAKING, { "tid", "target_cpu" } },
	{ "sched_migrate_task", ROLE_MIGRATE, { "tid", "dest_cpu" } },
	{ "sched_process_fork", ROLE_FORK, { "child_tid" } },
	{ "x86_exceptions_page_fault_*", ROLE_FAULT, { NULL } },
	{ "rss_stat", ROLE_IN_FAULT, { NULL } },
	{ "mm_filemap_*", ROLE_IN_FAULT, { NULL } },
	{ "kmem_mm_page_alloc", ROLE_MAY_BE_IN_FAULT, { NULL } },
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

/* ---------------------------------------------------------------- page faults */

/*
 * The kernel reports the begin of a page fault and not its end.  An event that a thread causes in the
 * kernel, outside of system calls and interrupts, proves that the fault goes on.  So its time up to the
 * last such event is the kernel's; what remains, until the thread returns, counts for user mode.
 */
static int prove_fault(struct wait_reading *r, uint32_t thread, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];
	int err = 0;

	if (!t->in_fault || t->in_call || t->now.state != WAIT_USER)
		return 0;
	if (t->fault_ns > t->now.begin_ns)
		err = wait_change_state(r, thread, WAIT_KERNEL, t->fault_ns);
	else
		t->now.state = WAIT_KERNEL;
	return err ? err : wait_change_state(r, thread, WAIT_USER, time_ns);
}

static void begin_fault(struct wait_reading *r, uint32_t thread, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];

	t->is_fault = true;
	t->in_fault = r->w->calls.has_entries && !t->in_call;
	t->fault_ns = time_ns;
}

/* ---------------------------------------------------------------- CPUs */

static int arrive(struct wait_reading *r, uint32_t cpu, int64_t thread, int64_t time_ns,
		  bool is_sure)
{
	struct wait_thread *t = wait_thread_of(r, thread);
	int err = wait_cpu_passes(r, cpu, time_ns, is_sure);

	if (!err && t)
		err = wait_queue_so_far(r, (uint32_t)thread, time_ns);
	r->cpus[cpu].thread = (uint32_t)thread + 1;
	if (!t || err)
		return thread > 0 || err ? -ENOMEM : 0;
	if (t->cpu) /* it runs elsewhere: its switch-out was not recorded */
		err = wait_mark_unknown(r, (uint32_t)thread, time_ns);
	if (!err && t->now.state == WAIT_BLOCKED && wait_is_asked(r, (uint32_t)thread))
		err = wait_follow_back(r, t, time_ns); /* its wakeup was not recorded */
	wait_end_wait(r, t, time_ns);
	t->is_seen = true;
	t->is_fault = false;
	t->cpu = cpu + 1;
	return err ? err : wait_change_state(r, (uint32_t)thread, wait_state_on(r, t), time_ns);
}

/* An event of @thread on @cpu proves that it runs there. */
static int ensure_on_cpu(struct wait_reading *r, uint32_t cpu, uint32_t thread, int64_t time_ns)
{
	uint32_t before = r->cpus[cpu].thread;
	bool is_idle;
	int err = 0;

	if (before == thread + 1)
		return 0;
	if (before > 1)
		err = wait_mark_unknown(r, before - 1, time_ns);
	if (!err && thread && r->threads[thread].now.state != WAIT_UNKNOWN)
		err = wait_mark_unknown(r, thread, time_ns);
	/* Idle threads come as 0 here, and with their numbers in switches. */
	is_idle = before && !thread && !threads_at(r->w->run.threads, before - 1)->tid;
	return err ? err : arrive(r, cpu, thread, time_ns, is_idle);
}

/* Where in its program @thread leaves its CPU. */
static int note_site(struct wait_reading *r, const struct trace_event *e, uint32_t thread)
{
	struct heap_sites *sites = r->w->sites;
	int64_t process, site;

	r->threads[thread].site = 0;
	if (!sites || !heap_sites_any(sites) || !wait_is_asked(r, thread))
		return 0;
	process = threads_process(r->w->run.threads, thread);
	site = process < 0 ? process
			   : heap_sites_of(sites, e,
					   threads_at(r->w->run.threads, (uint32_t)process)->tid);
	if (site >= 0 && heap_sites_has(sites, (uint32_t)site))
		r->threads[thread].site = (uint32_t)site + 1;
	return site < 0 ? (int)site : 0;
}

static int on_switch(struct wait_reading *r, const struct event_table *p, uint32_t cpu,
		     const struct trace_event *e, uint32_t prev)
{
	int64_t next = threads_of(r->w->run.threads, e, pass_number(e, p->field[1], -1));
	struct wait_thread *t;
	bool sleeps = pass_number(e, p->field[2], THREAD_STATE_SLEEPS) & THREAD_STATE_SLEEPS,
	     is_dead;
	int err = next < 0 ? -ENOMEM : 0;

	r->w->has_switches = true;
	r->cpus[cpu].raised = 0;
	t = &r->threads[prev];
	if (!err && prev)
		err = note_site(r, e, prev);
	if (!err && prev && sleeps) /* it cannot fall asleep in user mode */
		err = prove_fault(r, prev, e->time_ns);
	if (!err && prev) {
		is_dead = threads_at(r->w->run.threads, prev)->is_dead;
		t->cpu = 0;
		err = wait_change_state(r, prev,
					is_dead	 ? WAIT_GONE
					: sleeps ? WAIT_BLOCKED
						 : WAIT_PREEMPTED,
					e->time_ns);
		if (!is_dead)
			wait_begin_wait(t, prev, sleeps, e->time_ns);
		if (!err && !sleeps && !is_dead) {
			t->now.holder = (uint32_t)next;
			err = wait_queue(r, prev, cpu, e->time_ns);
		}
	}
	return err ? err : arrive(r, cpu, next, e->time_ns, true);
}

/* A CPU of @e's host by its own number; negative: no event was there yet. */
static int64_t cpu_numbered(const struct wait_reading *r, const struct trace_event *e, int64_t cpu)
{
	const struct pass *run = &r->w->run;

	for (uint32_t i = 0; i < run->n_cpus && cpu >= 0; i++)
		if (run->cpus[i].cpu == (uint64_t)cpu &&
		    !strcmp(run->cpus[i].source->hostname, e->stream->source->hostname))
			return i;
	return -1;
}

static int on_waking(struct wait_reading *r, const struct event_table *p, uint32_t cpu,
		     const struct trace_event *e, uint32_t thread)
{
	int64_t woken = threads_of(r->w->run.threads, e, pass_number(e, p->field[0], -1)),
		target = cpu_numbered(r, e, pass_number(e, p->field[1], -1));

	if (woken < 0)
		return -ENOMEM;
	if (p->role == ROLE_MIGRATE)
		return wait_thread_of(r, woken) ? wait_queue(r, (uint32_t)woken, target, e->time_ns)
						: 0;
	return wait_on_waking(r, woken, thread, cpu, target, e->time_ns);
}

/* A child begins inside its parent's call, and returns from it too. */
static int on_fork(struct wait_reading *r, const struct event_table *p, const struct trace_event *e,
		   uint32_t parent)
{
	int64_t child = threads_of(r->w->run.threads, e, pass_number(e, p->field[0], -1));
	struct wait_thread *t = wait_thread_of(r, child);

	if (!t)
		return child > 0 ? -ENOMEM : 0;
	t->now = (struct wait_segment){ e->time_ns, INT64_MAX, WAIT_RUNNABLE, 0, 0, { 0 }, 0 };
	t->call = r->threads[parent].call;
	t->object = r->threads[parent].object;
	t->in_call = r->threads[parent].in_call;
	t->is_seen = true;
	wait_begin_wait(t, (uint32_t)child, false, e->time_ns);
	return wait_note(r, (uint32_t)child);
}

/* The object of the call that begins with @e. */
static int note_object(struct wait_reading *r, const struct trace_event *e, uint32_t thread)
{
	struct wait_thread *t = &r->threads[thread];
	int64_t object = 0;

	if (r->w->has_objects && t->call.class)
		object = objects_of(&r->w->objects, e, thread, &t->call);
	t->object = object > 0 ? (uint32_t)object : 0;
	return object < 0 ? -ENOMEM : 0;
}

static int on_call(struct wait_reading *r, const struct call_class *c, const struct trace_event *e,
		   uint32_t thread)
{
	struct wait_thread *t = &r->threads[thread];
	int err;

	if (c->is == CALL_EXIT && !t->in_call && t->now.state == WAIT_USER)
		t->now.state = WAIT_KERNEL; /* it began before the recording */
	err = wait_change_state(r, thread, t->now.state, e->time_ns);
	t->has_called = true;
	t->in_fault = false;
	t->in_call = c->is == CALL_ENTRY;
	if (t->in_call && r->needs_no_arguments)
		t->call = (struct call_made){ .class = c, .call = c->call + 1 };
	else if (t->in_call)
		calls_read(c, e, &t->call);
	else
		t->call = (struct call_made){ 0 };
	if (note_object(r, e, thread))
		return -ENOMEM;
	t->now.state = wait_state_on(r, t);
	t->now.call = t->call.call;
	t->now.object = t->object;
	return err;
}

/* ---------------------------------------------------------------- events */

/*
 * A soft interrupt that a thread raises runs on that thread as soon as it can, for example when it
 * sends to an address of this machine. So the thread is the waker of whatever that interrupt wakes.
 * A soft interrupt that a hard interrupt raises belongs to no thread.
 */
static void note_raised(struct wait_reading *r, uint32_t cpu, const struct irq_stack_event *what)
{
	const struct irq_source *source = &r->w->irqs.sources[what->source];
	const struct irq_frame *f = irq_stack_on(&r->w->irqs, cpu);
	uint32_t bit = source->kind == IRQ_SOFT && source->number >= 0 && source->number < 32
			       ? 1u << source->number
			       : 0;

	if (what->is == IRQS_RAISE && !f)
		r->cpus[cpu].raised |= bit;
	else if (what->is == IRQS_END || (what->is == IRQS_RAISE && f->source != what->source))
		r->cpus[cpu].raised &= ~bit;
}

static int on_irq(struct wait_reading *r, uint32_t cpu, const struct irq_stack_event *what,
		  int64_t time_ns)
{
	uint32_t thread = r->cpus[cpu].thread;
	struct wait_thread *t;
	uint8_t state;

	if (what->is == IRQS_BEGIN && r->w->irqs.cpus[cpu].depth == 1)
		r->cpus[cpu].has_completed = false;
	note_raised(r, cpu, what);
	if (thread <= 1 || (what->is != IRQS_BEGIN && what->is != IRQS_END))
		return 0;
	t = &r->threads[thread - 1];
	if (t->cpu != cpu + 1)
		return 0;
	state = wait_state_on(r, t);
	return t->now.state == state ? 0 : wait_change_state(r, thread - 1, state, time_ns);
}

static int on_kernel(struct wait_reading *r, const struct event_table *p, uint32_t cpu,
		     const struct trace_event *e, uint32_t thread)
{
	const struct call_class *call = r->w->calls.classes[trace_class_number(e)];
	int err;

	/* First the thread on the CPU is set, then the interrupt on top of it. A switch empties the
	 * stack of interrupts. */
	if (threads_at(r->w->run.threads, thread)->tid == 0)
		thread = 0;
	err = ensure_on_cpu(r, cpu, thread, e->time_ns);
	if (!err)
		err = irq_stack_on_event(&r->w->irqs, cpu, e, &r->irq);
	if (!err && r->irq.is != IRQS_NOTHING)
		err = on_irq(r, cpu, &r->irq, e->time_ns);
	if (err)
		return err;
	if (call->is && thread)
		return on_call(r, call, e, thread);
	switch (p->role) {
	case ROLE_SWITCH:
		return on_switch(r, p, cpu, e, thread);
	case ROLE_WAKING:
	case ROLE_MIGRATE:
		return on_waking(r, p, cpu, e, thread);
	case ROLE_FORK:
		return on_fork(r, p, e, thread);
	case ROLE_FAULT:
		begin_fault(r, thread, e->time_ns);
		return 0;
	case ROLE_MAY_BE_IN_FAULT:
		if (!r->w->irqs.has_hard && !r->w->irqs.has_vectors)
			return 0;
		return irq_stack_on(&r->w->irqs, cpu) ? 0 : prove_fault(r, thread, e->time_ns);
	case ROLE_IN_FAULT:
		return irq_stack_on(&r->w->irqs, cpu) ? 0 : prove_fault(r, thread, e->time_ns);
	case ROLE_EXEC:
		return wait_on_exec(r, thread, e->time_ns);
	case ROLE_COMPLETE:
		r->cpus[cpu].has_completed = true;
		r->cpus[cpu].device = (uint32_t)pass_number(e, p->field[0], 0);
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
	r->irq.is = IRQS_NOTHING;
	if (r->w->has_objects && objects_on_event(&r->w->objects, run, &r->w->calls, e, thread))
		return -ENOMEM;
	if (e->stream->source->domain == TRACE_KERNEL && p->role != ROLE_DUMP) {
		cpu = pass_cpu(run, e);
		if (cpu < 0 || coverage_on_event(&r->coverage, run, e, thread) < 0 ||
		    pass_grow(&r->cpus, &r->n_cpus, (uint32_t)cpu, sizeof *r->cpus) ||
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
	if (coverage_lost(&r->coverage, e) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->n_threads && i < threads_n(r->w->run.threads) && !err; i++) {
		int64_t at_ns = r->threads[i].now.begin_ns;

		if (r->threads[i].now.state != WAIT_GONE) {
			err = wait_mark_unknown(r, i, e->time_ns > at_ns ? e->time_ns : at_ns);
			r->threads[i].n_contradictions--; /* a loss is not a contradiction */
		}
		r->threads[i].in_call = false;
		r->threads[i].call = (struct call_made){ 0 };
		r->threads[i].object = 0;
		r->threads[i].in_fault = false;
	}
	for (uint32_t i = 0; i < r->n_cpus; i++)
		r->cpus[i] = (struct wait_cpu){ 0 };
	irq_stack_forget(&r->w->irqs);
	return err;
}
