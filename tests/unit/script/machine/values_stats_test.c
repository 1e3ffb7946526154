/* SPDX-License-Identifier: MIT */
/* tests/unit/script/values_stats_test.c - statistics, histograms, quantiles. */
#include "values_for_test.h"

static struct script_array_code scalar = { .name = "s", .value = SCRIPT_STATS };

static int64_t statistic(struct script_values *v, enum script_statistic which, int64_t parameter)
{
	int64_t value = -1;

	if (values_statistic(v, 0, NULL, which, parameter, &value))
		return -999;
	return value;
}

static void of_nothing_only_count_and_sum_are_known(void)
{
	struct world_of_values w = values_with(&scalar, 1, 0);

	is(statistic(w.v, STATISTIC_COUNT, 0), 0);
	is(statistic(w.v, STATISTIC_SUM, 0), 0);
	for (int which = STATISTIC_MIN; which <= STATISTIC_QUANTILE; which++)
		is(statistic(w.v, which, 50), -999);
	is(values_count(w.v, 0), 0);
	script_values_close(w.v);
}

static void average_is_cut_towards_zero(void)
{
	struct world_of_values w = values_with(&scalar, 1, 0);

	values_collect(w.v, 0, NULL, -3);
	values_collect(w.v, 0, NULL, -4);
	is(statistic(w.v, STATISTIC_AVG, 0), -3);
	is(statistic(w.v, STATISTIC_SUM, 0), -7);
	is(statistic(w.v, STATISTIC_MIN, 0), -4);
	is(statistic(w.v, STATISTIC_MAX, 0), -3);
	script_values_close(w.v);
}

static void variance_is_that_of_a_sample_and_does_not_overflow(void)
{
	struct script_array_code a = scalar;
	struct world_of_values w;
	static const int64_t values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };

	a.has_variance = true;
	w = values_with(&a, 1, 0);
	values_collect(w.v, 0, NULL, 1000000000000000002);
	is(statistic(w.v, STATISTIC_VARIANCE, 0), 0);
	for (int i = 1; i < 8; i++)
		values_collect(w.v, 0, NULL, 1000000000000000000 + values[i]);
	is(statistic(w.v, STATISTIC_VARIANCE, 0), 4); /* 32 / 7 */
	values_clear(w.v, 0);
	for (int i = 0; i < 1000; i++)
		values_collect(w.v, 0, NULL, i & 1 ? INT64_MAX : INT64_MIN);
	is(statistic(w.v, STATISTIC_VARIANCE, 0), INT64_MAX);
	script_values_close(w.v);
}

static void buckets_of_powers_of_two_are_numbered_from_zero_outwards(void)
{
	static const struct {
		int64_t value;
		uint32_t bucket;
	} cases[] = { { 0, 64 },  { 1, 65 },  { 2, 66 },  { 3, 66 },	      { 4, 67 },
		      { -1, 63 }, { -2, 62 }, { -3, 62 }, { INT64_MAX, 127 }, { INT64_MIN, 0 } };
	struct script_array_code a = scalar;
	struct world_of_values w;
	int64_t n;

	a.histogram = HIST_LOG;
	w = values_with(&a, 1, 0);
	is(values_bucket(w.v, 0, NULL, 64, &n), VALUES_EMPTY);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		is(values_bucket_of(&a, cases[i].value), cases[i].bucket);
		values_collect(w.v, 0, NULL, cases[i].value);
	}
	values_bucket(w.v, 0, NULL, 66, &n);
	is(n, 2);
	is(values_bucket(w.v, 0, NULL, 128, &n), VALUES_NO_BUCKET);
	is(values_bucket(w.v, 0, NULL, -1, &n), VALUES_NO_BUCKET);
	script_values_close(w.v);
}

static void linear_buckets_have_one_below_and_one_above(void)
{
	struct script_array_code a = scalar;

	a.histogram = HIST_LINEAR;
	a.low = 10;
	a.high = 30;
	a.width = 10;
	is(values_n_buckets(&a), 5);
	is(values_bucket_of(&a, 9), 0);
	is(values_bucket_of(&a, 10), 1);
	is(values_bucket_of(&a, 19), 1);
	is(values_bucket_of(&a, 29), 2);
	is(values_bucket_of(&a, 30), 3);
	is(values_bucket_of(&a, 31), 4);
	a.low = INT64_MIN;
	a.high = INT64_MAX;
	a.width = INT64_MAX;
	is(values_n_buckets(&a), 5);
	is(values_bucket_of(&a, INT64_MAX), 3);
	a.width = 1;
	is(values_n_buckets(&a), 0);
	a.width = 0;
	is(values_n_buckets(&a), 0);
}

static void histogram_is_drawn_with_bars(void)
{
	struct script_array_code a = scalar;
	struct world_of_values w;
	struct text t = { 0 };

	a.histogram = HIST_LOG;
	w = values_with(&a, 1, 0);
	is(values_histogram(w.v, 0, NULL, &t), VALUES_EMPTY);
	for (int i = 0; i < 80; i++)
		values_collect(w.v, 0, NULL, 5);
	for (int i = 0; i < 20; i++)
		values_collect(w.v, 0, NULL, 9);
	values_collect(w.v, 0, NULL, 300);
	is(values_histogram(w.v, 0, NULL, &t), VALUES_FINE);
	is_text(t.bytes, "   value |---------------------------------------- count\n"
			 "    4..7 |########################################    80\n"
			 "   8..15 |##########                                  20\n"
			 "     ...\n"
			 "256..511 |#                                            1\n");
	text_fini(&t);
	script_values_close(w.v);
}

static void loop_over_a_histogram_visits_every_bucket(void)
{
	struct script_array_code a = scalar;
	struct script_iteration how = { .sort_key = -1, .histogram = HIST_LINEAR };
	struct world_of_values w;
	union script_cell key, value;
	int64_t handle, sum = 0, n = 0;

	a.histogram = HIST_LINEAR;
	a.high = 9;
	a.width = 1;
	w = values_with(&a, 1, 0);
	is(values_iterate(w.v, &how, NULL, -1, &handle), VALUES_EMPTY);
	for (int i = -2; i < 13; i++)
		values_collect(w.v, 0, NULL, i);
	is(values_iterate(w.v, &how, NULL, -1, &handle), VALUES_FINE);
	while (values_next(w.v, handle)) {
		values_key(w.v, handle, 0, L, &key);
		values_value(w.v, handle, L, &value);
		is(key.number, n);
		n++;
		sum += value.number;
	}
	is(n, 12);
	is(sum, 15);
	script_values_close(w.v);
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* At most 0.4 % from the value at that rank; exact while there are few. */
static void quantiles_are_near_the_true_ones(void)
{
	static int64_t values[20000];
	static const int64_t asked[] = { 1, 25, 50, 75, 90, 99, 100, 999 };
	struct script_array_code a = scalar;
	unsigned seed = 11;

	a.has_quantiles = true;
	for (int n = 1; n <= 20000; n = n * 3 + 1) {
		struct world_of_values w = values_with(&a, 1, 0);

		for (int i = 0; i < n; i++) {
			int64_t v = (int64_t)((uint64_t)rand_r(&seed) << (rand_r(&seed) % 30));

			values[i] = rand_r(&seed) % 3 ? v : -v;
			values_collect(w.v, 0, NULL, values[i]);
		}
		qsort(values, (size_t)n, sizeof *values, ascending);
		for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
			int64_t whole = asked[i] > 100 ? 1000 : 100;
			int64_t want = values[(n * asked[i] + whole - 1) / whole - 1];
			int64_t got = statistic(w.v, STATISTIC_QUANTILE, asked[i]);
			double most = want < 0 ? -want * 0.004 : want * 0.004;

			if (n <= 128)
				is(got, want);
			else
				ok(got - want <= most && want - got <= most);
		}
		script_values_close(w.v);
	}
}

static void quantiles_survive_the_greatest_numbers(void)
{
	struct script_array_code a = scalar;
	struct world_of_values w;

	a.has_quantiles = true;
	w = values_with(&a, 1, 0);
	for (int i = 0; i < 1000; i++)
		values_collect(w.v, 0, NULL, i & 1 ? INT64_MAX : INT64_MIN);
	is(statistic(w.v, STATISTIC_QUANTILE, 1), INT64_MIN);
	ok(statistic(w.v, STATISTIC_QUANTILE, 99) > INT64_MAX / 1000 * 996);
	is(statistic(w.v, STATISTIC_QUANTILE, -5), INT64_MIN);
	is(statistic(w.v, STATISTIC_QUANTILE, INT64_MAX), INT64_MAX);
	script_values_close(w.v);
}

static void counts_from_elsewhere_are_added(void)
{
	static const uint64_t buckets[128] = { [65] = 2, [66] = 1 };
	struct script_stats_delta delta = { 3, 4, 1, 2, buckets, 128 };
	struct script_array_code a = scalar;
	struct world_of_values w;
	int64_t n;

	a.histogram = HIST_LOG;
	w = values_with(&a, 1, 0);
	values_collect(w.v, 0, NULL, 9);
	is(values_collect_many(w.v, 0, NULL, &delta), VALUES_FINE);
	is(statistic(w.v, STATISTIC_COUNT, 0), 4);
	is(statistic(w.v, STATISTIC_SUM, 0), 13);
	is(statistic(w.v, STATISTIC_MIN, 0), 1);
	is(statistic(w.v, STATISTIC_MAX, 0), 9);
	values_bucket(w.v, 0, NULL, 65, &n);
	is(n, 2);
	script_values_close(w.v);
}

static void statistics_without_memory_are_an_error(void)
{
	struct script_array_code a = { .name = "s",
				       .n_keys = 1,
				       .keys = { L },
				       .value = SCRIPT_STATS,
				       .histogram = HIST_LOG,
				       .has_quantiles = true };
	struct world_of_values w = values_with(&a, 1, 1 << 20);
	enum values_error error = VALUES_FINE;
	int64_t n = 0;

	for (; !error && n < 100000; n++)
		error = values_collect(w.v, 0, number_key(n), n);
	is(error, VALUES_NO_MEMORY);
	values_clear(w.v, 0);
	is(values_collect(w.v, 0, number_key(1), n), VALUES_FINE);
	script_values_close(w.v);
}

int main(void)
{
	run(of_nothing_only_count_and_sum_are_known);
	run(average_is_cut_towards_zero);
	run(variance_is_that_of_a_sample_and_does_not_overflow);
	run(buckets_of_powers_of_two_are_numbered_from_zero_outwards);
	run(linear_buckets_have_one_below_and_one_above);
	run(histogram_is_drawn_with_bars);
	run(loop_over_a_histogram_visits_every_bucket);
	run(quantiles_are_near_the_true_ones);
	run(quantiles_survive_the_greatest_numbers);
	run(counts_from_elsewhere_are_added);
	run(statistics_without_memory_are_an_error);
	return test_status();
}
