/* SPDX-License-Identifier: MIT */
/* cmd/export/stacks.h - functions that the formats of call stacks share. */
#ifndef CMD_EXPORT_STACKS_H
#define CMD_EXPORT_STACKS_H

#include "analysis/stacks/public.h"
#include "cmd/export/internal.h"

/* export_stacks - read all selected stacks; without any it is an error.  @s must be freed even
 * after an error. */
int export_stacks(struct export *x, struct stacks *s, bool keeps_samples, struct diag *d);

/* export_call_stacks - the same of calls of programs, with their time as weight. */
int export_call_stacks(struct export *x, struct stacks *s, bool keeps_samples, struct diag *d);

/* export_path - store the nodes from below the root down to @node, at most EXPORT_DEPTH_MAX.
 * Returns their number. */
enum { EXPORT_DEPTH_MAX = 2048 };
uint32_t export_path(const struct stacks *s, uint32_t node, uint32_t *path);

/* export_unit - the unit of weights: " ns", " size", "". */
const char *export_unit(const struct export *x);

#endif
