/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/statistics.c - Student's t between recordings, its permutations, and Holm's correction:
 * see statistics.h.
 */
#include "analysis/diff/statistics.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int diff_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double diff_median(double *at, uint32_t n)
{
	assert(n);
	qsort(at, n, sizeof *at, diff_ascending);
	return (at[(n - 1) / 2] + at[n / 2]) / 2;
}

/* The share of permutations that look like the observed one must not be above this: 4 and 4 recordings
 * have 2 of 70. */
#define SHARE_MOST 0.03
/* The least standard deviation between recordings that is believed, by pool.  Durations come in steps of
 * the clock and of samples' buckets.  Few recordings are alike by chance more often than a normal
 * distribution says, and there is no permutation that would show it: docs/design/figures/diff.md. */
static const double least_deviation[DIFF_POOLS] = {
	[DIFF_POOL_TIME] = 0.005, [DIFF_POOL_COUNT] = 0.01, [DIFF_POOL_CPU] = 0.005
};
#define LEAST_DEVIATION_OF_FEW 0.03

struct work {
	struct diff_series *
		*s; /* those that are tested; the greatest |t| first once sorted; lent */
	uint32_t n;
	struct diff_sides sides;
	double *differences, *t, *errors; /* by series */
	uint64_t *beyond; /* by series: permutations with an equal or greater maximum */
	double weight;	  /* the share of the level that these series have */
};

/* ---------------------------------------------------------------- the statistic */

/* @is_b: which recordings are B's, in this permutation. */
static void measure(struct work *w, uint32_t row, const bool *is_b)
{
	const double n_a = w->sides.n_a, n_b = w->sides.n_b, *at = w->s[row]->at;
	const double least = diff_method_of(w->sides) == DIFF_SEPARATION
				     ? LEAST_DEVIATION_OF_FEW
				     : least_deviation[w->s[row]->pool];
	uint32_t n = w->sides.n_a + w->sides.n_b;
	double a = 0, b = 0, variance = 0;

	for (uint32_t i = 0; i < n; i++)
		*(is_b[i] ? &b : &a) += at[i];
	a /= n_a;
	b /= n_b;
	for (uint32_t i = 0; i < n; i++) {
		double e = at[i] - (is_b[i] ? b : a);

		variance += e * e / (n_a + n_b - 2);
	}
	variance = variance > least * least ? variance : least * least;
	w->differences[row] = b - a;
	w->errors[row] = sqrt(variance * (1 / n_a + 1 / n_b));
	w->t[row] = (b - a) / w->errors[row];
}

static void measure_all(struct work *w, const bool *is_b)
{
	for (uint32_t i = 0; i < w->n; i++)
		measure(w, i, is_b);
}

/* ---------------------------------------------------------------- permutations */

static double ways(struct diff_sides sides)
{
	double n = 1;

	for (uint32_t i = 1; i <= sides.n_b; i++)
		n *= (double)(sides.n_a + i) / i;
	return n;
}

enum diff_method diff_method_of(struct diff_sides sides)
{
	double alike = sides.n_a == sides.n_b ? 2 : 1;

	assert(sides.n_a && sides.n_b);
	if (sides.n_a == 1 && sides.n_b == 1)
		return DIFF_ONE_A_SIDE;
	return alike / ways(sides) <= SHARE_MOST && sides.n_a > 1 && sides.n_b > 1
		       ? DIFF_PERMUTATIONS
		       : DIFF_SEPARATION;
}

uint64_t diff_permutations(struct diff_sides sides, bool *is_all)
{
	double n = ways(sides);

	*is_all = n < DIFF_PERMUTATIONS_MOST + 0.5;
	return *is_all ? (uint64_t)(n + 0.5) : DIFF_PERMUTATIONS_MOST;
}

/* The next choice of B's recordings in lexical order; false after the last one.  The first has all of
 * them at the end. */
static bool next_choice(bool *is_b, uint32_t n)
{
	uint32_t i = n, ones = 0;

	while (i > 1 && !(is_b[i - 1] && !is_b[i - 2]))
		ones += is_b[--i];
	if (i <= 1)
		return false;
	is_b[i - 2] = true;
	is_b[i - 1] = false;
	for (uint32_t k = i; k < n; k++)
		is_b[k] = k >= n - ones;
	return true;
}

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8, 2003. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void shuffle(bool *is_b, uint32_t n, uint64_t *state)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)(next_random(state) % i);
		bool was = is_b[k];

		is_b[k] = is_b[i - 1];
		is_b[i - 1] = was;
	}
}

/* A part of the level is left: as if p were greater. */
static void weigh(const struct work *w, struct diff_series *s)
{
	s->p = s->p < w->weight ? s->p / w->weight : 1;
}

/* The greatest |t| of a row and of all that follow it, against the row's own.  Returns that of all. */
static double count_beyond(struct work *w)
{
	double greatest = 0;

	for (uint32_t i = w->n; i-- > 0;) {
		greatest = fabs(w->t[i]) > greatest ? fabs(w->t[i]) : greatest;
		w->beyond[i] += greatest >= fabs(w->s[i]->t) * (1 - 1e-9);
	}
	return greatest;
}

/*
 * The t that a change needs is the one that a share of the permutations below the level exceeds; of a change
 * whose expected t is NORMAL_80 greater, four of five sets show it (of a normal distribution).  It is that of
 * the first step of maxT, so on the safe side.
 */
static void find_shown_from(struct work *w, double *greatest, uint64_t n)
{
	const double normal_80 = 0.8416;
	uint64_t beyond = (uint64_t)ceil(DIFF_LEVEL * w->weight * (double)n) - 1;

	qsort(greatest, n, sizeof *greatest, diff_ascending);
	for (uint32_t i = 0; i < w->n && beyond; i++)
		w->s[i]->shown_from = (greatest[n - 1 - beyond] + normal_80) * w->s[i]->error;
}

static void permute(struct work *w, bool *is_b)
{
	static double greatest[DIFF_PERMUTATIONS_MOST];
	uint32_t n = w->sides.n_a + w->sides.n_b;
	uint64_t state = 88172645463325252u, n_done = 0, n_all;
	double before = 0;
	bool is_all;

	n_all = diff_permutations(w->sides, &is_all);
	assert(n_all <= DIFF_PERMUTATIONS_MOST);
	for (;;) { /* the observed one is the first */
		measure_all(w, is_b);
		greatest[n_done] = count_beyond(w);
		if (++n_done == n_all)
			break;
		if (!is_all)
			shuffle(is_b, n, &state);
		else if (!next_choice(is_b, n))
			break;
	}
	assert(n_done == n_all);
	for (uint32_t i = 0; i < w->n; i++) {
		double p = (double)w->beyond[i] / (double)n_done;

		before = p > before ? p : before;
		w->s[i]->p = before;
	}
	find_shown_from(w, greatest, n_done);
	for (uint32_t i = 0; i < w->n; i++)
		weigh(w, w->s[i]);
}

/* ---------------------------------------------------------------- few recordings */

static bool is_separated(const struct diff_series *s, struct diff_sides sides)
{
	double least[2] = { INFINITY, INFINITY }, most[2] = { -INFINITY, -INFINITY };

	for (uint32_t i = 0; i < sides.n_a + sides.n_b; i++) {
		int side = i >= sides.n_a;

		least[side] = s->at[i] < least[side] ? s->at[i] : least[side];
		most[side] = s->at[i] > most[side] ? s->at[i] : most[side];
	}
	return most[0] < least[1] || most[1] < least[0];
}

static int least_p_first(const void *a, const void *b)
{
	const struct diff_series *x = *(struct diff_series *const *)a,
				 *y = *(struct diff_series *const *)b;

	return x->p < y->p ? -1 : x->p > y->p;
}

static void correct(struct diff_series **tested, uint32_t n)
{
	double before = 0;

	qsort(tested, n, sizeof *tested, least_p_first);
	for (uint32_t i = 0; i < n; i++) {
		double p = tested[i]->p * (double)(n - i);

		before = p > before ? p : before;
		tested[i]->p = before < 1 ? before : 1;
	}
}

int diff_holm(struct diff_series *s, uint32_t n)
{
	struct diff_series **tested = calloc(n + (size_t)1, sizeof(struct diff_series *));
	uint32_t n_tested = 0;

	if (!tested)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (s[i].is_tested)
			tested[n_tested++] = &s[i];
	correct(tested, n_tested);
	free(tested);
	return 0;
}

static void test_separation(struct work *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		w->s[i]->p = diff_student_p(w->s[i]->t, w->sides.n_a + w->sides.n_b - 2);
	correct(w->s, w->n);
	for (uint32_t i = 0; i < w->n; i++) {
		weigh(w, w->s[i]);
		if (!is_separated(w->s[i], w->sides))
			w->s[i]->p = 1;
	}
}

/* ---------------------------------------------------------------- sides in sequence */

/* How much successive recordings of a side resemble each other: 1 less the mean square of their differences,
 * halved, over the variance (von Neumann, "Distribution of the ratio of the mean square successive difference
 * to the variance", Annals of Mathematical Statistics 12, 1941).  0 on average if they are independent. */
static double serial_correlation(const double *at, struct diff_sides sides)
{
	const uint32_t n = sides.n_a + sides.n_b;
	double mean[2] = { 0, 0 }, squares = 0, steps = 0;

	for (uint32_t i = 0; i < n; i++)
		mean[i >= sides.n_a] += at[i] / (i < sides.n_a ? sides.n_a : sides.n_b);
	for (uint32_t i = 0; i < n; i++) {
		double away = at[i] - mean[i >= sides.n_a];

		squares += away * away;
		if (i && i != sides.n_a)
			steps += (at[i] - at[i - 1]) * (at[i] - at[i - 1]);
	}
	return squares > 0 ? 1 - steps / 2 / squares : 0;
}

/* Divides the observed t.  @r: room for a number of each row. */
static void allow_for_sequence(struct work *w, double *r)
{
	const double most = 0.9, error = 1 / sqrt(w->sides.n_a + w->sides.n_b - 2);
	double median;

	for (uint32_t i = 0; i < w->n; i++)
		r[i] = serial_correlation(w->s[i]->at, w->sides);
	median = diff_median(r, w->n);
	for (uint32_t i = 0; i < w->n; i++) {
		double of_row = serial_correlation(w->s[i]->at, w->sides),
		       at = error + (of_row > median ? of_row : median), times;

		at = at < 0 ? 0 : at > most ? most : at;
		times = sqrt((1 + at) / (1 - at));
		w->s[i]->t /= times;
		w->s[i]->error *= times;
	}
}

/* ---------------------------------------------------------------- all */

static int greatest_first(const void *a, const void *b)
{
	double x = fabs((*(struct diff_series *const *)a)->t),
	       y = fabs((*(struct diff_series *const *)b)->t);

	return x > y ? -1 : x < y;
}

static int work_init(struct work *w, uint32_t n, struct diff_sides sides)
{
	size_t rooms = n + (size_t)1;

	*w = (struct work){ .sides = sides };
	w->s = calloc(rooms, sizeof(struct diff_series *));
	w->differences = calloc(rooms, sizeof *w->differences);
	w->t = calloc(rooms, sizeof *w->t);
	w->errors = calloc(rooms, sizeof *w->errors);
	w->beyond = calloc(rooms, sizeof *w->beyond);
	return w->s && w->differences && w->t && w->errors && w->beyond ? 0 : -ENOMEM;
}

static void work_fini(struct work *w)
{
	free(w->s);
	free(w->differences);
	free(w->t);
	free(w->errors);
	free(w->beyond);
}

/* Copies the series that can be tested, small ones or the others, and marks those that cannot. */
static void choose(struct work *w, struct diff_series *s, uint32_t n, bool is_small)
{
	uint32_t n_at = w->sides.n_a + w->sides.n_b;

	w->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_finite = true, is_equal = true;

		if (s[i].is_small != is_small)
			continue;

		for (uint32_t k = 0; k < n_at; k++) {
			is_finite = is_finite && isfinite(s[i].at[k]);
			is_equal = is_equal && s[i].at[k] == s[i].at[0];
		}
		s[i].is_equal = is_equal && is_finite;
		s[i].is_tested = is_finite && !is_equal && w->weight > 0;
		if (s[i].is_tested)
			w->s[w->n++] = &s[i];
	}
}

/* The share of the level that small series have; all of it, or none, if there is one kind. */
static double weight_of_small(const struct diff_series *s, uint32_t n, struct diff_sides sides)
{
	const double weight = 0.3, alike = sides.n_a == sides.n_b ? 2 : 1;
	uint32_t n_small = 0;

	for (uint32_t i = 0; i < n; i++)
		n_small += s[i].is_small;
	if (!n_small || n_small == n)
		return n_small ? 1 : 0;
	if (diff_method_of(sides) == DIFF_PERMUTATIONS &&
	    alike / ways(sides) / weight >= DIFF_LEVEL)
		return 0;
	return weight;
}

static void test_work(struct work *w, bool *is_b)
{
	for (uint32_t i = 0; i < w->sides.n_a + w->sides.n_b; i++)
		is_b[i] = i >= w->sides.n_a;
	measure_all(w, is_b);
	for (uint32_t i = 0; i < w->n; i++) {
		w->s[i]->t = w->t[i];
		w->s[i]->difference = w->differences[i];
		w->s[i]->error = w->errors[i];
	}
	if (diff_method_of(w->sides) == DIFF_SEPARATION) {
		test_separation(w);
		return;
	}
	if (w->sides.is_in_sequence)
		allow_for_sequence(w, w->differences);
	qsort(w->s, w->n, sizeof *w->s, greatest_first);
	permute(w, is_b);
}

int diff_test(struct diff_series *s, uint32_t n, struct diff_sides sides)
{
	uint32_t n_at = sides.n_a + sides.n_b;
	const double small = weight_of_small(s, n, sides);
	bool *is_b;
	struct work w;
	int err;

	for (uint32_t i = 0; i < n; i++) {
		s[i].is_tested = s[i].is_equal = false;
		s[i].t = s[i].difference = s[i].shown_from = 0;
		s[i].p = 1;
	}
	if (diff_method_of(sides) == DIFF_ONE_A_SIDE)
		return diff_one_a_side(s, n);
	is_b = calloc(n_at, sizeof *is_b);
	err = work_init(&w, n, sides);
	if (!is_b)
		err = -ENOMEM;
	if (!err) {
		for (int is_small = 0; is_small < 2; is_small++) {
			w.weight = is_small ? small : 1 - small;
			choose(&w, s, n, is_small);
			memset(w.beyond, 0, n * sizeof *w.beyond);
			if (w.n)
				test_work(&w, is_b);
		}
	}
	work_fini(&w);
	free(is_b);
	return err;
}
