/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/sandbox.h - limit a tenant's collector (collect/session/tenant.h) to the rights
 * that it needs.
 *
 * The collector reads memory that an untrusted user writes.  An attacker who made it run foreign
 * code would have:
 *
 *   signals        a user id that no other process has: it can signal only processes of that id, and
 *                  other users cannot signal it
 *   files          the tenant's file system identity, which the tenant has anyway, and the tenant's
 *                  output directory
 *   capabilities   CAP_CHECKPOINT_RESTORE, to read map_files; for a container also CAP_SYS_PTRACE, to
 *                  see its processes at all; a program that it executes gains none (no_new_privs)
 *
 * Work that needs more rights (names in root's runtime directory, sockets with a peer that must be
 * root) is done before.  The tenant supervisor undoes it afterwards.  docs/design/tenants.md
 */
#ifndef COLLECT_TENANT_SANDBOX_H
#define COLLECT_TENANT_SANDBOX_H

#include "base/diag.h"
#include "collect/session/tenant.h"

/* sandbox_files - from here on this process opens and creates files as @t. */
int sandbox_files(const struct tenant *t, struct diag *d);
/*
 * sandbox_enter - give up all other rights for good.
 *
 * @number: of this process and its future children, below 65536.
 * @scans: it is the tenant's collector and reads /proc of the tenant's processes.
 */
int sandbox_enter(const struct tenant *t, unsigned number, bool scans, struct diag *d);

#endif
