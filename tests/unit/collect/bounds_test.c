/* SPDX-License-Identifier: MIT */
/* Unit tests of what counts of programs' counters, and of the programs that are named. */
#include "collect/drain/bounds.h"

#include <string.h>

#include "clock/clock.h"
#include "test.h"

static struct bounds *bounds_for_test(void)
{
	struct abi_clock clock;
	struct bounds *b;

	if (clock_init_kind(&clock, 0, NULL))
		skip("no clock");
	b = bounds_open(&clock, 2, 4, 1000);
	ok(b != NULL);
	return b;
}

static uint64_t count(struct bounds *b, uint64_t shared)
{
	return bounds_count(b, &bounds_slot(b, 1, 3)->lost, &shared, 1);
}

static void a_counter_counts_what_it_grew_by(void)
{
	struct bounds *b = bounds_for_test();
	struct impossible text;

	is(count(b, 0), 0);
	is(count(b, 100), 100);
	is(count(b, 100), 100);
	is(count(b, 350), 350);
	bounds_describe(b, &text);
	is_text(text.text, "");
	bounds_close(b);
}

static void an_impossible_number_adds_nothing_and_later_ones_do(void)
{
	struct bounds *b = bounds_for_test();
	struct impossible text;

	is(count(b, 100), 100);
	is(count(b, 8008769584938390970ull), 100);
	is(count(b, 8008769584938390975ull), 105);
	is(count(b, 7), 105); /* it shrank */
	is(count(b, 10), 108);
	is(count(b, UINT64_MAX), 108);
	is(count(b, 3), 108);
	bounds_describe(b, &text);
	is_text(text.text, "a program (uid 1000) wrote 4 impossible counters\n");
	bounds_close(b);
}

static void more_time_allows_more(void)
{
	struct bounds *b = bounds_for_test();
	uint64_t most;

	b->begin_ns -= 4000000000u;
	most = bounds_most(b);
	ok(most >= 4000000000u && most < 5000000000u); /* four CPUs, an event in 4 ns each */
	is(count(b, 1000000000), 1000000000);
	is(count(b, 2000000000), 1000000000); /* not at once again */
	bounds_close(b);
}

static void programs_that_joined_are_named_and_others_are_not(void)
{
	const struct bounds_kinds found = { .times = 1, .bytes = 20 };
	struct bounds *b = bounds_for_test();
	struct bounds_kinds part;
	struct impossible text;

	bounds_joined(b, 77, "sh\x1b[op");
	bounds_note(b, 77, &found);
	bounds_note(b, 77, &found);
	bounds_note(b, 78, &found); /* it never joined */
	bounds_describe(b, &text);
	is_text(text.text,
		"program sh_[op (pid 77, uid 1000) wrote 2 impossible times, 40 impossible bytes\n"
		"a program (uid 1000) wrote 1 impossible time, 20 impossible bytes\n");
	is(bounds_next(b, &part)->pid, 77);
	is(part.bytes, 40);
	is(bounds_next(b, &part)->pid, 0);
	ok(!bounds_next(b, &part));
	bounds_note(b, 77, &found);
	is(bounds_next(b, &part)->pid, 77);
	is(part.bytes, 20);
	bounds_close(b);
}

static void a_crowd_of_programs_is_one_line(void)
{
	const struct bounds_kinds found = { .times = 1 };
	struct bounds *b = bounds_for_test();
	struct impossible text;

	for (int pid = 1; pid <= 100; pid++) {
		bounds_joined(b, pid, "x");
		bounds_note(b, (uint32_t)pid, &found);
	}
	bounds_describe(b, &text);
	ok(!!strstr(text.text, "several programs (uid 1000) wrote 93 impossible times\n"));
	bounds_close(b);
}

int main(void)
{
	run(a_counter_counts_what_it_grew_by);
	run(an_impossible_number_adds_nothing_and_later_ones_do);
	run(more_time_allows_more);
	run(programs_that_joined_are_named_and_others_are_not);
	run(a_crowd_of_programs_is_one_line);
	return test_status();
}
