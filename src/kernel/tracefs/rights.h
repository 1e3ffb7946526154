/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/rights.h - which right is missing, and how it is granted: what is said where the
 * kernel refuses us.
 *
 * Each puts the reason into @d and returns the negative errno it is told as.
 */
#ifndef KERNEL_TRACEFS_RIGHTS_H
#define KERNEL_TRACEFS_RIGHTS_H

#include <stdbool.h>

#include "base/diag.h"

/* kernel_rights_tracefs - to reach it, or to make an instance. */
int kernel_rights_tracefs(struct diag *d);
/* kernel_rights_broker - to borrow an instance: not in the group that may. */
int kernel_rights_broker(struct diag *d);
/* kernel_rights_perf - to sample or count all processes, for @what. */
int kernel_rights_perf(const char *what, int err, struct diag *d);
/* kernel_rights_bpf - to load programs. */
int kernel_rights_bpf(int err, struct diag *d);

/* kernel_is_locked_down - so far that nobody may read what the kernel does. */
bool kernel_is_locked_down(void);

#endif
