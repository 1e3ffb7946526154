/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/maps.h - what the recorded programs have mapped: PATH/.duet/maps (of a tenant:
 * maps-LABEL), which lets call stacks be shown as functions (docs/formats/trace.md).
 *
 * A program's executable mappings are noted when it joins, and again, while it lives, if they have
 * changed: each second, and at the end.  A program that ends at once may be gone before it can be
 * looked at; then its addresses stay numbers, unless the kernel told of its mappings (maps_add).
 * Bounded: MAPS_BYTES_MAX, and MAPS_PROCESSES_MAX are looked at again.  A failure is no one's
 * trouble: the recording is whole without.
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_MAPS_H
#define COLLECT_DRAIN_MAPS_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/tenant/tenant.h"
#include "kernel/kernel.h"

enum { MAPS_BYTES_MAX = 16 << 20, MAPS_PROCESSES_MAX = 256 };

struct maps;

/* maps_open - @path: of the recording; @tenant: whose part of it, or NULL.  NULL: there will be
 * none. */
struct maps *maps_open(const char *path, const struct tenant *tenant);
void maps_close(struct maps *m); /* accepts NULL, as do all */

/* maps_join - process @pid joins at @at_ns (session time). */
void maps_join(struct maps *m, pid_t pid, uint64_t at_ns);
/* maps_add - it has mapped this, besides what it had. */
void maps_add(struct maps *m, const struct kernel_mapped *mapped);
/* maps_again - look at those that live. */
void maps_again(struct maps *m, uint64_t at_ns);

/* maps_rotate - go on in the recording @path; what lives is noted there again, as of @at_ns. */
void maps_rotate(struct maps *m, const char *path, const struct tenant *tenant, uint64_t at_ns);
/* maps_copy - what was noted so far, into another recording @path. */
void maps_copy(const struct maps *m, const char *path);

#endif
