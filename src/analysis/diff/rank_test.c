/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/rank_test.c - the rank test that decides whether a difference is more than
 * chance: see diff.h.
 */
#include <assert.h>
#include <math.h>

#include "analysis/diff/diff.h"

/* The sums over all values of both samples, in ascending order. */
struct ranking {
	double wins; /* pairs in which b's value is the greater; equal pairs count half */
	double ties; /* sum of t^3 - t over groups of t equal values */
};

static struct ranking rank(struct samples *a, struct samples *b)
{
	uint64_t at_a = 0, at_b = 0, value_a, value_b, n_a, n_b;
	bool has_a = samples_next(a, &at_a, &value_a, &n_a),
	     has_b = samples_next(b, &at_b, &value_b, &n_b);
	struct ranking r = { 0 };
	double below = 0; /* values of a */

	while (has_a || has_b) {
		bool takes_a = has_a && (!has_b || value_a <= value_b);
		bool takes_b = has_b && (!has_a || value_b <= value_a);
		double of_a = takes_a ? (double)n_a : 0, of_b = takes_b ? (double)n_b : 0,
		       t = of_a + of_b;

		r.wins += of_b * (below + of_a / 2);
		r.ties += t * t * t - t;
		below += of_a;
		has_a = takes_a ? samples_next(a, &at_a, &value_a, &n_a) : has_a;
		has_b = takes_b ? samples_next(b, &at_b, &value_b, &n_b) : has_b;
	}
	return r;
}

double diff_compare(struct samples *a, struct samples *b, double *superiority)
{
	double n = (double)a->n, m = (double)b->n, all = n + m, variance, distance;
	struct ranking r;

	*superiority = 0.5;
	if (a->n < DIFF_LEAST || b->n < DIFF_LEAST)
		return -1;
	r = rank(a, b);
	*superiority = r.wins / (n * m);
	assert(r.wins >= 0 && r.wins <= n * m);
	variance = n * m / 12 * (all + 1 - r.ties / (all * (all - 1)));
	if (variance <= 0)
		return 1;
	distance = fabs(r.wins - n * m / 2) - 0.5; /* corrected for continuity */
	return distance <= 0 ? 1 : erfc(distance / sqrt(2 * variance));
}
