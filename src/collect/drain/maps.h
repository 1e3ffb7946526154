/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/maps.h - record the executable mappings of traced programs in PATH/.duet/maps (of a
 * tenant: maps-LABEL), so that call stacks can be shown as functions, and addresses of locks as
 * variables (docs/formats/trace.md).  The main thread's stack is among them.
 *
 * The mappings are read when a program joins, or soon after the kernel's half records its system
 * calls.  They are read again each second and at the end if
 * they have changed.  A program that ends at once may be gone before it can be read; its addresses
 * then stay numbers, unless the kernel reported its mappings (maps_add).  Limits: MAPS_BYTES_MAX in
 * all, and MAPS_PROCESSES_MAX that are read again.  Failures are ignored: the trace is complete
 * without.
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_MAPS_H
#define COLLECT_DRAIN_MAPS_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/session/tenant.h"
#include "kernel/kernel.h"

enum { MAPS_BYTES_MAX = 16 << 20, MAPS_PROCESSES_MAX = 1024 };

struct maps;

/*
 * maps_open - @path: of the recording; @tenant: the tenant recorded, or NULL.
 *
 * NULL on failure: no mappings are recorded then.
 */
struct maps *maps_open(const char *path, const struct tenant *tenant);
void maps_close(struct maps *m); /* accepts NULL, as all of these do */

/* maps_join - process @pid joins at @at_ns (session time). */
void maps_join(struct maps *m, pid_t pid, uint64_t at_ns);
/* maps_follow - thread @tid is recorded by the kernel's half, but its program may never join.  Each
 * thread is looked at once. */
void maps_follow(struct maps *m, pid_t tid, uint64_t at_ns);
/* maps_add - the process has mapped this in addition. */
void maps_add(struct maps *m, const struct kernel_mapped *mapped);
/* maps_again - read the mappings of live processes again. */
void maps_again(struct maps *m, uint64_t at_ns);

/*
 * maps_rotate - continue in the trace chunk @path; write live processes there again, as of @at_ns.
 */
void maps_rotate(struct maps *m, const char *path, const struct tenant *tenant, uint64_t at_ns);
/* maps_copy - copy everything written so far into another recording @path. */
void maps_copy(const struct maps *m, const char *path);

#endif
