/* SPDX-License-Identifier: MIT */
/*
 * script/engine/timers.c - timers in stream time.
 *
 * A timer fires at begin + period, begin + 2 periods, ...: never late, never left out, so that a
 * replay fires at the same events.  A randomized one draws each period from a generator whose seed
 * is the begin and the number of the probe: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
 */
#include <errno.h>
#include <stdlib.h>

#include "script/engine/internal.h"

enum { LEAST_PERIOD_NS = 1000 };

int engine_timers_open(struct script_engine *e)
{
	const struct script_program *p = e->o.program;

	e->timers = calloc(p->n_probes + 1, sizeof *e->timers);
	if (!e->timers)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_probes; i++)
		if (p->probes[i]->point.family == FAMILY_TIMER)
			e->timers[e->n_timers++].probe = p->probes[i];
	return 0;
}

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void advance(struct engine_timer *t)
{
	const struct script_world_point *p = &t->probe->point;
	int64_t period = p->number;

	if (p->random_ns > 0)
		period += (int64_t)(draw(&t->random) % (2 * (uint64_t)p->random_ns + 1)) -
			  p->random_ns;
	if (period < LEAST_PERIOD_NS)
		period = LEAST_PERIOD_NS;
	if (__builtin_add_overflow(t->due_ns, period, &t->due_ns))
		t->due_ns = INT64_MAX;
}

void engine_timers_begin(struct script_engine *e, int64_t begin_ns)
{
	for (struct engine_timer *t = e->timers; t < e->timers + e->n_timers; t++) {
		t->random = (uint64_t)begin_ns ^ (uint64_t)t->probe->number << 48;
		t->due_ns = begin_ns;
		advance(t);
	}
}

struct engine_timer *engine_timers_next(struct script_engine *e)
{
	struct engine_timer *first = NULL;

	for (struct engine_timer *t = e->timers; t < e->timers + e->n_timers; t++)
		if (!first || t->due_ns < first->due_ns)
			first = t;
	return first;
}

void engine_timer_fire(struct script_engine *e, struct engine_timer *t)
{
	int64_t due_ns = t->due_ns;

	advance(t);
	engine_run_own(e, t->probe, due_ns, NULL, 0);
}
