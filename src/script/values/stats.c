/* SPDX-License-Identifier: MIT */
/*
 * values/stats.c - statistics: count, sum, least, greatest, variance, histogram, quantiles.
 *
 * The variance is that of a sample, from exact sums of the differences to the first value and of
 * their squares, in 128 bits.  They are exact while the squares add up to less than 2^128, and
 * stay at the greatest value beyond.
 */
#include "script/values/internal.h"

struct stat_more {
	int64_t first;
	__int128 sum; /* of differences to `first` */
	unsigned __int128 squares;
	struct quantiles *quantiles;
	uint64_t buckets[];
};

static bool needs_more(const struct script_array_code *code)
{
	return code->histogram != HIST_NONE || code->has_quantiles || code->has_variance;
}

static size_t more_bytes(const struct array *a)
{
	return sizeof(struct stat_more) + a->n_buckets * sizeof(uint64_t);
}

enum values_error stat_init(struct script_values *v, const struct array *a, struct stat *s)
{
	*s = (struct stat){ .min = INT64_MAX, .max = INT64_MIN };
	if (!needs_more(a->code))
		return VALUES_FINE;
	s->more = values_take(v, more_bytes(a));
	if (!s->more)
		return VALUES_NO_MEMORY;
	memset(s->more, 0, more_bytes(a));
	if (!a->code->has_quantiles)
		return VALUES_FINE;
	s->more->quantiles = quantiles_new(v);
	if (s->more->quantiles)
		return VALUES_FINE;
	stat_fini(v, a, s);
	return VALUES_NO_MEMORY;
}

void stat_fini(struct script_values *v, const struct array *a, struct stat *s)
{
	if (!s->more)
		return;
	quantiles_free(v, s->more->quantiles);
	values_give(v, s->more, more_bytes(a));
	s->more = NULL;
}

uint32_t values_n_buckets(const struct script_array_code *code)
{
	uint64_t n;

	if (code->value != SCRIPT_STATS || code->histogram == HIST_NONE)
		return 0;
	if (code->histogram == HIST_LOG)
		return VALUES_LOG_BUCKETS;
	if (code->width <= 0 || code->high < code->low)
		return 0;
	n = ((uint64_t)code->high - (uint64_t)code->low) / (uint64_t)code->width;
	return n < VALUES_LINEAR_MOST ? (uint32_t)n + 3 : 0;
}

uint32_t values_bucket_of(const struct script_array_code *code, int64_t value)
{
	uint64_t n;

	if (code->histogram == HIST_LOG) {
		if (!value)
			return 64;
		return value > 0 ? 128 - (uint32_t)__builtin_clzll((uint64_t)value)
				 : (uint32_t)__builtin_clzll(-(uint64_t)value);
	}
	if (value < code->low)
		return 0;
	if (value > code->high)
		return values_n_buckets(code) - 1;
	n = ((uint64_t)value - (uint64_t)code->low) / (uint64_t)code->width;
	return (uint32_t)n + 1;
}

static enum values_error collect_more(struct script_values *v, const struct array *a,
				      struct stat *s, int64_t value)
{
	struct stat_more *more = s->more;
	__int128 difference;
	unsigned __int128 square;

	if (a->n_buckets)
		more->buckets[values_bucket_of(a->code, value)]++;
	if (a->code->has_variance) {
		if (!s->n)
			more->first = value;
		difference = (__int128)value - more->first;
		square = difference < 0 ? (unsigned __int128)-difference
					: (unsigned __int128)difference;
		square = square > UINT64_MAX ? ~(unsigned __int128)0 : square * square;
		more->sum += difference;
		if (__builtin_add_overflow(more->squares, square, &more->squares))
			more->squares = ~(unsigned __int128)0;
	}
	if (more->quantiles && quantiles_add(v, more->quantiles, value))
		return VALUES_NO_MEMORY;
	return VALUES_FINE;
}

static inline void count(struct stat *s, uint64_t n, int64_t sum, int64_t min, int64_t max)
{
	s->n += n;
	s->sum = (int64_t)((uint64_t)s->sum + (uint64_t)sum);
	s->min = min < s->min ? min : s->min;
	s->max = max > s->max ? max : s->max;
}

static enum values_error find_stat(struct script_values *v, struct array *a,
				   const union script_cell *keys, struct stat **s)
{
	struct element *e = array_find(a, keys);
	enum values_error error = VALUES_FINE;

	if (!e)
		error = array_insert(v, a, keys, &e);
	else if (a->n_iterations)
		error = VALUES_ITERATED;
	if (!error)
		*s = stat_of(a, e);
	return error;
}

enum values_error values_collect(struct script_values *v, uint32_t array,
				 const union script_cell *keys, int64_t value)
{
	struct array *a = &v->arrays[array];
	struct stat *s;
	enum values_error error = find_stat(v, a, keys, &s);

	if (!error && s->more)
		error = collect_more(v, a, s, value);
	if (error)
		return error;
	count(s, 1, value, value, value);
	return VALUES_FINE;
}

enum values_error values_collect_many(struct script_values *v, uint32_t array,
				      const union script_cell *keys,
				      const struct script_stats_delta *delta)
{
	struct array *a = &v->arrays[array];
	struct stat *s;
	enum values_error error;

	if (!delta->n)
		return VALUES_FINE;
	error = find_stat(v, a, keys, &s);
	if (error)
		return error;
	for (uint32_t i = 0; delta->buckets && i < delta->n_buckets && i < a->n_buckets; i++)
		s->more->buckets[i] += delta->buckets[i];
	count(s, delta->n, delta->sum, delta->min, delta->max);
	return VALUES_FINE;
}

static int64_t variance(const struct stat *s)
{
	const struct stat_more *more = s->more;
	unsigned __int128 sum =
		more->sum < 0 ? (unsigned __int128)-more->sum : (unsigned __int128)more->sum;
	unsigned __int128 mean_square = ~(unsigned __int128)0, result;
	long double product = (long double)sum / (long double)s->n * (long double)sum;

	if (s->n < 2)
		return 0;
	if (more->squares == ~(unsigned __int128)0)
		return INT64_MAX;
	/* sum * sum / n, in an order that does not overflow */
	if (sum <= UINT64_MAX)
		mean_square = sum * sum / s->n;
	else if (product < 0x1p128L)
		mean_square = (unsigned __int128)product;
	if (mean_square > more->squares)
		return 0;
	result = (more->squares - mean_square) / (s->n - 1);
	return result > INT64_MAX ? INT64_MAX : (int64_t)result;
}

enum values_error stat_value(const struct array *a, const struct stat *s,
			     enum script_statistic which, int64_t parameter, int64_t *value)
{
	*value = 0;
	if (which == STATISTIC_COUNT || which == STATISTIC_SUM) {
		*value = which == STATISTIC_COUNT ? (int64_t)s->n : s->sum;
		return VALUES_FINE;
	}
	if (!s->n)
		return VALUES_EMPTY;
	switch (which) {
	case STATISTIC_MIN:
		*value = s->min;
		break;
	case STATISTIC_MAX:
		*value = s->max;
		break;
	case STATISTIC_AVG:
		/* A count of more than 2^63 cannot be reached. */
		*value = s->sum == INT64_MIN && s->n == 1 ? s->sum : s->sum / (int64_t)s->n;
		break;
	case STATISTIC_VARIANCE:
		*value = a->code->has_variance ? variance(s) : 0;
		break;
	case STATISTIC_QUANTILE:
		*value = s->more && s->more->quantiles
				 ? quantiles_get(s->more->quantiles, parameter)
				 : 0;
		break;
	default:
		break;
	}
	return VALUES_FINE;
}

enum values_error values_statistic(struct script_values *v, uint32_t array,
				   const union script_cell *keys, enum script_statistic which,
				   int64_t parameter, int64_t *value)
{
	static const struct stat empty;
	const struct array *a = &v->arrays[array];
	struct element *e = array_find(a, keys);

	return stat_value(a, e ? stat_of(a, e) : &empty, which, parameter, value);
}

const uint64_t *stat_buckets(const struct stat *s)
{
	return s->more->buckets;
}

const uint64_t *values_buckets(const struct script_values *v, uint32_t array,
			       const union script_cell *keys)
{
	const struct array *a = &v->arrays[array];
	struct element *e = array_find(a, keys);

	return e && a->n_buckets && stat_of(a, e)->n ? stat_buckets(stat_of(a, e)) : NULL;
}

enum values_error values_bucket(struct script_values *v, uint32_t array,
				const union script_cell *keys, int64_t bucket, int64_t *value)
{
	const uint64_t *buckets = values_buckets(v, array, keys);

	*value = 0;
	if (!buckets)
		return VALUES_EMPTY;
	if (bucket < 0 || bucket >= v->arrays[array].n_buckets)
		return VALUES_NO_BUCKET;
	*value = (int64_t)buckets[bucket];
	return VALUES_FINE;
}
