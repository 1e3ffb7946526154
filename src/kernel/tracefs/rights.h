/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/rights.h - names the missing right, and how to grant it.
 *
 * Called after the kernel refused access. Each function puts the reason into @d and returns a
 * negative errno for it.
 */
#ifndef KERNEL_TRACEFS_RIGHTS_H
#define KERNEL_TRACEFS_RIGHTS_H

#include <stdbool.h>

#include "base/diag.h"

/* kernel_rights_tracefs - no access to tracefs, or no right to make an instance. */
int kernel_rights_tracefs(struct diag *d);
/* kernel_rights_broker - no right to borrow an instance: the user is not in the lender's group. */
int kernel_rights_broker(struct diag *d);
/* kernel_rights_perf - no right to sample or count all processes. @what needs it. */
int kernel_rights_perf(const char *what, int err, struct diag *d);
/* kernel_rights_bpf - no right to load programs. */
int kernel_rights_bpf(int err, struct diag *d);

/* kernel_is_locked_down - whether lockdown mode "confidentiality" forbids reading kernel
 * activity. */
bool kernel_is_locked_down(void);

#endif
