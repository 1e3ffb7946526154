/* SPDX-License-Identifier: MIT */
/* analysis/wait/waits.c - open waits, and the thread or interrupt that ends each. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/wait/internal.h"

/* ---------------------------------------------------------------- waits */

static uint64_t length_of(const struct wait_interval *w)
{
	return w->end_ns > w->begin_ns ? (uint64_t)(w->end_ns - w->begin_ns) : 0;
}

/* Takes over @one and puts it among the @max longest. */
static void keep_wait(struct wait_interval *at, uint32_t *n, uint32_t max,
		      struct wait_interval *one)
{
	uint32_t i = *n;

	if (i == max) {
		if (!max || length_of(one) <= length_of(&at[max - 1])) {
			free(one->slices);
			return;
		}
		free(at[--i].slices);
	} else {
		++*n;
	}
	for (; i && length_of(&at[i - 1]) < length_of(one); i--)
		at[i] = at[i - 1];
	at[i] = *one;
	assert(*n <= max && (!i || length_of(&at[i - 1]) >= length_of(&at[i])));
}

void wait_begin_wait(struct wait_thread *t, uint32_t thread, bool is_blocked, int64_t time_ns)
{
	t->waits = true;
	t->wait = (struct wait_interval){ .thread = thread,
					  .begin_ns = time_ns,
					  .woken_ns = time_ns,
					  .is_woken = !is_blocked,
					  .site = t->site,
					  .is_fault = !t->in_call && t->is_fault };
	if (t->in_call) {
		t->wait.call = t->call;
		t->wait.object = t->object;
	}
}

void wait_end_wait(struct wait_reading *r, struct wait_thread *t, int64_t time_ns)
{
	struct wait_analysis *w = r->w;
	struct wait_interval one = t->wait;

	if (!t->waits)
		return;
	t->waits = false;
	t->wait = (struct wait_interval){ 0 };
	one.end_ns = time_ns;
	if (!one.is_woken)
		one.woken_ns = time_ns;
	if (one.begin_ns < w->run.range.from_ns)
		one.begin_ns = w->run.range.from_ns;
	if (!wait_is_asked(r, one.thread) || one.end_ns <= one.begin_ns) {
		free(one.slices);
		return;
	}
	w->n_waits_seen++;
	w->n_without_waker += !one.is_woken;
	if (r->q->a)
		keep_wait(t->span.waits, &t->span.n_waits, WAIT_WAITS_OF_ONE, &one);
	else
		keep_wait(w->waits, &w->n_waits, r->q->n_slowest, &one);
}

/* ---------------------------------------------------------------- wakeups */

static bool is_sleep(const struct wait_reading *r, const struct call_made *m)
{
	const char *name = m->call ? r->w->calls.names[m->call - 1] : "";

	return !strcmp(name, "nanosleep") || !strcmp(name, "clock_nanosleep");
}

/* Whether the interrupt on @cpu is a soft one that the running thread raised itself. */
static bool is_of_thread(const struct wait_reading *r, uint32_t cpu, const struct irq_frame *f)
{
	const struct irq_source *source = &r->w->irqs.sources[f->source];

	return r->w->irqs.cpus[cpu].depth == 1 && source->kind == IRQ_SOFT && source->number >= 0 &&
	       source->number < 32 && r->cpus[cpu].raised >> source->number & 1;
}

static struct wait_cause cause_at(struct wait_reading *r, uint32_t cpu, uint32_t waker,
				  const struct wait_thread *woken)
{
	const struct irq_frame *f = irq_stack_on(&r->w->irqs, cpu);
	const struct wait_thread *t = waker < r->n_threads ? &r->threads[waker] : NULL;

	if (f && is_of_thread(r, cpu, f) && t && t->in_call)
		return (struct wait_cause){ CAUSE_NONE, 0 };
	if (f && r->cpus[cpu].has_completed)
		return (struct wait_cause){ CAUSE_BLOCK_IO, r->cpus[cpu].device };
	if (f)
		return (struct wait_cause){ CAUSE_IRQ, f->source };
	/* Interrupts are not recorded for threads that are not followed: there such a thread seems
	 * to be the timer. */
	if (is_sleep(r, &woken->call))
		return (struct wait_cause){ CAUSE_TIMER, 0 };
	/* An idle CPU or a thread in user mode cannot wake a thread: an interrupt did. */
	if (!waker || !threads_at(r->w->run.threads, waker)->tid)
		return (struct wait_cause){ CAUSE_SOME_IRQ, 0 };
	if (t && t->has_called && !t->in_call && t->now.state == WAIT_USER)
		return (struct wait_cause){ CAUSE_SOME_IRQ, 0 };
	return (struct wait_cause){ CAUSE_NONE, 0 };
}

int wait_follow_back(struct wait_reading *r, struct wait_thread *t, int64_t time_ns)
{
	struct wait_interval *wait = &t->wait;
	int64_t begin_ns = t->now.begin_ns;
	uint32_t n = 1;

	if (begin_ns < r->w->run.range.from_ns)
		begin_ns = r->w->run.range.from_ns;
	if (t->is_in_span && begin_ns < t->span.begin_ns)
		begin_ns = t->span.begin_ns;
	if (begin_ns >= time_ns)
		return 0;
	if (wait->waker)
		n = wait_chain(r->threads, r->n_threads, wait->waker, begin_ns, time_ns, r->slices);
	else
		r->slices[0] =
			(struct wait_slice){ begin_ns,	   time_ns,	 WAIT_BLOCKED, 0,
					     t->call.call, wait->thread, wait->cause,  t->object };
	wait->slices = malloc(n * sizeof *wait->slices);
	if (!wait->slices)
		return -ENOMEM;
	wait->n_slices = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct wait_slice *p = &r->slices[i];
		struct wait_part part = {
			.state = p->state, .call = p->call, .thread = p->thread, .cause = p->cause
		};

		part.object = p->state == WAIT_BLOCKED ? p->object : 0;
		part.holder = p->state == WAIT_PREEMPTED ? p->holder : 0;

		wait->slices[n - 1 - i] = *p;
		if (p->state != WAIT_KERNEL && p->state != WAIT_BLOCKED)
			part.call = 0;
		if (wait_part_add(&r->w->chain, &part, (uint64_t)(p->end_ns - p->begin_ns),
				  p->begin_ns))
			return -ENOMEM;
	}
	return 0;
}

int wait_on_waking(struct wait_reading *r, int64_t woken, uint32_t waker, uint32_t cpu,
		   int64_t target_cpu, int64_t time_ns)
{
	struct wait_thread *t = wait_thread_of(r, woken);
	int err = 0;

	if (!t)
		return woken > 0 ? -ENOMEM : 0;
	if (t->cpu)
		return 0;
	if (t->now.state == WAIT_RUNNABLE || t->now.state == WAIT_PREEMPTED)
		return wait_queue(r, (uint32_t)woken, target_cpu, time_ns);
	if (!t->is_seen) { /* it slept in some call since before the recording */
		t->now.state = WAIT_BLOCKED;
		t->in_call = r->w->calls.has_entries;
		wait_begin_wait(t, (uint32_t)woken, true, t->now.begin_ns);
	}
	t->is_seen = true;
	if (t->waits && t->now.state == WAIT_BLOCKED) {
		t->wait.is_woken = true;
		t->wait.woken_ns = time_ns;
		t->wait.cause = cause_at(r, cpu, waker, t);
		t->wait.waker = t->wait.cause.kind ? 0 : waker;
		t->now.waker = t->wait.waker;
		t->now.cause = t->wait.cause;
		err = wait_is_asked(r, (uint32_t)woken) ? wait_follow_back(r, t, time_ns) : 0;
	}
	if (!err)
		err = wait_change_state(r, (uint32_t)woken, WAIT_RUNNABLE, time_ns);
	return err ? err : wait_queue(r, (uint32_t)woken, target_cpu, time_ns);
}

static bool waited_for_duet(const struct wait_reading *r, uint32_t thread)
{
	const struct wait_analysis *w = r->w;

	for (uint32_t i = 0; i < w->n_waits; i++) {
		const struct thread *waker = threads_at(w->run.threads, w->waits[i].waker);

		if (w->waits[i].thread == thread && w->waits[i].waker && waker->name_size == 4 &&
		    !memcmp(waker->name, "duet", 4))
			return true;
	}
	return false;
}

int wait_on_exec(struct wait_reading *r, uint32_t thread, int64_t time_ns)
{
	struct wait_analysis *w = r->w;
	struct wait_thread *t = &r->threads[thread];
	int err;

	if (r->q->a || !wait_is_asked(r, thread) || !waited_for_duet(r, thread))
		return 0;
	err = wait_change_state(r, thread, t->now.state, time_ns);
	for (uint32_t i = 0; i < w->n_waits; i++)
		free(w->waits[i].slices);
	w->n_waits = 0;
	w->n_waits_seen = w->n_without_waker = 0;
	w->parts.n = w->chain.n = 0; /* a program that starts has only this thread */
	memset(w->parts.buckets, 0, sizeof w->parts.buckets);
	memset(w->chain.buckets, 0, sizeof w->chain.buckets);
	w->holders.n = 0;
	memset(w->holders.buckets, 0, sizeof w->holders.buckets);
	t->account = (struct wait_account){ { 0 }, { 0 } };
	t->n_contradictions = 0;
	return err;
}
