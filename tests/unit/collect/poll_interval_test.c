/* SPDX-License-Identifier: MIT */
/* How long the collector may leave a pool alone. */
#include "collect/drain/interval.h"
#include "test.h"

#define MIB (1ull << 20)
#define MS 1000000ull

static void nothing_to_do_and_much_room_is_long(void)
{
	struct poll_interval p = { 0 };

	is(poll_interval_ms(&p, 64 * MIB, 2), POLL_MOST_MS);
	is(poll_interval_ms(&p, 4096 * MIB, 2), POLL_MOST_MS);
}

static void little_room_or_many_processors_are_short(void)
{
	struct poll_interval p = { 0 };

	ok(poll_interval_ms(&p, 64 * MIB, 4) < POLL_MOST_MS);
	ok(poll_interval_ms(&p, 64 * MIB, 4) > POLL_MS);
	is(poll_interval_ms(&p, 64 * MIB, 256), POLL_MS);
	is(poll_interval_ms(&p, 0, 1), POLL_LEAST_MS);
}

/* At 20 MB a second a batch of 2 MiB takes about 100 ms. */
static void a_high_rate_shortens_the_interval(void)
{
	struct poll_interval p = { 0 };

	poll_interval_observe(&p, 0, 1000 * MS);
	poll_interval_observe(&p, 4 * MIB, 1200 * MS);
	ok(poll_interval_ms(&p, 64 * MIB, 2) >= 90);
	ok(poll_interval_ms(&p, 64 * MIB, 2) <= 110);
	poll_interval_observe(&p, 4096 * MIB, 1250 * MS);
	is(poll_interval_ms(&p, 64 * MIB, 2), POLL_LEAST_MS);
}

/* A batch is a quarter of the free room at most: 1 MiB of 4. */
static void little_room_makes_batches_small(void)
{
	struct poll_interval p = { 0 };

	poll_interval_observe(&p, 0, 1000 * MS);
	poll_interval_observe(&p, 20 * MIB, 1200 * MS);
	ok(poll_interval_ms(&p, 4 * MIB, 1) >= 8);
	ok(poll_interval_ms(&p, 4 * MIB, 1) <= 12);
	ok(poll_interval_ms(&p, 64 * MIB, 1) >= 18);
	ok(poll_interval_ms(&p, 64 * MIB, 1) <= 22);
}

static void a_burst_is_forgotten_within_seconds(void)
{
	struct poll_interval p = { 0 };
	uint64_t now_ns = 1000 * MS;
	uint32_t ms = 0;

	poll_interval_observe(&p, 0, now_ns);
	poll_interval_observe(&p, 16 * MIB, now_ns += 20 * MS);
	is(poll_interval_ms(&p, 64 * MIB, 2), POLL_LEAST_MS);
	for (int i = 0; i < 100000 && ms < POLL_MOST_MS; i++) {
		ms = poll_interval_ms(&p, 64 * MIB, 2);
		poll_interval_observe(&p, 0, now_ns += ms * MS);
	}
	is(ms, POLL_MOST_MS);
	ok(now_ns < 20000 * MS);
}

static void a_program_that_joins_may_begin(void)
{
	struct poll_interval p = { 0 };

	poll_interval_expect(&p, 1000 * MS);
	ok(poll_interval_ms(&p, 64 * MIB, 2) <= POLL_MS);
}

/* Five short programs a second that write little; then one of them writes much. */
static void programs_that_write_little_are_soon_expected_to_write_little(void)
{
	struct poll_interval p = { 0 };
	uint64_t now_ns = 1000 * MS;
	uint32_t n_polls = 0, ms = 0;

	for (int i = 0; i < 100; i++) {
		uint64_t next_ns = now_ns + 200 * MS;

		poll_interval_expect(&p, now_ns);
		for (; now_ns < next_ns; now_ns += ms * MS) {
			ms = poll_interval_ms(&p, 64 * MIB, 2);
			poll_interval_observe(&p, 4096, now_ns);
			n_polls += i >= 50;
		}
	}
	ok(n_polls <= 100); /* one or two for each program */
	poll_interval_observe(&p, 64 * MIB, now_ns += 200 * MS);
	for (int i = 0; i < 100; i++) /* much is forgotten */
		poll_interval_observe(&p, 0, now_ns += 200 * MS);
	is(poll_interval_ms(&p, 64 * MIB, 2), POLL_MOST_MS);
	poll_interval_expect(&p, now_ns);
	ok(poll_interval_ms(&p, 64 * MIB, 2) <= POLL_MS);
}

static void programs_that_join_at_once_count_once(void)
{
	struct poll_interval p = { 0 };

	for (int i = 0; i < 100; i++)
		poll_interval_expect(&p, 1000 * MS + i * MS / 2);
	ok(poll_interval_ms(&p, 64 * MIB, 2) <= POLL_MS);
	is(p.n_vain, 1);
}

/* A host that slept, a clock that stands still, a pool with overwritten counters. */
static void strange_numbers_stay_within_the_limits(void)
{
	const uint64_t strange[] = { 0, 1, 1000, MIB, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX };
	struct poll_interval p = { 0 };

	for (unsigned i = 0; i < 7 * 7 * 7; i++) {
		uint32_t ms;

		poll_interval_observe(&p, strange[i % 7] >> 24, strange[i / 7 % 7]);
		ms = poll_interval_ms(&p, strange[i / 49] >> 24, 1 + i);
		if (!ok(ms >= POLL_LEAST_MS && ms <= POLL_MOST_MS))
			printf("# %u: %u\n", i, ms);
	}
}

int main(void)
{
	run(nothing_to_do_and_much_room_is_long);
	run(little_room_or_many_processors_are_short);
	run(a_high_rate_shortens_the_interval);
	run(little_room_makes_batches_small);
	run(a_burst_is_forgotten_within_seconds);
	run(a_program_that_joins_may_begin);
	run(programs_that_write_little_are_soon_expected_to_write_little);
	run(programs_that_join_at_once_count_once);
	run(strange_numbers_stay_within_the_limits);
	return test_status();
}
