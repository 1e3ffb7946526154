/* SPDX-License-Identifier: MIT */
/* analysis/why.c - see why.h. */
#include "analysis/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/follow.h"
#include "analysis/plan.h"
#include "analysis/why_life.h"

enum { STATE_SLEEPS = 0xff }; /* of prev_state: see sched.c */

enum role { ROLE_NONE, ROLE_SWITCH, ROLE_WAKING, ROLE_FORK, ROLE_FAULT, ROLE_COMPLETE, ROLE_DUMP };

static const struct plan_kind kinds[] = {
	{ "lttng_statedump_*", ROLE_DUMP, { NULL } },
	{ "sched_switch", ROLE_SWITCH, { "prev_tid", "next_tid", "prev_state" } },
	{ "sched_waking", ROLE_WAKING, { "tid" } },
	{ "sched_wakeup", ROLE_WAKING, { "tid" } },
	{ "sched_wakeup_new", ROLE_WAKING, { "tid" } },
	{ "sched_process_fork", ROLE_FORK, { "child_tid" } },
	{ "x86_exceptions_page_fault_*", ROLE_FAULT, { NULL } },
	{ "block_rq_complete", ROLE_COMPLETE, { NULL } },
};

struct place { /* a CPU */
	uint32_t thread; /* plus 1; 0: unknown */
	bool has_completed; /* a request, since the interrupt now began */
};

struct reading {
	struct why *w;
	const struct why_question *q;
	struct plan *plans;
	bool *is_a, *is_b; /* by class */
	struct life *lives; /* by thread */
	uint32_t n_lives;
	struct place *places; /* as run_cpu() numbers them */
	uint32_t n_places;
	int64_t begin_ns; /* of the recording */
	bool has_begun;
	struct follow follow;
	struct why_piece pieces[WHY_PIECES_MAX]; /* scratch */
};

/* ---------------------------------------------------------------- who is asked about */

static bool is_target(struct reading *r, uint32_t thread)
{
	const struct thread *t = threads_at(r->w->run.threads, thread);
	int64_t process;

	if (t->tid <= 0 || (r->q->tid >= 0 && t->tid != r->q->tid))
		return false;
	if (r->q->pid < 0)
		return true;
	process = threads_process(r->w->run.threads, thread);
	return process >= 0 && threads_at(r->w->run.threads, (uint32_t)process)->tid == r->q->pid;
}

static bool is_overview(const struct reading *r)
{
	return r->q->tid < 0 && r->q->pid < 0 && !r->q->a;
}

/* Whether the thread's details are wanted: with no thread named, each gets its sums only. */
static bool is_asked(struct reading *r, uint32_t thread)
{
	if (is_overview(r))
		return false;
	return is_target(r, thread) && (!r->q->a || r->lives[thread].is_in_span);
}

/* ---------------------------------------------------------------- states */

static struct life *life_of(struct reading *r, int64_t thread)
{
	uint32_t n = r->n_lives;

	if (thread <= 0 || run_grow(&r->lives, &r->n_lives, (uint32_t)thread, sizeof *r->lives))
		return NULL;
	for (; n < r->n_lives; n++)
		r->lives[n].now = (struct why_segment){ r->begin_ns, INT64_MAX, WHY_UNKNOWN, 0, 0, { 0 } };
	return &r->lives[thread];
}

static void name_part(struct why_part *part, const struct life *l)
{
	bool is_in = part->state == WHY_KERNEL || part->state == WHY_BLOCKED;

	part->call = is_in ? l->call.call : 0;
	part->is_fault = part->state == WHY_BLOCKED && !l->in_call && l->is_fault;
	if (part->state == WHY_BLOCKED && l->in_call)
		part->object_name = calls_object(&l->call, &part->object);
}

/* [begin, end) of the thread's time was in this state. */
static int charge(struct reading *r, uint32_t thread, int64_t begin_ns, int64_t end_ns, uint8_t state)
{
	struct life *l = &r->lives[thread];
	struct why_part part = { .state = state };
	uint64_t ns;

	if (begin_ns < r->w->run.range.from_ns)
		begin_ns = r->w->run.range.from_ns;
	if (state >= WHY_STATES || begin_ns >= end_ns || !(is_overview(r) || is_asked(r, thread)))
		return 0;
	ns = (uint64_t)(end_ns - begin_ns);
	l->account.ns[state] += ns;
	l->account.n[state]++;
	l->span.account.ns[state] += ns;
	l->span.account.n[state]++;
	if (is_overview(r))
		return 0;
	name_part(&part, l);
	return why_part_add(&r->w->parts, &part, ns, begin_ns) ? -ENOMEM : 0;
}

static int turn(struct reading *r, uint32_t thread, uint8_t to, int64_t time_ns)
{
	struct life *l = &r->lives[thread];
	int err = charge(r, thread, l->now.begin_ns, time_ns, l->now.state);

	if (l->now.state != WHY_GONE && time_ns > l->now.begin_ns) {
		l->now.end_ns = time_ns;
		why_keep(l, &l->now);
	}
	l->now = (struct why_segment){ time_ns, INT64_MAX, to, l->call.call, 0, { 0 } };
	return err;
}

/* What was believed of it since the last sure event is not. */
static int tear(struct reading *r, uint32_t thread, int64_t time_ns)
{
	struct life *l = &r->lives[thread];

	if (l->now.state != WHY_GONE)
		l->now.state = WHY_UNKNOWN;
	l->cpu = 0;
	if (l->waits)
		free(l->wait.pieces);
	l->waits = false;
	r->w->n_contradictions += is_target(r, thread);
	return turn(r, thread, WHY_UNKNOWN, time_ns);
}

static uint8_t state_on(struct reading *r, const struct life *l)
{
	if (irqs_on(&r->w->irqs, l->cpu - 1))
		return WHY_IRQ;
	return l->in_call ? WHY_KERNEL : WHY_USER;
}

/* ---------------------------------------------------------------- waits */

static uint64_t length_of(const struct why_wait *w)
{
	return w->end_ns > w->begin_ns ? (uint64_t)(w->end_ns - w->begin_ns) : 0;
}

/* Puts @one, which is taken, among the @max longest. */
static void keep_wait(struct why_wait *at, uint32_t *n, uint32_t max, struct why_wait *one)
{
	uint32_t i = *n;

	if (i == max) {
		if (!max || length_of(one) <= length_of(&at[max - 1])) {
			free(one->pieces);
			return;
		}
		free(at[--i].pieces);
	} else {
		++*n;
	}
	for (; i && length_of(&at[i - 1]) < length_of(one); i--)
		at[i] = at[i - 1];
	at[i] = *one;
}

static void begin_wait(struct life *l, uint32_t thread, bool is_blocked, int64_t time_ns)
{
	l->waits = true;
	l->wait = (struct why_wait){ .thread = thread, .begin_ns = time_ns, .woken_ns = time_ns,
				     .is_woken = !is_blocked, .is_fault = !l->in_call && l->is_fault };
	if (l->in_call)
		l->wait.call = l->call;
}

static void end_wait(struct reading *r, struct life *l, int64_t time_ns)
{
	struct why *w = r->w;
	struct why_wait one = l->wait;

	if (!l->waits)
		return;
	l->waits = false;
	l->wait = (struct why_wait){ 0 };
	one.end_ns = time_ns;
	if (!one.is_woken)
		one.woken_ns = time_ns;
	if (one.begin_ns < w->run.range.from_ns)
		one.begin_ns = w->run.range.from_ns;
	if (!is_asked(r, one.thread) || one.end_ns <= one.begin_ns) {
		free(one.pieces);
		return;
	}
	w->n_waits_seen++;
	w->n_without_waker += !one.is_woken;
	if (r->q->a)
		keep_wait(l->span.waits, &l->span.n_waits, WHY_WAITS_OF_ONE, &one);
	else
		keep_wait(w->waits, &w->n_waits, r->q->n_slowest, &one);
}

/* ---------------------------------------------------------------- wakeups */

static bool is_sleep(const struct reading *r, const struct call_made *m)
{
	const char *name = m->call ? r->w->calls.names[m->call - 1] : "";

	return !strcmp(name, "nanosleep") || !strcmp(name, "clock_nanosleep");
}

static struct why_cause cause_at(struct reading *r, uint32_t cpu, uint32_t waker, const struct life *woken)
{
	const struct irq_frame *f = irqs_on(&r->w->irqs, cpu);
	const struct life *l = waker < r->n_lives ? &r->lives[waker] : NULL;

	if (f && r->places[cpu].has_completed)
		return (struct why_cause){ CAUSE_BLOCK_IO, 0 };
	if (f)
		return (struct why_cause){ CAUSE_IRQ, f->source };
	/* Of threads that are not followed interrupts are not recorded: there the timer seems to be they. */
	if (is_sleep(r, &woken->call))
		return (struct why_cause){ CAUSE_TIMER, 0 };
	/* An idle CPU, and a thread in user mode, wake nobody: something came upon them. */
	if (!waker || !threads_at(r->w->run.threads, waker)->tid)
		return (struct why_cause){ CAUSE_SOME_IRQ, 0 };
	if (l && l->has_called && !l->in_call && l->now.state == WHY_USER)
		return (struct why_cause){ CAUSE_SOME_IRQ, 0 };
	return (struct why_cause){ CAUSE_NONE, 0 };
}

/* The path of the wait that ends now, and what it says of the whole. */
static int follow_back(struct reading *r, struct life *l, int64_t time_ns)
{
	struct why_wait *wait = &l->wait;
	int64_t begin_ns = l->now.begin_ns;
	uint32_t n = 1;

	if (begin_ns < r->w->run.range.from_ns)
		begin_ns = r->w->run.range.from_ns;
	if (l->is_in_span && begin_ns < l->span.begin_ns)
		begin_ns = l->span.begin_ns;
	if (begin_ns >= time_ns)
		return 0;
	if (wait->waker)
		n = why_chain(r->lives, r->n_lives, wait->waker, begin_ns, time_ns, r->pieces);
	else
		r->pieces[0] = (struct why_piece){ begin_ns, time_ns, WHY_BLOCKED, 0, l->call.call,
						   wait->thread, wait->cause };
	wait->pieces = malloc(n * sizeof *wait->pieces);
	if (!wait->pieces)
		return -ENOMEM;
	wait->n_pieces = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct why_piece *p = &r->pieces[i];
		struct why_part part = { .state = p->state, .call = p->call, .thread = p->thread,
					 .cause = p->cause };

		wait->pieces[n - 1 - i] = *p;
		if (p->state != WHY_KERNEL && p->state != WHY_BLOCKED)
			part.call = 0;
		if (why_part_add(&r->w->chain, &part, (uint64_t)(p->end_ns - p->begin_ns), p->begin_ns))
			return -ENOMEM;
	}
	return 0;
}

static int see_waking(struct reading *r, int64_t woken, uint32_t waker, uint32_t cpu, int64_t time_ns)
{
	struct life *l = life_of(r, woken);
	int err = 0;

	if (!l)
		return woken > 0 ? -ENOMEM : 0;
	if (l->cpu || l->now.state == WHY_RUNNABLE || l->now.state == WHY_PREEMPTED)
		return 0;
	if (!l->is_seen) { /* it slept since before the recording, in some call */
		l->now.state = WHY_BLOCKED;
		l->in_call = r->w->calls.has_entries;
		begin_wait(l, (uint32_t)woken, true, l->now.begin_ns);
	}
	l->is_seen = true;
	if (l->waits && l->now.state == WHY_BLOCKED) {
		l->wait.is_woken = true;
		l->wait.woken_ns = time_ns;
		l->wait.cause = cause_at(r, cpu, waker, l);
		l->wait.waker = l->wait.cause.kind ? 0 : waker;
		l->now.waker = l->wait.waker;
		l->now.cause = l->wait.cause;
		err = is_asked(r, (uint32_t)woken) ? follow_back(r, l, time_ns) : 0;
	}
	return err ? err : turn(r, (uint32_t)woken, WHY_RUNNABLE, time_ns);
}

/* ---------------------------------------------------------------- CPUs */

static int come(struct reading *r, uint32_t cpu, int64_t thread, int64_t time_ns)
{
	struct life *l = life_of(r, thread);
	int err = 0;

	r->places[cpu].thread = (uint32_t)thread + 1;
	if (!l)
		return thread > 0 ? -ENOMEM : 0;
	if (l->cpu) /* it runs elsewhere: that it left was not told */
		err = tear(r, (uint32_t)thread, time_ns);
	if (!err && l->now.state == WHY_BLOCKED && is_asked(r, (uint32_t)thread))
		err = follow_back(r, l, time_ns); /* woken unseen */
	end_wait(r, l, time_ns);
	l->is_seen = true;
	l->is_fault = false;
	l->cpu = cpu + 1;
	return err ? err : turn(r, (uint32_t)thread, state_on(r, l), time_ns);
}

/* Whatever @thread does on @cpu, it is there. */
static int be_there(struct reading *r, uint32_t cpu, uint32_t thread, int64_t time_ns)
{
	uint32_t before = r->places[cpu].thread;
	int err = 0;

	if (before == thread + 1)
		return 0;
	if (before > 1)
		err = tear(r, before - 1, time_ns);
	if (!err && thread && r->lives[thread].now.state != WHY_UNKNOWN)
		err = tear(r, thread, time_ns);
	return err ? err : come(r, cpu, thread, time_ns);
}

static int see_switch(struct reading *r, const struct plan *p, uint32_t cpu, const struct trace_event *e,
		      uint32_t prev)
{
	int64_t next = threads_of(r->w->run.threads, e, run_number(e, p->field[1], -1));
	struct life *l;
	bool sleeps = run_number(e, p->field[2], STATE_SLEEPS) & STATE_SLEEPS, is_dead;
	int err = next < 0 ? -ENOMEM : 0;

	r->w->has_switches = true;
	l = &r->lives[prev];
	if (!err && prev) {
		is_dead = threads_at(r->w->run.threads, prev)->is_dead;
		l->cpu = 0;
		err = turn(r, prev, is_dead ? WHY_GONE : sleeps ? WHY_BLOCKED : WHY_PREEMPTED, e->time_ns);
		if (!is_dead)
			begin_wait(l, prev, sleeps, e->time_ns);
	}
	return err ? err : come(r, cpu, next, e->time_ns);
}

/* A child begins in its parent's call, from which it returns as well. */
static int see_fork(struct reading *r, const struct plan *p, const struct trace_event *e, uint32_t parent)
{
	int64_t child = threads_of(r->w->run.threads, e, run_number(e, p->field[0], -1));
	struct life *l = life_of(r, child);

	if (!l)
		return child > 0 ? -ENOMEM : 0;
	l->now = (struct why_segment){ e->time_ns, INT64_MAX, WHY_RUNNABLE, 0, 0, { 0 } };
	l->call = r->lives[parent].call;
	l->in_call = r->lives[parent].in_call;
	l->is_seen = true;
	begin_wait(l, (uint32_t)child, false, e->time_ns);
	return 0;
}

static int see_call(struct reading *r, const struct call_class *c, const struct trace_event *e, uint32_t thread)
{
	struct life *l = &r->lives[thread];
	int err;

	if (c->is == CALL_EXIT && !l->in_call && l->now.state == WHY_USER)
		l->now.state = WHY_KERNEL; /* begun before the recording */
	err = turn(r, thread, l->now.state, e->time_ns);
	l->has_called = true;
	l->in_call = c->is == CALL_ENTRY;
	if (l->in_call)
		calls_read(c, e, &l->call);
	else
		l->call = (struct call_made){ 0 };
	l->now.state = state_on(r, l);
	l->now.call = l->call.call;
	return err;
}

/* ---------------------------------------------------------------- spans */

static void forget_span(struct life *l)
{
	for (uint32_t i = 0; i < l->span.n_waits; i++)
		free(l->span.waits[i].pieces);
	l->span = (struct why_span){ 0 };
	l->is_in_span = false;
}

static uint32_t epoch_of(const struct run *run)
{
	return run->epoch[0] + run->epoch[1] + run->epoch[2];
}

static void add_account(struct why_account *to, const struct why_account *from)
{
	for (int i = 0; i < WHY_STATES; i++) {
		to->ns[i] += from->ns[i];
		to->n[i] += from->n[i];
	}
}

static void keep_span(struct reading *r, struct life *l)
{
	struct why *w = r->w;
	uint32_t i = w->n_slowest, max = r->q->n_slowest;

	if (i == max) {
		if (!max || l->span.ns <= w->slowest[max - 1].ns) {
			forget_span(l);
			return;
		}
		i--;
		for (uint32_t k = 0; k < w->slowest[i].n_waits; k++)
			free(w->slowest[i].waits[k].pieces);
	} else {
		w->n_slowest++;
	}
	for (; i && w->slowest[i - 1].ns < l->span.ns; i--)
		w->slowest[i] = w->slowest[i - 1];
	w->slowest[i] = l->span;
	l->span = (struct why_span){ 0 };
	l->is_in_span = false;
}

static int end_span(struct reading *r, uint32_t thread, int64_t time_ns)
{
	struct life *l = &r->lives[thread];
	int err;

	if (l->epoch != epoch_of(&r->w->run)) {
		r->w->n_cut++;
		forget_span(l);
		return 0;
	}
	err = turn(r, thread, l->now.state, time_ns);
	l->span.ns = time_ns > l->span.begin_ns ? (uint64_t)(time_ns - l->span.begin_ns) : 0;
	add_account(&r->w->all, &l->span.account);
	r->w->ns += l->span.ns;
	if (!err)
		err = samples_add(&r->w->spans, l->span.ns);
	keep_span(r, l);
	return err;
}

static int see_mark(struct reading *r, const struct trace_event *e, uint32_t thread, bool is_a, bool is_b)
{
	struct life *l = life_of(r, thread);
	int err = 0;

	if (!l)
		return thread ? -ENOMEM : 0;
	if (is_b && l->is_in_span)
		err = end_span(r, thread, e->time_ns);
	if (err || !is_a || e->time_ns < r->w->run.range.from_ns || !is_target(r, thread))
		return err;
	if (l->is_in_span)
		r->w->n_open++;
	forget_span(l);
	err = turn(r, thread, l->now.state, e->time_ns);
	r->w->n_a++;
	l->is_in_span = true;
	l->epoch = epoch_of(&r->w->run);
	l->span.begin_ns = e->time_ns;
	l->span.thread = thread;
	return err;
}

/* ---------------------------------------------------------------- events */

static int see_irq(struct reading *r, uint32_t cpu, const struct irqs_event *what, int64_t time_ns)
{
	uint32_t thread = r->places[cpu].thread;
	struct life *l;
	uint8_t state;

	if (what->is == IRQS_BEGIN && r->w->irqs.cpus[cpu].depth == 1)
		r->places[cpu].has_completed = false;
	if (thread <= 1 || (what->is != IRQS_BEGIN && what->is != IRQS_END))
		return 0;
	l = &r->lives[thread - 1];
	if (l->cpu != cpu + 1)
		return 0;
	state = state_on(r, l);
	return l->now.state == state ? 0 : turn(r, thread - 1, state, time_ns);
}

static int see_kernel(struct reading *r, const struct plan *p, uint32_t cpu, const struct trace_event *e,
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
		return other < 0 ? -ENOMEM : see_waking(r, other, thread, cpu, e->time_ns);
	case ROLE_FORK:
		return see_fork(r, p, e, thread);
	case ROLE_FAULT:
		r->lives[thread].is_fault = true;
		return 0;
	case ROLE_COMPLETE:
		r->places[cpu].has_completed = true;
		return 0;
	}
	return 0;
}

static int see(void *context, struct run *run, const struct trace_event *e, uint32_t thread)
{
	struct reading *r = context;
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
		    !life_of(r, thread ? thread : 1))
			return -ENOMEM;
		err = see_kernel(r, p, (uint32_t)cpu, e, thread);
	}
	if (!err && (r->is_a[class] || r->is_b[class]))
		err = see_mark(r, e, thread, r->is_a[class], r->is_b[class]);
	return err;
}

static int see_lost(void *context, struct run *run, const struct trace_event *e)
{
	struct reading *r = context;
	uint64_t n = r->w->n_contradictions;
	int err = 0;

	(void)run;
	if (e->stream->source->domain != TRACE_KERNEL)
		return 0;
	if (follow_lost(&r->follow, e) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < r->n_lives && i < threads_n(r->w->run.threads) && !err; i++) {
		int64_t at_ns = r->lives[i].now.begin_ns;

		if (r->lives[i].now.state != WHY_GONE)
			err = tear(r, i, e->time_ns > at_ns ? e->time_ns : at_ns);
		r->lives[i].in_call = false;
		r->lives[i].call = (struct call_made){ 0 };
	}
	for (uint32_t i = 0; i < r->n_places; i++)
		r->places[i].thread = 0;
	irqs_forget(&r->w->irqs);
	r->w->n_contradictions = n;
	return err;
}

/* ---------------------------------------------------------------- the beginning and the end */

static void mark_class(void *context, const struct trace_source *s, const struct ctf_event_class *c,
		       uint32_t number)
{
	struct reading *r = context;

	r->is_a[number] = r->q->a && run_is_like(r->q->a, s, c->name);
	r->is_b[number] = r->q->b && run_is_like(r->q->b, s, c->name);
	r->w->n_classes_a += r->is_a[number];
	r->w->n_classes_b += r->is_b[number];
}

static int prepare(struct reading *r, struct diag *d)
{
	struct why *w = r->w;
	size_t n = trace_n_classes(w->run.trace) + (size_t)1;

	w->run.sees_before = true;
	r->plans = plan_make(&w->run, kinds, sizeof kinds / sizeof *kinds);
	r->is_a = calloc(n, sizeof *r->is_a);
	r->is_b = calloc(n, sizeof *r->is_b);
	w->waits = calloc(r->q->n_slowest + (size_t)1, sizeof *w->waits);
	w->slowest = calloc(r->q->n_slowest + (size_t)1, sizeof *w->slowest);
	if (!r->plans || !r->is_a || !r->is_b || !w->waits || !w->slowest || calls_init(&w->calls, &w->run) ||
	    irqs_init(&w->irqs, &w->run) || follow_init(&r->follow, &w->run))
		return diag_fail(d, -ENOMEM, "no memory for threads");
	run_each_class(&w->run, mark_class, r);
	w->has_wakeups = plan_has(&w->run, r->plans, ROLE_WAKING);
	w->has_faults = plan_has(&w->run, r->plans, ROLE_FAULT);
	w->has_block = plan_has(&w->run, r->plans, ROLE_COMPLETE);
	return 0;
}

static int end_life(struct reading *r, uint32_t thread, uint32_t *n_rooms)
{
	struct why *w = r->w;
	struct life *l = &r->lives[thread];
	struct why_row row = { .thread = thread };
	int err = 0;

	if (l->now.state == WHY_BLOCKED && is_asked(r, thread))
		err = follow_back(r, l, w->run.last_ns);
	end_wait(r, l, w->run.last_ns);
	if (!err)
		err = turn(r, thread, WHY_GONE, w->run.last_ns);
	w->n_open += l->is_in_span;
	row.account = l->account;
	for (int i = 0; i < WHY_STATES; i++)
		row.ns += row.account.ns[i];
	if (err || !row.ns || row.ns == row.account.ns[WHY_UNKNOWN] ||
	    threads_at(w->run.threads, thread)->tid <= 0)
		return err;
	if (!follow_is_whole(&r->follow, thread)) {
		w->n_left_out++;
		if (is_overview(r))
			return 0;
	}
	if (!r->q->a) {
		add_account(&w->all, &row.account);
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

static int settle(struct reading *r)
{
	struct why *w = r->w;
	uint32_t n_rooms = 0;
	int err = 0;

	follow_settle(&r->follow);
	w->is_overview = is_overview(r);
	for (uint32_t i = 1; i < r->n_lives && i < threads_n(w->run.threads) && !err; i++)
		err = end_life(r, i, &n_rooms);
	if (w->n_rows)
		qsort(w->rows, w->n_rows, sizeof *w->rows, most_known_first);
	why_parts_settle(&w->parts);
	why_parts_settle(&w->chain);
	return err;
}

static void reading_close(struct reading *r)
{
	for (uint32_t i = 0; i < r->n_lives; i++) {
		free(r->lives[i].kept);
		if (r->lives[i].waits)
			free(r->lives[i].wait.pieces);
		forget_span(&r->lives[i]);
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
	struct reading *r = calloc(1, sizeof *r);
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
		err = run_all(&w->run, see, see_lost, r, d);
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
	run_fini(&w->run);
	*w = (struct why){ 0 };
}
