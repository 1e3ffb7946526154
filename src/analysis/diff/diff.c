/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/diff.c - the rows of a comparison: made while recordings are read (read.c), then
 * tested (statistics.h) and sorted.
 */
#include "analysis/diff/diff.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- rows */

static uint32_t n_of(const struct diff *d)
{
	return d->o.sides.n_a + d->o.sides.n_b;
}

static bool has_slices(const struct diff *d, enum diff_kind kind)
{
	return n_of(d) == 2 && (kind == DIFF_CALL || kind == DIFF_PAIR);
}

static bool make_row(const struct diff *d, struct diff_row *row, enum diff_kind kind,
		     const char *name, size_t size)
{
	row->kind = kind;
	row->name = strndup(name, size);
	row->runs = calloc(n_of(d), sizeof *row->runs);
	row->logarithms = calloc(n_of(d) * (size_t)DIFF_TESTS, sizeof *row->logarithms);
	for (uint32_t i = 0; row->runs && i < n_of(d); i++)
		row->runs[i] = (struct diff_run){ .time_error = -1, .rate_error = 1 };
	if (has_slices(d, kind))
		row->slices = calloc(DIFF_SLICES, sizeof *row->slices);
	return row->name && row->runs && row->logarithms && (row->slices || !has_slices(d, kind));
}

struct diff_row *diff_row_of(struct diff *d, enum diff_kind kind, const char *name, size_t size)
{
	int64_t i = index_find(&d->row_keys, kind, hash_bytes(name, size), size, true);

	if (i < 0 || pass_grow(&d->rows, &d->n_row_rooms, (uint32_t)i, sizeof *d->rows))
		return NULL;
	assert(i <= d->n_rows);
	if (i < d->n_rows)
		return &d->rows[i];
	d->n_rows++; /* diff_fini frees it, also half made */
	return make_row(d, &d->rows[i], kind, name, size) ? &d->rows[i] : NULL;
}

/* (2) of diff.h. */
static void hide_events_of_calls(struct diff *d)
{
	static const char *const prefixes[] = { "syscall_entry_", "syscall_exit_",
						"compat_syscall_entry_", "compat_syscall_exit_" };

	for (uint32_t i = 0; i < d->n_rows; i++) {
		struct diff_row *row = &d->rows[i];

		for (int k = 0; k < 4 && row->kind == DIFF_EVENT; k++) {
			size_t n = strlen(prefixes[k]);
			const char *call = row->name + n;

			if (strncmp(row->name, prefixes[k], n) != 0)
				continue;
			row->is_of_call =
				index_find(&d->row_keys, DIFF_CALL, hash_bytes(call, strlen(call)),
					   strlen(call), false) >= 0;
		}
	}
}

/* ---------------------------------------------------------------- values */

static double seconds(const struct diff_recording *r)
{
	return r->last_ns > r->first_ns
		       ? (double)((uint64_t)r->last_ns - (uint64_t)r->first_ns) / 1e9
		       : 1;
}

static double amount_of(const struct diff *d, const struct diff_row *row, uint32_t run)
{
	const struct diff_run *v = &row->runs[run];
	double amount = (double)(row->kind == DIFF_CPU ? v->ns : v->n);

	return d->o.amounts == DIFF_RATES ? amount / seconds(&d->recordings[run]) : amount;
}

/* The logarithm of an amount, which may be 0: half an event, or a tenth of a millisecond, is
 * added. */
static double logarithm_of(const struct diff *d, const struct diff_row *row, uint32_t run)
{
	const struct diff_run *v = &row->runs[run];
	double more = row->kind == DIFF_CPU ? (double)v->ns + 1e5 : (double)v->n + 0.5;

	return log(d->o.amounts == DIFF_RATES ? more / seconds(&d->recordings[run]) : more);
}

static bool has_times(const struct diff_row *row)
{
	return row->kind != DIFF_EVENT && row->kind != DIFF_CPU;
}

/* One recording a side: the errors of both together; < 0 if one is not known. */
static void set_errors(const struct diff *d, struct diff_row *row)
{
	const struct diff_run *a = &row->runs[0], *b = &row->runs[1];

	row->tests[DIFF_TIME].error =
		a->time_error < 0 || b->time_error < 0 ? -1 : hypot(a->time_error, b->time_error);
	if (d->o.amounts == DIFF_RATES)
		row->tests[DIFF_AMOUNT].error = hypot(a->rate_error, b->rate_error);
	else if (row->kind == DIFF_CPU)
		row->tests[DIFF_AMOUNT].error = 0;
	else
		row->tests[DIFF_AMOUNT].error =
			sqrt(1 / ((double)a->n + 0.5) + 1 / ((double)b->n + 0.5));
}

static void take_logarithms(const struct diff *d, struct diff_row *row)
{
	uint32_t n = n_of(d);
	double *times = row->logarithms, *amounts = times + n, *quarters = amounts + n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t of = d->by_time[i];
		bool has_median = has_times(row) && row->runs[of].n;

		times[i] = has_median ? log((double)row->runs[of].median_ns + 1) : NAN;
		quarters[i] = has_median && d->method == DIFF_PERMUTATIONS
				      ? log((double)row->runs[of].quarter_ns + 1)
				      : NAN;
		amounts[i] = logarithm_of(d, row, of);
	}
	row->tests[DIFF_TIME] = (struct diff_series){ .pool = DIFF_POOL_TIME, .at = times };
	row->tests[DIFF_QUARTER] =
		(struct diff_series){ .pool = DIFF_POOL_TIME, .at = quarters, .error = -1 };
	row->tests[DIFF_AMOUNT] = (struct diff_series){
		.pool = row->kind == DIFF_CPU ? DIFF_POOL_CPU : DIFF_POOL_COUNT, .at = amounts
	};
	if (n == 2)
		set_errors(d, row);
}

/* ---------------------------------------------------------------- what is shown */

/* Only recordings that have the row have durations. */
static double median_of_times(const struct diff_run *runs, uint32_t n, bool is_quarter,
			      double *room)
{
	uint32_t n_known = 0;

	for (uint32_t i = 0; i < n; i++)
		if (runs[i].n)
			room[n_known++] =
				(double)(is_quarter ? runs[i].quarter_ns : runs[i].median_ns);
	return n_known ? diff_median(room, n_known) : 0;
}

/* @room: for as many numbers as there are recordings. */
static void take_side(const struct diff *d, struct diff_row *row, int side, double *room)
{
	uint32_t first = side ? d->o.sides.n_a : 0, n = side ? d->o.sides.n_b : d->o.sides.n_a;
	struct diff_side *s = &row->side[side];
	const struct diff_run *runs = &row->runs[first];

#define MEDIAN(of)                                                                                 \
	({                                                                                         \
		for (uint32_t i = 0; i < n; i++)                                                   \
			room[i] = (double)(of);                                                    \
		diff_median(room, n);                                                              \
	})
	s->n = MEDIAN(runs[i].n);
	s->ns = MEDIAN(runs[i].ns);
	s->total_ns = MEDIAN(runs[i].total_ns);
	s->median_ns = median_of_times(runs, n, false, room);
	s->quarter_ns = median_of_times(runs, n, true, room);
	s->amount = MEDIAN(amount_of(d, row, first + i));
#undef MEDIAN
}

static int take_sides(struct diff *d)
{
	double *room = calloc(n_of(d), sizeof *room);

	if (!room)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n_rows; i++) {
		struct diff_row *row = &d->rows[i];

		take_side(d, row, 0, room);
		take_side(d, row, 1, room);
		row->change = has_times(row) ? row->side[1].total_ns - row->side[0].total_ns
					     : row->side[1].amount - row->side[0].amount;
	}
	free(room);
	return 0;
}

/* (4) of diff.h. */
static bool is_changed(const struct diff_series *s, double a, double b)
{
	return s->is_tested && s->p < DIFF_LEVEL && (s->t > 0 ? b > a : b < a);
}

/* The printed medians must not contradict the verdict. */
static bool is_clearer(const struct diff_series *quarter, const struct diff_series *median,
		       const struct diff_side *a, const struct diff_side *b)
{
	return quarter->is_tested && (!median->is_tested || quarter->p < median->p) &&
	       (quarter->t > 0 ? b->median_ns > a->median_ns : b->median_ns < a->median_ns);
}

static void judge(struct diff *d, struct diff_row *row)
{
	const struct diff_side *a = &row->side[0], *b = &row->side[1];
	double of_quarter = row->tests[DIFF_QUARTER].shown_from,
	       of_median = row->tests[DIFF_TIME].shown_from;

	row->is_changed[DIFF_TIME] = is_changed(&row->tests[DIFF_TIME], a->median_ns, b->median_ns);
	if (is_clearer(&row->tests[DIFF_QUARTER], &row->tests[DIFF_TIME], a, b)) {
		row->tests[DIFF_TIME] = row->tests[DIFF_QUARTER];
		row->is_changed[DIFF_TIME] =
			is_changed(&row->tests[DIFF_TIME], a->quarter_ns, b->quarter_ns);
	}
	row->tests[DIFF_TIME].shown_from =
		of_quarter > 0 && of_quarter < of_median ? of_quarter : of_median;
	row->is_changed[DIFF_AMOUNT] = is_changed(&row->tests[DIFF_AMOUNT], a->amount, b->amount);
	d->n_tested += row->tests[DIFF_TIME].is_tested || row->tests[DIFF_AMOUNT].is_tested;
	d->n_changed += row->is_changed[DIFF_TIME] || row->is_changed[DIFF_AMOUNT];
}

enum diff_order diff_order_of(const struct diff *d)
{
	const struct diff_recording *r = d->recordings;
	int64_t first[2] = { INT64_MAX, INT64_MAX }, last[2] = { INT64_MIN, INT64_MIN };

	for (uint32_t i = 0; i < n_of(d); i++) {
		int side = i >= d->o.sides.n_a;

		if (!r[i].n_events)
			return DIFF_IN_TURN; /* its time is unknown */
		first[side] = r[i].first_ns < first[side] ? r[i].first_ns : first[side];
		last[side] = r[i].first_ns > last[side] ? r[i].first_ns : last[side];
	}
	return last[0] < first[1] ? DIFF_A_FIRST : last[1] < first[0] ? DIFF_B_FIRST : DIFF_IN_TURN;
}

static void order_by_time(struct diff *d)
{
	uint32_t *at = d->by_time, n_a = d->o.sides.n_a;

	for (uint32_t i = 0; i < n_of(d); i++) {
		uint32_t k = i, first = i < n_a ? 0 : n_a;

		for (; k > first && d->recordings[at[k - 1]].first_ns > d->recordings[i].first_ns;
		     k--)
			at[k] = at[k - 1];
		at[k] = i;
	}
}

/* ---------------------------------------------------------------- all */

/* The sum of both sides, so that it does not depend on the sides. */
struct weights {
	double ns, n, events, cpu_ns;
};

static struct weights weights_of(const struct diff *d, const struct diff_row *row)
{
	struct weights w = { 0 };

	for (uint32_t i = 0; i < n_of(d); i++) {
		w.ns += has_times(row) ? (double)row->runs[i].total_ns : 0;
		w.n += has_times(row) ? (double)row->runs[i].n : 0;
		w.events += row->kind == DIFF_EVENT ? (double)row->runs[i].n : 0;
		w.cpu_ns += row->kind == DIFF_CPU ? (double)row->runs[i].ns : 0;
	}
	return w;
}

/* A row matters if it has a thousandth of the time of its kind, or many calls. */
static void find_small(struct diff *d)
{
	enum { MANY = 100, FEW_PER_RECORDING = 4 };
	struct weights all[DIFF_KINDS] = { { 0 } };

	for (uint32_t i = 0; i < d->n_rows; i++) {
		struct weights *a = &all[d->rows[i].kind], w = weights_of(d, &d->rows[i]);

		*a = (struct weights){ a->ns + w.ns, a->n + w.n, a->events + w.events,
				       a->cpu_ns + w.cpu_ns };
	}
	for (uint32_t i = 0; i < d->n_rows; i++) {
		const struct weights *a = &all[d->rows[i].kind], w = weights_of(d, &d->rows[i]);
		bool is_long = w.ns * 1000 > a->ns || w.cpu_ns * 1000 > a->cpu_ns,
		     is_often = w.n > (double)MANY * n_of(d);

		d->rows[i].tests[DIFF_TIME].is_small = !is_long && !is_often;
		d->rows[i].tests[DIFF_QUARTER].is_small = !is_long && !is_often;
		d->rows[i].tests[DIFF_AMOUNT].is_small =
			!is_long && !is_often && w.events <= (double)FEW_PER_RECORDING * n_of(d);
	}
}

static int test_rows(struct diff *d)
{
	struct diff_series *s = calloc(d->n_rows * (size_t)DIFF_TESTS + 1, sizeof *s);
	uint32_t n = 0;
	int err;

	if (!s)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n_rows; i++)
		for (int k = 0; k < DIFF_TESTS && !d->rows[i].is_of_call; k++)
			s[n++] = d->rows[i].tests[k];
	err = diff_test(s, n, d->o.sides);
	n = 0;
	for (uint32_t i = 0; i < d->n_rows; i++)
		for (int k = 0; k < DIFF_TESTS && !d->rows[i].is_of_call; k++)
			d->rows[i].tests[k] = s[n++];
	free(s);
	return err;
}

static int most_important_first(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	bool is_x = x->is_changed[0] || x->is_changed[1],
	     is_y = y->is_changed[0] || y->is_changed[1];

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (is_x != is_y)
		return is_x ? -1 : 1;
	if (fabs(x->change) != fabs(y->change))
		return fabs(x->change) < fabs(y->change) ? 1 : -1;
	return strcmp(x->name, y->name);
}

int diff_begin(struct diff *d, const struct diff_options *o)
{
	*d = (struct diff){ .o = *o, .method = diff_method_of(o->sides) };
	d->recordings = calloc(n_of(d), sizeof *d->recordings);
	d->by_time = calloc(n_of(d), sizeof *d->by_time);
	return d->recordings && d->by_time ? 0 : -ENOMEM;
}

int diff_end(struct diff *d)
{
	bool is_of_commands = true;
	int err;

	assert(d->n_recordings == n_of(d));
	for (uint32_t i = 0; i < n_of(d); i++)
		is_of_commands = is_of_commands && d->recordings[i].is_of_command;
	if (d->o.amounts == DIFF_AS_RECORDED)
		d->o.amounts = is_of_commands ? DIFF_TOTALS : DIFF_RATES;
	hide_events_of_calls(d);
	order_by_time(d);
	d->o.sides.is_in_sequence = diff_order_of(d) != DIFF_IN_TURN;
	for (uint32_t i = 0; i < d->n_rows; i++)
		take_logarithms(d, &d->rows[i]);
	find_small(d);
	err = take_sides(d);
	if (!err)
		err = test_rows(d);
	for (uint32_t i = 0; i < d->n_rows && !err; i++)
		judge(d, &d->rows[i]);
	if (!err && d->n_rows)
		qsort(d->rows, d->n_rows, sizeof *d->rows, most_important_first);
	return err;
}

static void free_row(struct diff_row *row)
{
	free(row->name);
	free(row->runs);
	free(row->logarithms);
	samples_fini(&row->time[0]);
	samples_fini(&row->time[1]);
	samples_fini(&row->now);
	for (int i = 0; row->slices && i < DIFF_SLICES; i++)
		samples_fini(&row->slices[i]);
	free(row->slices);
}

void diff_fini(struct diff *d)
{
	for (uint32_t i = 0; i < d->n_rows; i++)
		free_row(&d->rows[i]);
	free(d->rows);
	free(d->recordings);
	free(d->by_time);
	index_fini(&d->row_keys);
	*d = (struct diff){ 0 };
}
