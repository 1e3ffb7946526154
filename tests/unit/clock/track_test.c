/* SPDX-License-Identifier: MIT */
/* From CLOCK_MONOTONIC to a session's clock: exact at the knots, never back, and the same ever
 * after. */
#include "clock/clock.h"
#include "clock/track.h"
#include "test.h"

static struct clock_track follow(void)
{
	struct clock_track f = { .n = 0 };

	clock_track_add(&f, (struct clock_knot){ 1000, 5000 });
	clock_track_add(&f, (struct clock_knot){ 2000, 6001 });
	clock_track_add(&f, (struct clock_knot){ 3000, 6999 });
	return f;
}

static uint64_t ns(const struct clock_track *f, uint64_t monotonic_ns)
{
	struct clock_line l = { 0 };

	return clock_track_ns(f, &l, monotonic_ns);
}

static void knots_are_exact_and_between_them_is_a_line(void)
{
	struct clock_track f = follow();

	is(ns(&f, 1000), 5000);
	is(ns(&f, 1500), 5500);
	is(ns(&f, 2000), 6001);
	is(ns(&f, 2500), 6499); /* rounded down */
	is(ns(&f, 3000), 6999);
}

static void beyond_the_ends_nothing_is_guessed(void)
{
	struct clock_track f = follow();

	is(ns(&f, 0), 5000);
	is(ns(&f, 999), 5000);
	is(ns(&f, 3001), 6999);
	is(ns(&f, UINT64_MAX), 6999);
}

static void a_line_that_was_kept_gives_way_to_the_next(void)
{
	struct clock_track f = follow();
	struct clock_line l = { 0 };
	uint64_t last = 0, now;

	for (uint64_t t = 900; t < 3200; t++) {
		now = clock_track_ns(&f, &l, t);
		is(now, ns(&f, t));
		ok(now >= last);
		last = now;
	}
	clock_track_add(&f, (struct clock_knot){ 4000, 8000 });
	is(clock_track_ns(&f, &l, 3500), 6999 + 500);
}

static void a_knot_that_would_go_back_is_none(void)
{
	struct clock_track f = follow();

	clock_track_add(&f, (struct clock_knot){ 3000, 7000 });
	clock_track_add(&f, (struct clock_knot){ 3100, 6999 });
	is(f.n, 3);
}

static void only_the_last_knots_are_kept(void)
{
	struct clock_track f = { .n = 0 };

	for (uint64_t i = 1; i <= 3 * CLOCK_KNOTS; i++)
		clock_track_add(&f, (struct clock_knot){ 100 * i, 200 * i });
	is(ns(&f, 100 * 3 * CLOCK_KNOTS - 50), 200 * 3 * CLOCK_KNOTS - 100);
	is(ns(&f, 100), 200 * (2 * CLOCK_KNOTS + 1));
}

static void a_session_of_that_clock_has_the_same_times(void)
{
	const struct abi_clock clock = { .kind = ABI_CLOCK_MONOTONIC, .mult = 1ull << 32 };
	struct clock_track f;
	uint64_t begin, end;

	clock_track_begin(&f, &clock);
	begin = f.knots[0].monotonic_ns;
	do
		end = clock_track_step(&f);
	while (f.n < 3);
	for (uint64_t t = begin; t <= end; t += (end - begin) / 7 + 1)
		is(ns(&f, t), t);
}

int main(void)
{
	run(knots_are_exact_and_between_them_is_a_line);
	run(beyond_the_ends_nothing_is_guessed);
	run(a_line_that_was_kept_gives_way_to_the_next);
	run(a_knot_that_would_go_back_is_none);
	run(only_the_last_knots_are_kept);
	run(a_session_of_that_clock_has_the_same_times);
	return test_status();
}
