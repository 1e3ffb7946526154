/* SPDX-License-Identifier: MIT */
/* analysis/diff/calls.h - functions of programs as rows of a comparison (diff.h). */
#ifndef ANALYSIS_DIFF_CALLS_H
#define ANALYSIS_DIFF_CALLS_H

#include "analysis/calls/calls.h"
#include "analysis/diff/diff.h"

/* Finds or makes a row; NULL: no memory. */
typedef struct diff_row *diff_row_of(void *context, enum diff_kind kind, const char *name,
				     size_t size);

/* diff_take_calls - fill side @side of a row for each function of @t.  @t's cursor is not moved.
 * Returns 0 or -errno, reason in @diag. */
int diff_take_calls(struct trace *t, int side, diff_row_of *row_of, void *context,
		    struct diag *diag);

#endif
