/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/single.c - one recording a side: which rows changed more than the rest did.
 *
 * The spread between two runs of the same program is not known then.  The rows show it: most of them
 * are taken to be unchanged, so the spread of their changes is that between runs, with that of the
 * measurement itself.  It is estimated by the median of absolute deviations and by their upper fifth,
 * whichever gives more: a fifth of the rows may change without widening it.  A row's own error, from blocks of time in each recording, is added.
 *
 * Changes of unchanged rows have longer tails than a normal distribution: some rows vary much more
 * than others.  So Student's distribution of TAIL_FREEDOM is used; docs/design/figures/diff.md has
 * the measurements that chose it.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/diff/statistics.h"

#define TAIL_FREEDOM 2
#define NORMAL_PER_MAD 1.4826
#define NORMAL_PER_FOUR_FIFTHS 0.7803

/* Rows that resemble each other by chance show no smaller spread than this, by pool. */
static const double least_spread[DIFF_POOLS] = {
	[DIFF_POOL_TIME] = 0.03, [DIFF_POOL_COUNT] = 0.05, [DIFF_POOL_CPU] = 0.05
};

static bool is_known(const struct diff_series *s, enum diff_pool pool)
{
	return s->pool == pool && s->error >= 0 && isfinite(s->difference);
}

static void test_pool(struct diff_series *s, uint32_t n, enum diff_pool pool, double *rooms)
{
	uint32_t n_known = 0;
	double centre, spread, wide;

	for (uint32_t i = 0; i < n; i++)
		if (is_known(&s[i], pool))
			rooms[n_known++] = s[i].difference;
	if (n_known < DIFF_ROWS_LEAST)
		return;
	centre = diff_median(rooms, n_known);
	for (uint32_t i = 0; i < n_known; i++)
		rooms[i] = fabs(rooms[i] - centre);
	qsort(rooms, n_known, sizeof *rooms, diff_ascending);
	spread = NORMAL_PER_MAD * rooms[n_known / 2];
	wide = NORMAL_PER_FOUR_FIFTHS * rooms[n_known * 4 / 5];
	spread = wide > spread ? wide : spread;
	spread = spread > least_spread[pool] ? spread : least_spread[pool];
	for (uint32_t i = 0; i < n; i++) {
		if (!is_known(&s[i], pool))
			continue;
		s[i].is_tested = true;
		s[i].t = (s[i].difference - centre) /
			 sqrt(spread * spread + s[i].error * s[i].error);
		s[i].p = diff_student_p(s[i].t, TAIL_FREEDOM);
	}
}

int diff_one_a_side(struct diff_series *s, uint32_t n)
{
	double *rooms = calloc(n + (size_t)1, sizeof *rooms);

	if (!rooms)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		s[i].difference = s[i].at[1] - s[i].at[0];
		s[i].is_equal = s[i].difference == 0;
	}
	for (int pool = 0; pool < DIFF_POOLS; pool++)
		test_pool(s, n, (enum diff_pool)pool, rooms);
	free(rooms);
	return diff_holm(s, n);
}
