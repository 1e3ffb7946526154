/* SPDX-License-Identifier: MIT */
/* analysis/wait/states.c - states of threads, and the accounts of their time. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analysis/wait/internal.h"

/* ---------------------------------------------------------------- selection */

bool wait_is_target(struct wait_reading *r, uint32_t thread)
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

bool wait_is_overview(const struct wait_reading *r)
{
	return r->q->tid < 0 && r->q->pid < 0 && !r->q->a;
}

/* Whether details of the thread are wanted: if no thread was named, each gets sums only. */
bool wait_is_asked(struct wait_reading *r, uint32_t thread)
{
	if (wait_is_overview(r))
		return false;
	return wait_is_target(r, thread) && (!r->q->a || r->threads[thread].is_in_span);
}

/* ---------------------------------------------------------------- states */

struct wait_thread *wait_thread_of(struct wait_reading *r, int64_t thread)
{
	uint32_t n = r->n_threads;

	if (thread <= 0 ||
	    pass_grow(&r->threads, &r->n_threads, (uint32_t)thread, sizeof *r->threads))
		return NULL;
	for (; n < r->n_threads; n++)
		r->threads[n].now = (struct wait_segment){
			r->begin_ns, INT64_MAX, WAIT_UNKNOWN, 0, 0, { 0 }, 0
		};
	return &r->threads[thread];
}

static void name_part(struct wait_part *part, const struct wait_thread *t)
{
	bool is_in = part->state == WAIT_KERNEL || part->state == WAIT_BLOCKED;

	part->call = is_in ? t->call.call : 0;
	part->is_fault = part->state == WAIT_KERNEL
				 ? !t->in_call && t->in_fault
				 : part->state == WAIT_BLOCKED && !t->in_call && t->is_fault;
	if (part->state == WAIT_BLOCKED && t->in_call)
		part->object = t->object;
	if (part->state == WAIT_BLOCKED)
		part->site = t->site;
}

/* Charges [begin, end) of the thread's time to a state. */
static int charge(struct wait_reading *r, uint32_t thread, int64_t begin_ns, int64_t end_ns,
		  uint8_t state)
{
	struct wait_thread *t = &r->threads[thread];
	struct wait_part part = { .state = state };
	uint64_t ns;

	if (begin_ns < r->w->run.range.from_ns)
		begin_ns = r->w->run.range.from_ns;
	if (state >= WAIT_STATES || begin_ns >= end_ns ||
	    !(wait_is_overview(r) || wait_is_asked(r, thread)))
		return 0;
	assert(begin_ns < end_ns);
	ns = (uint64_t)(end_ns - begin_ns);
	t->account.ns[state] += ns;
	t->account.n[state]++;
	t->span.account.ns[state] += ns;
	t->span.account.n[state]++;
	if (wait_is_overview(r))
		return 0;
	name_part(&part, t);
	return wait_part_add(&r->w->parts, &part, ns, begin_ns) ? -ENOMEM : 0;
}

int wait_note(struct wait_reading *r, uint32_t thread)
{
	if (!r->is_followed)
		return 0;
	for (uint32_t i = 0; i < r->n_changed && i < 8; i++)
		if (r->changed[i] == thread)
			return 0;
	if (pass_grow(&r->changed, &r->n_changed_rooms, r->n_changed, sizeof *r->changed))
		return -ENOMEM;
	r->changed[r->n_changed++] = thread;
	return 0;
}

/* A follower gets each state that is over; it needs no history. */
static int close_state(struct wait_reading *r, uint32_t thread, int64_t end_ns)
{
	const struct wait_segment *now = &r->threads[thread].now;

	if (wait_note(r, thread))
		return -ENOMEM;
	if (now->state == WAIT_GONE || end_ns <= now->begin_ns)
		return 0;
	if (pass_grow(&r->closed, &r->n_closed_rooms, r->n_closed, sizeof *r->closed))
		return -ENOMEM;
	r->closed[r->n_closed++] =
		(struct wait_closed){ thread, now->state, now->begin_ns, end_ns };
	return 0;
}

int wait_change_state(struct wait_reading *r, uint32_t thread, uint8_t to, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];
	int err = r->is_followed ? close_state(r, thread, time_ns)
				 : charge(r, thread, t->now.begin_ns, time_ns, t->now.state);

	assert(thread && thread < r->n_threads && to <= WAIT_GONE);
	if (!err)
		err = wait_queue_changes(r, thread, to, time_ns);
	if (!r->is_followed && t->now.state != WAIT_GONE && time_ns > t->now.begin_ns) {
		t->now.end_ns = time_ns;
		wait_keep(t, &t->now);
	}
	t->now = (struct wait_segment){ time_ns, INT64_MAX, to, t->call.call, 0, { 0 }, t->object };
	return err;
}

int wait_mark_unknown(struct wait_reading *r, uint32_t thread, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];

	if (t->now.state != WAIT_GONE)
		t->now.state = WAIT_UNKNOWN;
	t->cpu = 0;
	if (t->waits)
		free(t->wait.slices);
	t->waits = false;
	t->n_contradictions++;
	return wait_change_state(r, thread, WAIT_UNKNOWN, time_ns);
}

uint8_t wait_state_on(struct wait_reading *r, const struct wait_thread *t)
{
	if (irq_stack_on(&r->w->irqs, t->cpu - 1))
		return WAIT_IRQ;
	return t->in_call ? WAIT_KERNEL : WAIT_USER;
}

void wait_add_account(struct wait_account *to, const struct wait_account *from)
{
	for (int i = 0; i < WAIT_STATES; i++) {
		to->ns[i] += from->ns[i];
		to->n[i] += from->n[i];
	}
}
