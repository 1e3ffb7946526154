/* SPDX-License-Identifier: MIT */
/* diff.c - the tests of `duet diff`: known values, all permutations counted, and false alarms counted. */
#include "analysis/diff/statistics.h"

#include <math.h>

#include "test.h"

static uint64_t random_state = 88172645463325252u;

/* Marsaglia, Xorshift RNGs, 2003. */
static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller, 1958. */
static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static bool is_near(double got, double want, double most)
{
	return fabs(got - want) <= most * fmax(1, fabs(want));
}

/* With 1, 2 and 4 degrees of freedom there are closed forms; 2.776445 and 1.959964 are from tables. */
static void students_p_is_that_of_closed_forms_and_tables(void)
{
	for (double t = -30; t < 30; t += 0.37) {
		double u = fabs(t) / sqrt(4 + t * t);

		ok(is_near(diff_student_p(t, 1), 1 - 2 / M_PI * atan(fabs(t)), 1e-10));
		ok(is_near(diff_student_p(t, 2), 1 - fabs(t) / sqrt(2 + t * t), 1e-10));
		ok(is_near(diff_student_p(t, 4), 1 - u * (3 - u * u) / 2, 1e-10));
	}
	ok(is_near(diff_student_p(2.776445, 4), 0.05, 1e-6));
	ok(is_near(diff_student_p(1.959964, 1e6), 0.05, 1e-5));
	ok(diff_student_p(0, 3) == 1 && diff_student_p(INFINITY, 3) == 0);
}

/* By hand: 0.01 * 4, 0.02 * 3, 0.03 * 2 (not below the one before), 0.9 * 1. */
static void holm_corrects_tested_rows_alone(void)
{
	struct diff_series s[] = { { .p = 0.03, .is_tested = true },
				   { .p = 0.01, .is_tested = true },
				   { .p = 0.5 },
				   { .p = 0.9, .is_tested = true },
				   { .p = 0.02, .is_tested = true } };

	is(diff_holm(s, 5), 0);
	ok(is_near(s[1].p, 0.04, 1e-12) && is_near(s[4].p, 0.06, 1e-12));
	ok(is_near(s[0].p, 0.06, 1e-12) && is_near(s[3].p, 0.9, 1e-12));
	ok(s[2].p == 0.5);
}

/* ---------------------------------------------------------------- permutations */

enum { ROWS = 12, RUNS = 8 };

/* |t| of each row if the recordings in @mask are B's, from the definitions. */
static void statistics_of(double at[ROWS][RUNS], unsigned mask, double t[ROWS])
{
	double n_b = __builtin_popcount(mask), n_a = RUNS - n_b;

	for (int row = 0; row < ROWS; row++) {
		double mean[2] = { 0, 0 }, squares = 0;

		for (int i = 0; i < RUNS; i++)
			mean[mask >> i & 1] += at[row][i] / (mask >> i & 1 ? n_b : n_a);
		for (int i = 0; i < RUNS; i++)
			squares += pow(at[row][i] - mean[mask >> i & 1], 2);
		t[row] = fabs(mean[1] - mean[0]) / sqrt(squares / (RUNS - 2) * (1 / n_a + 1 / n_b));
	}
}

/* Westfall and Young's step-down p of @row: over all masks, the share whose maximum over the rows that
 * are not more extreme than @row is at least its own. */
static double counted_p(double at[ROWS][RUNS], int n_b, const double own[ROWS], int row)
{
	double t[ROWS], p = 0;
	int n = 0;

	for (unsigned mask = 0; mask < 1u << RUNS; mask++) {
		double most = 0;

		if (__builtin_popcount(mask) != n_b)
			continue;
		n++;
		statistics_of(at, mask, t);
		for (int i = 0; i < ROWS; i++)
			if (own[i] <= own[row])
				most = fmax(most, t[i]);
		p += most >= own[row] * (1 - 1e-9);
	}
	return p / n;
}

static void p_of_permutations_is_that_of_counting_all(void)
{
	static const unsigned n_b[] = { 4, 5 }; /* of 8 recordings */

	for (int k = 0; k < 2; k++) {
		double at[ROWS][RUNS], own[ROWS], p[ROWS];
		struct diff_series s[ROWS] = { { 0 } };

		for (int row = 0; row < ROWS; row++) {
			for (int i = 0; i < RUNS; i++)
				at[row][i] =
					normal() + (row < 3 && i >= RUNS - (int)n_b[k] ? 3 : 0);
			s[row] = (struct diff_series){ .pool = DIFF_POOL_TIME, .at = at[row] };
		}
		is(diff_method_of((struct diff_sides){ RUNS - n_b[k], n_b[k] }), DIFF_PERMUTATIONS);
		is(diff_test(s, ROWS, (struct diff_sides){ RUNS - n_b[k], n_b[k] }), 0);
		statistics_of(at, ((1u << n_b[k]) - 1) << (RUNS - n_b[k]), own);
		for (int row = 0; row < ROWS; row++)
			p[row] = counted_p(at, (int)n_b[k], own, row);
		for (int row = 0; row < ROWS; row++) {
			double most = 0; /* not below p of a more extreme row */

			for (int i = 0; i < ROWS; i++)
				most = own[i] >= own[row] ? fmax(most, p[i]) : most;
			ok(is_near(fabs(s[row].t), own[row], 1e-9));
			ok(is_near(s[row].p, most, 1e-9));
		}
	}
}

/* ---------------------------------------------------------------- false alarms */

enum { SETS = 1000, SIMULATED = 40, RECORDINGS_MAX = 12 };

/* Rows of very different spread, half of them with a share that all rows of a recording have.  Returns
 * the number of sets of recordings in which any row is called changed. */
static uint32_t small_from = UINT32_MAX; /* rows from this one on are small */

static int alarms(struct diff_sides sides, double planted, int *n_found)
{
	static double at[SIMULATED][RECORDINGS_MAX];
	uint32_t n = sides.n_a + sides.n_b;
	int n_alarms = 0;

	*n_found = 0;
	for (int set = 0; set < SETS; set++) {
		struct diff_series s[SIMULATED] = { { 0 } };
		double of_run[RECORDINGS_MAX];
		bool is_alarm = false;

		for (uint32_t i = 0; i < n; i++)
			of_run[i] = normal() * 0.05;
		for (int row = 0; row < SIMULATED; row++) {
			double spread = 0.02 * exp(normal());

			for (uint32_t i = 0; i < n; i++)
				at[row][i] = 5 + spread * normal() + (row % 2 ? of_run[i] : 0) +
					     (!row && i >= sides.n_a ? planted : 0);
			s[row] = (struct diff_series){ .pool = row % 4 ? DIFF_POOL_TIME
								       : DIFF_POOL_COUNT,
						       .at = at[row],
						       .is_small = (uint32_t)row >= small_from,
						       .error = 0.01 };
		}
		is(diff_test(s, SIMULATED, sides), 0);
		for (int row = planted != 0; row < SIMULATED; row++)
			is_alarm = is_alarm || (s[row].is_tested && s[row].p < DIFF_LEVEL);
		n_alarms += is_alarm;
		*n_found += s[0].is_tested && s[0].p < DIFF_LEVEL;
	}
	printf("# %u and %u recordings: %d of %d sets with an alarm\n", sides.n_a, sides.n_b,
	       n_alarms, SETS);
	return n_alarms;
}

/* The attainable level of 4 and 4 is 2 of 70: 28.6 sets in 1000, with a standard deviation of 5.3. */
static void false_alarms_are_as_rare_as_promised(void)
{
	int n_found, n = alarms((struct diff_sides){ 4, 4 }, 0, &n_found);

	ok(n > 12 && n < 46);
	n = alarms((struct diff_sides){ 5, 5 }, 0, &n_found);
	ok(n > 8 && n <= 42); /* 6 of 252: 23.8, 4.8 */
	ok(alarms((struct diff_sides){ 3, 4 }, 0, &n_found) < 46);
	ok(alarms((struct diff_sides){ 3, 3 }, 0, &n_found) <= 50);
	ok(alarms((struct diff_sides){ 2, 2 }, 0, &n_found) <= 50);
	ok(alarms((struct diff_sides){ 1, 3 }, 0, &n_found) <= 50);
	ok(alarms((struct diff_sides){ 1, 1 }, 0, &n_found) <= 50);
}

static void a_change_of_many_times_the_spread_is_found(void)
{
	int n_found;

	ok(alarms((struct diff_sides){ 5, 5 }, 0.7, &n_found) <= 42 && n_found > 950);
	ok(alarms((struct diff_sides){ 3, 3 }, 0.7, &n_found) <= 50 && n_found > 500);
}

/* Both kinds together keep the level, and among few rows a small change is found more often. */
static void small_rows_hide_fewer_changes_of_others(void)
{
	const struct diff_sides five = { 5, 5 };
	int n_apart, n_together;

	alarms(five, 0.07, &n_together);
	small_from = 8;
	ok(alarms(five, 0.07, &n_apart) <= 42);
	ok(alarms(five, 0, &(int){ 0 }) <= 42);
	ok(alarms((struct diff_sides){ 3, 3 }, 0, &(int){ 0 }) <= 50);
	small_from = UINT32_MAX;
	printf("# found %d times, with all rows alike %d times\n", n_apart, n_together);
	ok(n_apart > n_together * 1.1);
}

/* 4 and 4 have 2 of 70: a part of the level would be too little for any of them. */
static void small_rows_are_not_tested_with_few_permutations(void)
{
	const double changed[8] = { 1, 1, 1, 1, 2, 2, 2, 2 };
	struct diff_series s[] = { { .at = changed }, { .at = changed, .is_small = true } };

	is(diff_test(s, 2, (struct diff_sides){ 4, 4 }), 0);
	ok(s[0].is_tested && is_near(s[0].p, 2.0 / 70, 1e-9));
	ok(!s[1].is_tested);
	is(diff_test(s + 1, 1, (struct diff_sides){ 4, 4 }), 0); /* nothing else */
	ok(s[1].is_tested && is_near(s[1].p, 2.0 / 70, 1e-9));
}

/* A change of that size is found in four of five sets, or more: the first step of maxT is on the safe side. */
static void changes_show_from_where_is_told(void)
{
	enum { TRIED = 300, SIX = 6 };
	const struct diff_sides sides = { SIX, SIX };
	int n_found = 0, n_half = 0;

	for (int set = 0; set < 2 * TRIED; set++) {
		double at[4][2 * SIX], planted = 0;
		struct diff_series s[4];

		for (int round = 0; round < 2; round++) {
			if (!round)
				for (int i = 0; i < 4 * 2 * SIX; i++)
					at[i / (2 * SIX)][i % (2 * SIX)] = 5 + 0.05 * normal();
			for (int i = SIX; i < 2 * SIX; i++)
				at[0][i] += planted;
			for (int row = 0; row < 4; row++)
				s[row] = (struct diff_series){ .at = at[row] };
			is(diff_test(s, 4, sides), 0);
			ok(s[0].shown_from > 0);
			planted = s[0].shown_from * (set < TRIED ? 1 : 0.5);
		}
		*(set < TRIED ? &n_found : &n_half) += s[0].p < DIFF_LEVEL;
		ok(s[0].shown_from < 0.4);
	}
	printf("# found %d, of half the size %d, of %d\n", n_found, n_half, TRIED);
	ok(n_found > TRIED * 3 / 4 && n_half < TRIED / 2);
}

/* Each recording is much as the one before, in all rows: the machine's load.  Returns sets with an alarm. */
static int alarms_of_sequence(struct diff_sides sides, double correlation)
{
	enum { TRIED = 300, ROWS_THERE = 20 };
	static double at[ROWS_THERE][RECORDINGS_MAX];
	uint32_t n = sides.n_a + sides.n_b;
	int n_alarms = 0;

	for (int set = 0; set < TRIED; set++) {
		struct diff_series s[ROWS_THERE] = { { 0 } };
		bool is_alarm = false;

		for (int row = 0; row < ROWS_THERE; row++) {
			double load = normal(), fresh = sqrt(1 - correlation * correlation);

			for (uint32_t i = 0; i < n; i++) {
				at[row][i] = 5 + 0.05 * load;
				load = correlation * load + fresh * normal();
			}
			s[row] = (struct diff_series){ .at = at[row] };
		}
		is(diff_test(s, ROWS_THERE, sides), 0);
		for (int row = 0; row < ROWS_THERE; row++)
			is_alarm = is_alarm || (s[row].is_tested && s[row].p < DIFF_LEVEL);
		n_alarms += is_alarm;
	}
	printf("# correlation %.1f, %s: %d of %d sets with an alarm\n", correlation,
	       sides.is_in_sequence ? "in sequence" : "as in turn", n_alarms, TRIED);
	return n_alarms;
}

static void sides_in_sequence_raise_few_alarms(void)
{
	const struct diff_sides turns = { 6, 6, false }, sequence = { 6, 6, true };

	ok(alarms_of_sequence(turns, 0.6) > 40);
	ok(alarms_of_sequence(sequence, 0.6) <= 15);
	ok(alarms_of_sequence(sequence, 0) <= 9);
}

static void few_recordings_do_not_tell_from_where(void)
{
	const double at[6] = { 1, 1.1, 1.2, 1.3, 1.4, 1.6 };
	struct diff_series s = { .at = at };

	is(diff_test(&s, 1, (struct diff_sides){ 3, 3 }), 0);
	ok(s.is_tested && s.shown_from == 0);
}

/* ---------------------------------------------------------------- the rest */

static void equal_and_missing_values_are_not_tested(void)
{
	const double equal[8] = { 3, 3, 3, 3, 3, 3, 3, 3 }, gap[8] = { 1, 2, NAN, 3, 4, 5, 6, 7 },
		     changed[8] = { 1, 1, 1, 1, 2, 2, 2, 2 };
	struct diff_series s[] = { { .at = equal }, { .at = gap }, { .at = changed } };

	is(diff_test(s, 3, (struct diff_sides){ 4, 4 }), 0);
	ok(!s[0].is_tested && s[0].is_equal && s[0].p == 1);
	ok(!s[1].is_tested && !s[1].is_equal);
	ok(s[2].is_tested && is_near(s[2].p, 2.0 / 70, 1e-9) && s[2].difference == 1);
}

static void rows_that_overlap_are_no_change_with_few_recordings(void)
{
	const double apart[4] = { 1, 1.0001, 2, 2.0001 }, overlap[4] = { 1, 2, 2, 3 };
	struct diff_series s[] = { { .at = apart }, { .at = overlap } };

	is(diff_method_of((struct diff_sides){ 2, 2 }), DIFF_SEPARATION);
	is(diff_test(s, 2, (struct diff_sides){ 2, 2 }), 0);
	ok(s[1].p == 1);
}

static void few_rows_cannot_tell_with_one_recording_a_side(void)
{
	double at[9][2];
	struct diff_series s[9] = { { 0 } };

	for (int i = 0; i < 9; i++) {
		at[i][0] = 1;
		at[i][1] = i == 8 ? 3 : 1 + i * 0.01;
		s[i] = (struct diff_series){ .at = at[i], .error = i == 7 ? -1 : 0.01 };
	}
	is(diff_test(s + 1, 8, (struct diff_sides){ 1, 1 }), 0); /* 7 are known */
	ok(!s[8].is_tested);
	is(diff_test(s, 9, (struct diff_sides){ 1, 1 }), 0);
	ok(s[8].is_tested && s[8].p < DIFF_LEVEL && !s[7].is_tested && s[0].p > DIFF_LEVEL);
}

static void many_recordings_are_permuted_at_random(void)
{
	double at[20];
	bool is_all;
	struct diff_series s = { .at = at };

	for (int i = 0; i < 20; i++)
		at[i] = i;
	is(diff_permutations((struct diff_sides){ 10, 10 }, &is_all), DIFF_PERMUTATIONS_MOST);
	ok(!is_all);
	is(diff_permutations((struct diff_sides){ 5, 5 }, &is_all), 252);
	ok(is_all);
	is(diff_test(&s, 1, (struct diff_sides){ 10, 10 }), 0);
	ok(is_near(s.p, 1.0 / DIFF_PERMUTATIONS_MOST, 0.001));
}

int main(void)
{
	run(students_p_is_that_of_closed_forms_and_tables);
	run(holm_corrects_tested_rows_alone);
	run(p_of_permutations_is_that_of_counting_all);
	run(false_alarms_are_as_rare_as_promised);
	run(a_change_of_many_times_the_spread_is_found);
	run(small_rows_hide_fewer_changes_of_others);
	run(small_rows_are_not_tested_with_few_permutations);
	run(changes_show_from_where_is_told);
	run(sides_in_sequence_raise_few_alarms);
	run(few_recordings_do_not_tell_from_where);
	run(equal_and_missing_values_are_not_tested);
	run(rows_that_overlap_are_no_change_with_few_recordings);
	run(few_rows_cannot_tell_with_one_recording_a_side);
	run(many_recordings_are_permuted_at_random);
	return test_status();
}
