/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/diff.h - compares two recordings: the differences, and whether they are more than
 * chance.
 *
 * Durations (system calls, functions of programs, from event A to event B) are two samples: Mann and Whitney's U test,
 * two-sided, by the normal approximation with correction for ties ("On a Test of Whether one of Two
 * Random Variables is Stochastically Larger than the Other", Annals of Mathematical Statistics 18,
 * 1947). It assumes no shape of the distributions, which suits durations. It is not used with fewer
 * than DIFF_LEAST values on each side. The size of an effect is the share of pairs in which B's
 * value is the greater (Vargha and Delaney's A, 2000): 0.5 is no difference, 0 and 1 are complete
 * ones.
 *
 * Rates of events and CPU time of programs are sums, and a recording has one of each. So each
 * recording is cut into DIFF_SLICES parts of equal length, and the parts' counts are the samples.
 * Parts of one recording resemble each other more than two recordings do: a significant difference
 * of rates holds for these two recordings, not for the next two.
 *
 * With many rows some differ by chance: p values are corrected by Holm's step-down method ("A
 * Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6,
 * 1979), over all tested rows.
 */
#ifndef ANALYSIS_DIFF_DIFF_H
#define ANALYSIS_DIFF_DIFF_H

#include "analysis/samples.h"
#include "analysis/pass.h"

enum { DIFF_SLICES = 32, DIFF_LEAST = 8 };

enum diff_kind { DIFF_EVENT, DIFF_CALL, DIFF_CPU, DIFF_PAIR, DIFF_FUNCTION, DIFF_KINDS };

struct diff_side {
	uint64_t n;	       /* events; calls, functions; CPU: switches to it */
	uint64_t ns;	       /* CPU: its time; functions: time in themselves */
	uint64_t total_ns;     /* functions */
	struct samples time;   /* calls, pairs, functions */
	struct samples slices; /* events: counts; CPU: nanoseconds */
};

struct diff_row {
	enum diff_kind kind;
	char *name;
	struct diff_side side[2];
	bool is_tested;
	double p, superiority; /* p: corrected */
	double change;	       /* the sort key of rows: see test_row() */
};

struct diff_half { /* totals of one recording */
	int64_t first_ns, last_ns;
	uint64_t n_events, lost_events, lost_packets, n_damages;
};

struct diff {
	struct diff_half half[2];
	struct diff_row *rows; /* by kind; within a kind the most important first */
	uint32_t n_rows;
	uint32_t n_tested, n_significant; /* at DIFF_LEVEL */
};

#define DIFF_LEVEL 0.05

/* diff_init - compare @a with @b.  @from, @to: patterns of a pair, or NULL.  Returns 0 or -errno.
 */
int diff_init(struct diff *d, struct trace *a, struct trace *b, const char *from, const char *to,
	      struct diag *diag);
void diff_fini(struct diff *d);

/*
 * diff_compare - Mann and Whitney's test of two samples.
 *
 * @superiority: set to the share of pairs in which @b's value is the greater; ties count half.
 *
 * Returns p, two-sided; 1 if all values are equal; -1 if one of them has fewer than DIFF_LEAST
 * values.
 */
double diff_compare(struct samples *a, struct samples *b, double *superiority);

#endif
