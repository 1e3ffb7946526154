/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/statistics.h - decides which rows changed between two sides of recordings.
 *
 * A recording gives one number to a row: calls of one run are not independent of each other, so
 * thousands of them weigh no more than one run.  Numbers are compared as logarithms.
 *
 * Which test is used depends on the numbers of recordings:
 *
 *   permutations  if at most 3 % of the ways to divide the recordings into the sides look like this
 *                 one (4 and 4, 3 and 4, 3 and 5, ...).  Step-down maxT of Westfall and Young
 *                 (Resampling-Based Multiple Testing, 1993, algorithm 4.1): the chance that any
 *                 unchanged row is called changed is at most the level, whatever the distributions
 *                 and the dependence of rows, if recordings of both sides are exchangeable.
 *   separation    with fewer: Student's t with Holm's correction, and besides each value of one side
 *                 lies beyond each of the other.
 *   one a side    the spread of changes over all rows takes the place of the spread between runs.
 *
 * Recordings of sides that follow each other are not exchangeable: the load of the machine lasts longer than
 * one recording, and the next one resembles the last.  Within a side that shows as a serial correlation r, and
 * the variance of a mean is (1 + r) / (1 - r) times that of independent values (Bartlett, "Some aspects of
 * the time-correlation problem", Journal of the Royal Statistical Society 98, 1935).  So the observed t, not
 * those of the permutations, is divided by its root.  r is the row's own or the median of all rows', whichever
 * is greater, and one standard error is added: few recordings estimate it badly, and a correlation that is
 * estimated too low is a false alarm.
 *
 * The more rows are tested, the greater a change must be.  So those that matter little are tested apart
 * (`is_small`), with 0.3 of the level; the others have 0.7 of it.  With so few permutations that none
 * would be rare enough, small rows are not tested and the others have all of it.  Which rows are small
 * must not depend on which recording is A's or B's: then the level holds (Bourgon, Gentleman and Huber,
 * "Independent filtering increases detection power", PNAS 107(21), 2010).
 *
 * Each row has a t of its own.  Moderated t (Smyth, "Linear Models and Empirical Bayes Methods", 2004),
 * which draws a row's variance towards that of all rows, was tried and dropped: rows with one call vary
 * by half of their value between runs, a call of 10 000 calls by 2 %, so the pool hid each change of the
 * latter; and rows of one recording depend on each other, so that with 3 and 3 recordings 7 to 9 of 100
 * simulated sets raised an alarm, with 2 and 2 up to 21.
 */
#ifndef ANALYSIS_DIFF_STATISTICS_H
#define ANALYSIS_DIFF_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of quantities. */
enum diff_pool { DIFF_POOL_TIME, DIFF_POOL_COUNT, DIFF_POOL_CPU, DIFF_POOLS };

enum diff_method { DIFF_PERMUTATIONS, DIFF_SEPARATION, DIFF_ONE_A_SIDE };

struct diff_series {
	enum diff_pool pool;
	const double
		*at;   /* logarithms: of A's recordings in the order of time, then of B's; lent */
	bool is_small; /* a change of it would matter little */
	/* The standard error of the difference.  DIFF_ONE_A_SIDE: input, < 0 if unknown; else a result. */
	double error;
	/* The result. */
	bool is_tested;	   /* false: equal in all recordings, or the method cannot tell */
	bool is_equal;	   /* in all recordings */
	double difference; /* of the means, B - A */
	double t, p;	   /* p: corrected for the number of series */
	/* DIFF_PERMUTATIONS: the least |difference| that is called changed in four of five such sets of
	 * recordings, about; 0: unknown. */
	double shown_from;
};

struct diff_sides {
	uint32_t n_a, n_b;   /* recordings, at least one each */
	bool is_in_sequence; /* all of one side were made before all of the other */
};

/* A row whose p is below it changed. */
#define DIFF_LEVEL 0.03

/* At most so many permutations are tried; of more, a random choice that is the same each time. */
enum { DIFF_PERMUTATIONS_MOST = 5000 };

/* One a side: a pool with fewer rows cannot tell. */
enum { DIFF_ROWS_LEAST = 8 };

enum diff_method diff_method_of(struct diff_sides sides);

/* diff_permutations - how many the test tries with these sides, and whether that is all of them. */
uint64_t diff_permutations(struct diff_sides sides, bool *is_all);

/* diff_test - fill in the results of @n series.  Returns 0 or -ENOMEM. */
int diff_test(struct diff_series *s, uint32_t n, struct diff_sides sides);

/* diff_holm - the step-down correction of the p of tested series (Scandinavian Journal of Statistics
 * 6, 1979).  Returns 0 or -ENOMEM. */
int diff_holm(struct diff_series *s, uint32_t n);

/* diff_one_a_side - the test for one recording each: see single.c.  Returns 0 or -ENOMEM. */
int diff_one_a_side(struct diff_series *s, uint32_t n);

/* diff_student_p - two-sided. */
double diff_student_p(double t, double freedom);

/* diff_median - of @n >= 1 numbers, which it sorts by diff_ascending(). */
double diff_median(double *at, uint32_t n);
int diff_ascending(const void *a, const void *b); /* for qsort() */

#endif
