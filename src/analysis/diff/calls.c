/* SPDX-License-Identifier: MIT */
/*
 * analysis/diff/calls.c - functions of programs as rows of a comparison.
 *
 * A row is FILE:FUNCTION, so that a rebuilt program's function is compared with its older self.
 * Durations are those of calls that returned, each in its bucket of the report.
 */
#include "analysis/diff/calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void name_row(const struct fcalls *c, uint32_t function, char *name, size_t size)
{
	const struct fcalls_function *f = fcalls_function(c, function);
	const char *slash = strrchr(f->object, '/');

	snprintf(name, size, "%s%s%s", slash ? slash + 1 : f->object, *f->object ? ":" : "",
		 f->shown);
}

/* The middle of a bucket of @s. */
static uint64_t middle(const struct spread *s, int doubling, uint64_t bucket)
{
	int shift = doubling - SPREAD_SHIFT;
	uint64_t v = bucket;

	if (shift >= 0)
		v = ((SPREAD_BUCKETS + bucket) << shift) + ((uint64_t)1 << shift) / 2;
	return v < s->min ? s->min : v > s->max ? s->max : v;
}

static int take_times(struct samples *to, const struct spread *from)
{
	int err = 0;

	for (int i = 0; i < 64 && !err; i++)
		for (uint64_t k = 0; from->doublings[i] && k < SPREAD_BUCKETS && !err; k++)
			if (from->doublings[i][k])
				err = samples_add_many(to, middle(from, i, k),
						       from->doublings[i][k]);
	return err;
}

static int take_row(const struct fcalls_row *from, struct diff_row *row, uint32_t run)
{
	row->runs[run].n += from->calls;
	row->runs[run].ns += from->self_ns;
	row->runs[run].total_ns += from->total_ns;
	return take_times(&row->now, &from->time);
}

static int take_report(struct fcalls_report *r, struct diff *d, uint32_t run)
{
	char name[640];

	for (uint32_t i = 0; i < r->n_rows; i++) {
		struct diff_row *row;

		name_row(r->calls, r->rows[i].function, name, sizeof name);
		row = diff_row_of(d, DIFF_FUNCTION, name, strlen(name));
		if (!row || take_row(&r->rows[i], row, run))
			return -ENOMEM;
	}
	return 0;
}

int diff_take_calls(struct diff *d, uint32_t run, struct trace *t, struct diag *diag)
{
	const struct fcalls_options o = { .range = { INT64_MIN, INT64_MAX },
					  .is_without_kernel = true };
	struct fcalls_report report;
	struct fcalls *calls = NULL;
	struct trace *part;
	int err = trace_part(t, TRACE_ALL_STREAMS, NULL, NULL, &part);

	if (err)
		return diag_fail(diag, err, "no memory for the comparison");
	err = fcalls_open(&calls, part, diag);
	if (!err && fcalls_has_calls(calls)) {
		err = fcalls_report_open(&report, calls, &o, 0, diag);
		if (!err) {
			err = take_report(&report, d, run);
			if (err)
				diag_fail(diag, err, "no memory for the comparison");
			fcalls_report_close(&report);
		}
	}
	fcalls_close(calls);
	trace_close(part);
	return err;
}
