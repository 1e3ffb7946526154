/* SPDX-License-Identifier: MIT */
/* samples.c - percentiles exact up to a million values, and near enough beyond. */
#include "analysis/samples.h"

#include "test.h"

static uint64_t random_state = 88172645463325252u;

/* Marsaglia, Xorshift RNGs, 2003. */
static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void percentiles_are_nearest_ranks(void)
{
	struct samples s = { 0 };

	is(samples_percentile(&s, 50), 0);
	for (uint64_t i = 100; i > 0; i--)
		is(samples_add(&s, i * 10), 0);
	is(samples_percentile(&s, 1), 10);
	is(samples_percentile(&s, 50), 500);
	is(samples_percentile(&s, 50.5), 510);
	is(samples_percentile(&s, 99), 990);
	is(samples_percentile(&s, 100), 1000);
	is(samples_percentile(&s, 0.001), 10);
	is(samples_add(&s, 5), 0); /* after sorting */
	is(samples_percentile(&s, 0.5), 5);
	samples_fini(&s);
}

static void beyond_a_million_they_are_within_four_in_a_thousand(void)
{
	static const double percents[] = { 0.01, 1, 50, 90, 99, 99.99, 100 };
	enum { N = 3000000 };
	uint64_t *all = malloc(N * sizeof *all), sum = 0;
	struct samples s = { 0 };

	for (int i = 0; i < N; i++) {
		/* From 1 to 2^40, evenly in the logarithm. */
		all[i] = 1 + (random_number() >> (24 + random_number() % 40));
		sum += all[i];
		samples_add(&s, all[i]);
	}
	ok(!samples_are_exact(&s));
	is(s.n, N);
	is(s.sum, sum);
	for (size_t p = 0; p < sizeof percents / sizeof *percents; p++) {
		uint64_t got = samples_percentile(&s, percents[p]), below = 0, not_above = 0;

		for (int i = 0; i < N; i++) {
			below += (double)all[i] < (double)got / 1.004 - 0.5;
			not_above += (double)all[i] <= (double)got * 1.004 + 0.5;
		}
		ok((double)below < N * percents[p] / 100 + 1);
		ok((double)not_above >= N * percents[p] / 100);
	}
	samples_fini(&s);
	free(all);
}

static void sums_of_parts_are_those_of_the_whole(void)
{
	struct samples whole = { 0 }, part = { 0 }, sum = { 0 };
	uint64_t powers[64], both[64];

	for (int i = 0; i < 1500000; i++) {
		uint64_t v = random_number() >> 40;

		samples_add(&whole, v);
		samples_add(&part, v);
		if (i == 300000 || i == 1499999) {
			is(samples_merge(&sum, &part), 0);
			samples_fini(&part);
		}
	}
	is(sum.n, whole.n);
	is(sum.min, whole.min);
	is(sum.max, whole.max);
	is(samples_percentile(&sum, 50), samples_percentile(&whole, 50));
	samples_by_power(&sum, powers);
	samples_by_power(&whole, both);
	ok(!memcmp(powers, both, sizeof powers));
	samples_fini(&whole);
	samples_fini(&sum);
}

static void the_longest_are_kept(void)
{
	struct slowest s;

	is(slowest_init(&s, 3), 0);
	for (uint64_t i = 0; i < 1000; i++)
		slowest_add(&s, &(struct slow){ i * 7919 % 1000, (int64_t)i, 0, 0, 0 });
	slowest_sort(&s);
	is(s.n, 3);
	is(s.at[0].duration_ns, 999);
	is(s.at[2].duration_ns, 997);
	slowest_fini(&s);
}

int main(void)
{
	run(percentiles_are_nearest_ranks);
	run(beyond_a_million_they_are_within_four_in_a_thousand);
	run(sums_of_parts_are_those_of_the_whole);
	run(the_longest_are_kept);
	return test_status();
}
