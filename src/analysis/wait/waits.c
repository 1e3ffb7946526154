/* SPDX-License-Identifier: MIT */
/* analysis/wait/waits.c - waits: kept while they last, and by whom or what they were ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/wait/internal.h"

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

void why_begin_wait(struct life *l, uint32_t thread, bool is_blocked, int64_t time_ns)
{
	l->waits = true;
	l->wait = (struct why_wait){ .thread = thread, .begin_ns = time_ns, .woken_ns = time_ns,
				     .is_woken = !is_blocked, .is_fault = !l->in_call && l->is_fault };
	if (l->in_call)
		l->wait.call = l->call;
}

void why_end_wait(struct why_reading *r, struct life *l, int64_t time_ns)
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
	if (!why_is_asked(r, one.thread) || one.end_ns <= one.begin_ns) {
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

static bool is_sleep(const struct why_reading *r, const struct call_made *m)
{
	const char *name = m->call ? r->w->calls.names[m->call - 1] : "";

	return !strcmp(name, "nanosleep") || !strcmp(name, "clock_nanosleep");
}

/* The interrupt on @cpu is a soft one that the thread there brought about. */
static bool is_of_thread(const struct why_reading *r, uint32_t cpu, const struct irq_frame *f)
{
	const struct irq_source *source = &r->w->irqs.sources[f->source];

	return r->w->irqs.cpus[cpu].depth == 1 && source->kind == IRQ_SOFT && source->number >= 0 && source->number < 32 &&
	       r->places[cpu].raised >> source->number & 1;
}

static struct why_cause cause_at(struct why_reading *r, uint32_t cpu, uint32_t waker, const struct life *woken)
{
	const struct irq_frame *f = irqs_on(&r->w->irqs, cpu);
	const struct life *l = waker < r->n_lives ? &r->lives[waker] : NULL;

	if (f && is_of_thread(r, cpu, f) && l && l->in_call)
		return (struct why_cause){ CAUSE_NONE, 0 };
	if (f && r->places[cpu].has_completed)
		return (struct why_cause){ CAUSE_BLOCK_IO, r->places[cpu].device };
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
int why_follow_back(struct why_reading *r, struct life *l, int64_t time_ns)
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

int why_see_waking(struct why_reading *r, int64_t woken, uint32_t waker, uint32_t cpu, int64_t time_ns)
{
	struct life *l = why_life_of(r, woken);
	int err = 0;

	if (!l)
		return woken > 0 ? -ENOMEM : 0;
	if (l->cpu || l->now.state == WHY_RUNNABLE || l->now.state == WHY_PREEMPTED)
		return 0;
	if (!l->is_seen) { /* it slept since before the recording, in some call */
		l->now.state = WHY_BLOCKED;
		l->in_call = r->w->calls.has_entries;
		why_begin_wait(l, (uint32_t)woken, true, l->now.begin_ns);
	}
	l->is_seen = true;
	if (l->waits && l->now.state == WHY_BLOCKED) {
		l->wait.is_woken = true;
		l->wait.woken_ns = time_ns;
		l->wait.cause = cause_at(r, cpu, waker, l);
		l->wait.waker = l->wait.cause.kind ? 0 : waker;
		l->now.waker = l->wait.waker;
		l->now.cause = l->wait.cause;
		err = why_is_asked(r, (uint32_t)woken) ? why_follow_back(r, l, time_ns) : 0;
	}
	return err ? err : why_turn(r, (uint32_t)woken, WHY_RUNNABLE, time_ns);
}

static bool waited_for_duet(const struct why_reading *r, uint32_t thread)
{
	const struct why *w = r->w;

	for (uint32_t i = 0; i < w->n_waits; i++) {
		const struct thread *waker = threads_at(w->run.threads, w->waits[i].waker);

		if (w->waits[i].thread == thread && w->waits[i].waker && waker->name_size == 4 && !memcmp(waker->name, "duet", 4))
			return true;
	}
	return false;
}

int why_begin_anew(struct why_reading *r, uint32_t thread, int64_t time_ns)
{
	struct why *w = r->w;
	struct life *l = &r->lives[thread];
	int err;

	if (r->q->a || !why_is_asked(r, thread) || !waited_for_duet(r, thread))
		return 0;
	err = why_turn(r, thread, l->now.state, time_ns);
	for (uint32_t i = 0; i < w->n_waits; i++)
		free(w->waits[i].pieces);
	w->n_waits = 0;
	w->n_waits_seen = w->n_without_waker = 0;
	w->parts.n = w->chain.n = 0; /* a program that begins has this thread only */
	memset(w->parts.buckets, 0, sizeof w->parts.buckets);
	memset(w->chain.buckets, 0, sizeof w->chain.buckets);
	l->account = (struct why_account){ { 0 }, { 0 } };
	l->n_torn = 0;
	return err;
}
