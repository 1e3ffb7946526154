/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/student.c - Student's distribution, by the incomplete beta function (Abramowitz and
 * Stegun, 26.5.27 and 26.7.1), and this by its continued fraction (26.5.8) with the method of Lentz (1976).
 */
#include <assert.h>
#include <math.h>

#include "analysis/diff/statistics.h"

static double away_from_zero(double v)
{
	return fabs(v) < 1e-300 ? 1e-300 : v;
}

/* The k-th coefficient of the continued fraction, for k >= 1. */
static double coefficient(int k, double a, double b, double x)
{
	double m = k / 2;

	return k % 2 ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
		     : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

static double fraction(double a, double b, double x)
{
	double c = 1, d = 0, f = 1;

	for (int k = 1; k < 10000; k++) {
		double of = coefficient(k, a, b, x), step;

		d = 1 / away_from_zero(1 + of * d);
		c = away_from_zero(1 + of / c);
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return 1 / f;
}

/* The regularised incomplete beta function. */
static double beta_share(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a
					 : 1 - front * fraction(b, a, 1 - x) / b;
}

double diff_student_p(double t, double freedom)
{
	assert(freedom > 0);
	if (isinf(t))
		return 0;
	return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t));
}
