/* SPDX-License-Identifier: MIT */
/*
 * unit/ring/drift_test.c - times without the time stamp counter, while NTP slews CLOCK_MONOTONIC: they
 * rise, they are never ahead, and days later they are still right (ring/drift.h).
 *
 * CLOCK_MONOTONIC is simulated: its offset to the pool's clock follows a random rate.
 *
 *	ring_drift_test [DAYS [SEED]]	runs longer by hand
 */
#include <stdlib.h>

#include "clock/clock.h"
#include "ring/drift.h"
#include "ring/pool.h"
#include "test.h"

#define MS 1000000ll
#define SECOND (1000 * MS)

static uint64_t state = 1;
static double days = 0.05;
static struct abi_pool shared;
static struct pool view;

static int64_t draw(int64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int64_t)(state % (uint64_t)n);
}

/* The true offset, and how it moves: ppm of CLOCK_MONOTONIC. */
struct machine {
	int64_t now_ns, next_change_ns, next_look_ns;
	double offset_ns, rate;
	int64_t rate_max;
	int64_t sleep_ns; /* of the collector, at most */
};

static void advance(struct machine *m, int64_t ns)
{
	m->offset_ns += (double)ns * m->rate / 1e6;
	m->now_ns += ns;
	if (m->now_ns >= m->next_change_ns) {
		m->rate = (double)(draw(2 * m->rate_max * 1000 + 1) - m->rate_max * 1000) / 1000;
		m->next_change_ns = m->now_ns + 60 * SECOND + draw(3600 * SECOND);
	}
	if (m->now_ns >= m->next_look_ns) {
		drift_add(&shared.drift, (uint64_t)m->now_ns, (uint64_t)(int64_t)m->offset_ns);
		m->next_look_ns = m->now_ns + 10 * MS + draw(m->sleep_ns);
	}
}

static struct machine begin(int64_t rate_max, int64_t sleep_ns)
{
	struct machine m = { .now_ns = 1000 * SECOND, .rate_max = rate_max, .sleep_ns = sleep_ns };

	shared = (struct abi_pool){ .n_chunks = 0 };
	advance(&m, 0);
	for (int i = 0; i < 100; i++)
		advance(&m, 10 * MS);
	/* As pool_stop_clock(), with the simulated clocks. */
	view = (struct pool){ .shared = &shared };
	view.stopped_ns = (uint64_t)m.now_ns;
	view.coarse_offset_ns = (uint64_t)(int64_t)m.offset_ns;
	view.follows_drift = shared.drift.n;
	view.stopped_drift_ns = drift_at(&shared.drift, view.stopped_ns);
	return m;
}

/* An event at the last tick, of 4 ms: how much its time is ahead of the true one. */
static int64_t ahead_ns(const struct machine *m, int64_t tick_ns)
{
	int64_t t_ns = tick_ns + (int64_t)pool_offset_at(&view, (uint64_t)tick_ns);

	return t_ns - (m->now_ns + (int64_t)m->offset_ns);
}

/* As fast as 2 ns apart, which is how events within a tick are dated. */
static void rises_around(int64_t t_ns, int64_t step_ns)
{
	uint64_t before = (uint64_t)t_ns + pool_offset_at(&view, (uint64_t)t_ns);

	for (int i = 1; i < 40; i++) {
		uint64_t t = (uint64_t)(t_ns + i * step_ns), now = t + pool_offset_at(&view, t);

		ok(now > before);
		before = now;
	}
}

/* Late by a tick, by LATE_NS, and by the drift since the last knot, at the stop and now. */
static void follow(int64_t rate_max, int64_t sleep_ns, int64_t late_max_ns)
{
	struct machine m = begin(rate_max, sleep_ns);
	int64_t end_ns = m.now_ns + (int64_t)(days * 86400) * SECOND, worst_ns = 0, ahead = 0;

	while (m.now_ns < end_ns) {
		int64_t tick_ns, early;

		advance(&m, 1 + draw(10 * MS));
		tick_ns = m.now_ns / (4 * MS) * 4 * MS;
		if (tick_ns < (int64_t)view.stopped_ns)
			continue;
		early = ahead_ns(&m, tick_ns);
		ahead = early > ahead ? early : ahead;
		worst_ns = early < -worst_ns ? -early : worst_ns;
		if (!draw(50))
			rises_around(m.now_ns - draw(300 * MS), 2 + draw(5) * draw(5 * MS));
	}
	is(ahead, 0);
	ok(worst_ns < late_max_ns);
}

static void times_stay_right_for_days(void)
{
	follow(50, 200 * MS, 5 * MS);
	follow(50, 2 * SECOND, 5 * MS);
}

static void a_fast_slew_is_followed(void)
{
	follow(500, 200 * MS, 5 * MS);
}

/* The knots that a handler's caller saw, or a slower thread: the same time has the same offset. */
static void a_new_knot_changes_nothing_before_it(void)
{
	struct machine m = begin(500, 200 * MS);

	for (int i = 0; i < 2000; i++) {
		uint64_t times[8], offsets[8];

		for (int k = 0; k < 8; k++) {
			times[k] = (uint64_t)(m.now_ns - draw(500 * MS));
			offsets[k] = pool_offset_at(&view, times[k]);
		}
		for (int k = 0; k < 30; k++)
			advance(&m, draw(MS));
		for (int k = 0; k < 8; k++)
			is(pool_offset_at(&view, times[k]), offsets[k]);
	}
}

static void the_way_back_is_exact(void)
{
	struct machine m = begin(500, 200 * MS);

	for (int i = 0; i < 2000; i++) {
		uint64_t t, back;

		advance(&m, draw(20 * MS));
		t = (uint64_t)(m.now_ns - draw(300 * MS));
		back = pool_monotonic_of(&view, t + pool_offset_at(&view, t));
		ok(back + 1 >= t && back <= t + 1);
	}
}

/* Programs of the same user may write anything there. */
static void overwritten_knots_change_little(void)
{
	struct machine m = begin(50, 200 * MS);

	for (int i = 0; i < 20000; i++) {
		uint64_t t = view.stopped_ns + (uint64_t)draw(3600 * SECOND);
		int64_t moved;

		for (size_t k = 0; k < sizeof shared.drift; k++)
			((uint8_t *)&shared.drift)[k] = (uint8_t)(draw(3) ? draw(256) : 255);
		if (!draw(4))
			shared.drift.n = (uint64_t)draw(20);
		moved = (int64_t)(pool_offset_at(&view, t) - view.coarse_offset_ns);
		ok(llabs(moved) <= 2 * MS + (int64_t)(t - view.stopped_ns) / 256);
		pool_monotonic_of(&view, t);
		drift_add(&shared.drift, (uint64_t)m.now_ns, (uint64_t)draw(INT64_MAX));
	}
}

/* Of a collector that publishes none. */
static void without_knots_the_offset_stays(void)
{
	begin(50, 200 * MS);
	shared.drift = (struct abi_drift){ .n = 0 };
	view.follows_drift = false; /* as pool_stop_clock() finds it */
	is(drift_at(&shared.drift, view.stopped_ns), 0);
	is(pool_offset_at(&view, view.stopped_ns + 3600 * SECOND), view.coarse_offset_ns);
}

int main(int argc, char **argv)
{
	days = argc > 1 ? atof(argv[1]) : days;
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : state;
	run(times_stay_right_for_days);
	run(a_fast_slew_is_followed);
	run(a_new_knot_changes_nothing_before_it);
	run(the_way_back_is_exact);
	run(overwritten_knots_change_little);
	run(without_knots_the_offset_stays);
	return test_status();
}
