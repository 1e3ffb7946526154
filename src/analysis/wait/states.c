/* SPDX-License-Identifier: MIT */
/* analysis/wait/states.c - the states of threads, and to whose account their time goes. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/wait/internal.h"

/* ---------------------------------------------------------------- who is asked about */

bool why_is_target(struct why_reading *r, uint32_t thread)
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

bool why_is_overview(const struct why_reading *r)
{
	return r->q->tid < 0 && r->q->pid < 0 && !r->q->a;
}

/* Whether the thread's details are wanted: with no thread named, each gets its sums only. */
bool why_is_asked(struct why_reading *r, uint32_t thread)
{
	if (why_is_overview(r))
		return false;
	return why_is_target(r, thread) && (!r->q->a || r->lives[thread].is_in_span);
}

/* ---------------------------------------------------------------- states */

struct life *why_life_of(struct why_reading *r, int64_t thread)
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
static int charge(struct why_reading *r, uint32_t thread, int64_t begin_ns, int64_t end_ns, uint8_t state)
{
	struct life *l = &r->lives[thread];
	struct why_part part = { .state = state };
	uint64_t ns;

	if (begin_ns < r->w->run.range.from_ns)
		begin_ns = r->w->run.range.from_ns;
	if (state >= WHY_STATES || begin_ns >= end_ns || !(why_is_overview(r) || why_is_asked(r, thread)))
		return 0;
	ns = (uint64_t)(end_ns - begin_ns);
	l->account.ns[state] += ns;
	l->account.n[state]++;
	l->span.account.ns[state] += ns;
	l->span.account.n[state]++;
	if (why_is_overview(r))
		return 0;
	name_part(&part, l);
	return why_part_add(&r->w->parts, &part, ns, begin_ns) ? -ENOMEM : 0;
}

int why_turn(struct why_reading *r, uint32_t thread, uint8_t to, int64_t time_ns)
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
int why_tear(struct why_reading *r, uint32_t thread, int64_t time_ns)
{
	struct life *l = &r->lives[thread];

	if (l->now.state != WHY_GONE)
		l->now.state = WHY_UNKNOWN;
	l->cpu = 0;
	if (l->waits)
		free(l->wait.pieces);
	l->waits = false;
	l->n_torn++;
	return why_turn(r, thread, WHY_UNKNOWN, time_ns);
}

uint8_t why_state_on(struct why_reading *r, const struct life *l)
{
	if (irqs_on(&r->w->irqs, l->cpu - 1))
		return WHY_IRQ;
	return l->in_call ? WHY_KERNEL : WHY_USER;
}

void why_add_account(struct why_account *to, const struct why_account *from)
{
	for (int i = 0; i < WHY_STATES; i++) {
		to->ns[i] += from->ns[i];
		to->n[i] += from->n[i];
	}
}
