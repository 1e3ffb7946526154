/* SPDX-License-Identifier: MIT */
/* analysis/diff/calls.h - functions of programs as rows of a comparison (diff.h). */
#ifndef ANALYSIS_DIFF_CALLS_H
#define ANALYSIS_DIFF_CALLS_H

#include "analysis/calls/calls.h"
#include "analysis/diff/diff.h"

/* diff_take_calls - fill the row of each function of @t, for recording number @run of @d.  @t's cursor
 * is not moved.  Returns 0 or -errno, reason in @diag. */
int diff_take_calls(struct diff *d, uint32_t run, struct trace *t, struct diag *diag);

#endif
