/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/holders.c - which threads ran on the CPU that a thread waited for.
 *
 * A thread that could run is in the queue of one CPU: the one that it left, or that its wakeup or its
 * migration names.  Each time that CPU passes to another thread, all in its queue get the time of the
 * one that had it.  Invariants:
 *
 *   (1) a thread is in at most one queue, and only while it is PREEMPTED or RUNNABLE
 *   (2) its `held` cover the time from the begin of that state to `queued_ns`, or less: without the
 *       time before its CPU was known
 *   (3) `held` is added to the sums when the state ends, and dropped if that state was wrong
 *
 * A recording of some processes lacks switches between two other threads.  If a CPU was passed on
 * unseen, the thread that was seen first gets the time, marked as shared with others.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "analysis/wait/internal.h"

static bool waits_for_cpu(uint8_t state)
{
	return state == WAIT_PREEMPTED || state == WAIT_RUNNABLE;
}

static int add_held(struct wait_thread *t, uint32_t holder, bool has_others, uint64_t ns)
{
	struct wait_held *h;
	uint32_t i = 0;

	while (i < t->n_held &&
	       (t->held[i].holder != holder || t->held[i].has_others != has_others))
		i++;
	if (pass_grow(&t->held, &t->n_held_rooms, i, sizeof *t->held))
		return -ENOMEM;
	h = &t->held[i];
	if (i == t->n_held) {
		*h = (struct wait_held){ .holder = holder, .has_others = has_others };
		t->n_held++;
	}
	h->n++;
	h->ns += ns;
	if (h->ns > t->held[t->most_held].ns)
		t->most_held = i;
	return 0;
}

/* The thread on a CPU that is known; an idle one has the number 0. */
static uint32_t holder_of(const struct wait_reading *r, const struct wait_cpu *c)
{
	return threads_at(r->w->run.threads, c->thread - 1)->tid ? c->thread - 1 : 0;
}

/* The time since `queued_ns` is that of the thread on the CPU. */
static int accrue(struct wait_reading *r, struct wait_thread *t, int64_t time_ns, bool is_sure)
{
	const struct wait_cpu *c = &r->cpus[t->queue - 1];
	int64_t from_ns = t->queued_ns;
	int err = 0;

	if (from_ns < r->w->run.range.from_ns)
		from_ns = r->w->run.range.from_ns;
	if (c->thread && time_ns > from_ns)
		err = add_held(t, holder_of(r, c), !is_sure, (uint64_t)(time_ns - from_ns));
	if (time_ns > t->queued_ns)
		t->queued_ns = time_ns;
	if (t->waits && t->n_held)
		t->wait.holder = t->held[t->most_held].holder;
	return err;
}

static void leave(struct wait_reading *r, uint32_t thread)
{
	uint32_t *at = &r->cpus[r->threads[thread].queue - 1].queue;

	while (*at != thread) {
		assert(*at);
		at = &r->threads[*at].next_queued;
	}
	*at = r->threads[thread].next_queued;
	r->threads[thread].queue = r->threads[thread].next_queued = 0;
}

static void forget(struct wait_thread *t)
{
	t->n_held = t->most_held = 0;
}

int wait_queue(struct wait_reading *r, uint32_t thread, int64_t cpu, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];
	int err = 0;

	if (r->is_followed || !thread || !waits_for_cpu(t->now.state) ||
	    (cpu >= 0 && t->queue == (uint32_t)cpu + 1))
		return 0;
	if (t->queue) {
		err = accrue(r, t, time_ns, true);
		leave(r, thread);
	}
	if (err || cpu < 0 || pass_grow(&r->cpus, &r->n_cpus, (uint32_t)cpu, sizeof *r->cpus))
		return err || cpu >= 0 ? -ENOMEM : 0;
	t->queue = (uint32_t)cpu + 1;
	t->queued_ns = time_ns;
	t->next_queued = r->cpus[cpu].queue;
	r->cpus[cpu].queue = thread;
	return 0;
}

int wait_cpu_passes(struct wait_reading *r, uint32_t cpu, int64_t time_ns, bool is_sure)
{
	int err = 0;

	for (uint32_t i = r->cpus[cpu].queue; i && !err; i = r->threads[i].next_queued) {
		assert(r->threads[i].queue == cpu + 1);
		err = accrue(r, &r->threads[i], time_ns, is_sure);
	}
	return err;
}

int wait_queue_so_far(struct wait_reading *r, uint32_t thread, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];

	return t->queue ? accrue(r, t, time_ns, true) : 0;
}

static int charge(struct wait_reading *r, uint32_t thread, int64_t begin_ns)
{
	struct wait_thread *t = &r->threads[thread];
	bool is_overview = wait_is_overview(r);
	int err = 0;

	if (!is_overview && !wait_is_asked(r, thread))
		return 0;
	for (uint32_t i = 0; i < t->n_held && !err; i++) {
		const struct wait_part part = { .state = t->now.state,
						.thread = t->held[i].holder,
						.has_others = t->held[i].has_others,
						.waiter = is_overview ? thread : 0 };

		err = wait_part_add(&r->w->holders, &part, t->held[i].ns, begin_ns);
	}
	return err ? -ENOMEM : 0;
}

int wait_queue_changes(struct wait_reading *r, uint32_t thread, uint8_t to, int64_t time_ns)
{
	struct wait_thread *t = &r->threads[thread];
	int err = 0;

	if (!t->queue && !t->n_held)
		return 0;
	if (t->queue)
		err = accrue(r, t, time_ns, true);
	if (!err && waits_for_cpu(t->now.state))
		err = charge(r, thread, t->now.begin_ns);
	forget(t);
	if (t->queue && !waits_for_cpu(to))
		leave(r, thread);
	return err;
}

int wait_holders_settle(struct wait_reading *r)
{
	struct wait_parts *all = &r->w->holders, kept = { .n = 0 };
	int err = 0;

	for (uint32_t i = 0; i < all->n && !err && wait_is_overview(r); i++) {
		struct wait_part like = all->at[i];

		if (!coverage_is_complete(&r->coverage, like.waiter))
			continue;
		like.waiter = 0;
		like.state = WAIT_RUNNABLE;
		like.n = like.ns = like.max_ns = 0;
		err = wait_part_add(&kept, &like, all->at[i].ns, all->at[i].max_at_ns);
	}
	if (wait_is_overview(r)) {
		free(all->at);
		*all = kept;
	}
	wait_parts_sort(all);
	return err ? -ENOMEM : 0;
}

void wait_holders_free(struct wait_reading *r)
{
	for (uint32_t i = 0; i < r->n_threads; i++)
		free(r->threads[i].held);
}
