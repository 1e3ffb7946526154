/* SPDX-License-Identifier: MIT */
/* cmd/export/stacks.h - what the formats of call stacks share. */
#ifndef CMD_EXPORT_STACKS_H
#define CMD_EXPORT_STACKS_H

#include "analysis/stacks/stack_tree.h"
#include "cmd/export/export.h"

/* export_stacks - all stacks wanted; there is at least one.  @s is to be freed also after an error.
 */
int export_stacks(struct export *x, struct stacks *s, bool keeps_samples, struct diag *d);

/* export_path - the nodes from below the root down to @node; at most EXPORT_DEPTH_MAX.  How many.
 */
enum { EXPORT_DEPTH_MAX = 2048 };
uint32_t export_path(const struct stacks *s, uint32_t node, uint32_t *path);

/* What a weight counts: " ns", " size", "". */
const char *export_unit(const struct export *x);

#endif
