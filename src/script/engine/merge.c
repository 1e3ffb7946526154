/* SPDX-License-Identifier: MIT */
/*
 * script/engine/merge.c - the next handler in the order of time, over all sources and timers.
 *
 * A source without a next event is complete up to its known_ns.  The least of these is the horizon:
 * what lies at or before it can run.  A timer runs only when the horizon is later than it, so that
 * events of its own nanosecond come first.
 */
#include <errno.h>

#include "script/engine/internal.h"

/* Asks a source for its next event; those before the begin do not count. */
static int fetch(struct script_engine *e, struct engine_source *s, struct diag *d)
{
	int n;

	do {
		n = s->of->ops->next(s->of, &s->event, d);
		s->has_event = n == 1;
	} while (n == 1 && s->event.time_ns < e->result.begin_ns);
	if (n == -ENODATA)
		s->has_ended = true;
	return n < 0 && n != -ENODATA ? n : 0;
}

static int fetch_all(struct script_engine *e, int64_t *horizon, struct engine_source **first,
		     struct diag *d)
{
	*horizon = INT64_MAX;
	*first = NULL;
	for (struct engine_source *s = e->sources; s < e->sources + e->n_sources; s++) {
		int err = s->has_event || s->has_ended ? 0 : fetch(e, s, d);

		if (err)
			return err;
		if (!s->has_event && !s->has_ended && s->of->known_ns < *horizon)
			*horizon = s->of->known_ns;
		if (s->has_event && (!*first || s->event.time_ns < (*first)->event.time_ns))
			*first = s;
	}
	return 0;
}

/* When all sources of a replay have ended, its end is theirs. */
static void find_end(struct script_engine *e)
{
	int64_t end_ns = e->now_ns;

	for (uint32_t i = 0; i < e->n_sources; i++) {
		const struct script_source_of *s = e->sources[i].of;
		int64_t last = s->end_ns ? s->end_ns : s->known_ns;

		if (!e->sources[i].has_ended)
			return;
		if (last > end_ns && last < INT64_MAX)
			end_ns = last;
	}
	if (end_ns < e->limit_ns)
		e->limit_ns = end_ns;
}

static enum engine_step run_timer(struct script_engine *e, struct engine_timer *t)
{
	engine_timer_fire(e, t);
	return ENGINE_RAN;
}

int engine_step(struct script_engine *e, struct diag *d)
{
	struct engine_timer *timer = engine_timers_next(e);
	struct engine_source *first;
	int64_t horizon, next;
	int err = fetch_all(e, &horizon, &first, d);

	if (err)
		return err;
	if (e->o.is_replay && !first)
		find_end(e);
	next = first ? first->event.time_ns : INT64_MAX;
	if (timer && timer->due_ns < next)
		next = timer->due_ns;
	if (!e->o.is_replay && (!first || next < first->event.time_ns || horizon < INT64_MAX)) {
		int64_t now = engine_clock(e);

		horizon = now < horizon ? now : horizon;
	}
	if (next > e->limit_ns)
		return horizon > e->limit_ns ? ENGINE_OVER : ENGINE_WAIT;
	if (first && first->event.time_ns == next) {
		if (next > horizon && e->n_sources > 1)
			return ENGINE_WAIT;
		first->has_event = false;
		engine_run_event(e, &first->event);
		return ENGINE_RAN;
	}
	return horizon > next ? run_timer(e, timer) : ENGINE_WAIT;
}

bool engine_is_held_up(const struct script_engine *e)
{
	for (uint32_t i = 0; i < e->n_sources; i++)
		if (e->sources[i].has_event)
			return true;
	return false;
}
