/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/sandbox.h - what the collector of a tenant (collect/tenant/tenant.h) may do: as
 * little as it needs.
 *
 * It reads memory that a stranger writes to.  Should he make it run his code, he has:
 *
 *   as a process   a number that nobody else has: he cannot signal it, nor it anybody but its own
 * kind with files     his own rights, which he had before, and the directory of his part of the
 * recording capabilities   CAP_CHECKPOINT_RESTORE, to look through map_files; of a container also
 * CAP_SYS_PTRACE, to see its processes at all; none that a program it executes could gain
 * (no_new_privs)
 *
 * What needs more - names in root's runtime directory, sockets that show root at their other end -
 * is made before, and taken away by the warden.  docs/design/tenants.md
 */
#ifndef COLLECT_TENANT_SANDBOX_H
#define COLLECT_TENANT_SANDBOX_H

#include "base/diag.h"
#include "collect/tenant/tenant.h"

/* confine_files - from here on files are opened, and made, as @t. */
int confine_files(const struct tenant *t, struct diag *d);
/* confine - and all the rest is given up, for good.  @number: of this process and those to come of
 * it, below 65536;
 * @looks: at his processes, it is his collector. */
int confine(const struct tenant *t, unsigned number, bool scans, struct diag *d);

#endif
