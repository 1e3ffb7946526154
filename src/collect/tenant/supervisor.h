/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/supervisor.h - a recording of many users' programs: for each tenant a collector of
 * his own.
 *
 * The warden is a process beside the recorder that made it.  It looks for tenants
 * (collect/tenant/discover.h), at once where the kernel tells it of a new directory, else each
 * second, and for each forks a process that records that one: session, memory, keeper and files of
 * its own, by the clock of the whole recording, into its directory.  So one tenant's events are in
 * no memory of another's, and what he does to his collector, it alone suffers.  The warden itself
 * never maps what a program can write to.
 *
 *   recorder or its keeper die     nothing: the one that remains still holds the pipe
 *   both                           the pipe ends, and the warden tells all collectors to end
 *   the warden                     its collectors end as if told to; the recorder goes on, and says
 * so a collector or its keeper      collect/handover.h both                           another one
 * begins anew after some seconds, and it is told
 *
 * Limits: TENANTS_MAX, and of containers in user namespaces that one user made, TENANTS_OF_MAKER.
 */
#ifndef COLLECT_TENANT_SUPERVISOR_H
#define COLLECT_TENANT_SUPERVISOR_H

#include "base/diag.h"
#include "collect/recorder.h"

enum { TENANTS_MAX = 512, TENANTS_OF_MAKER = 32 };

struct tenant_supervisor;

/* tenant_supervisor_open - fork it; it waits.  @o, @kept: of the recording, lent.  Before there is
 * memory that programs share. -EPERM: only root may. */
int tenant_supervisor_open(struct tenant_supervisor **w, const struct recorder_options *o,
			   struct handover *handover, struct diag *d);

/* tenant_supervisor_clock - the clock of all. */
const struct recorder_clock *tenant_supervisor_clock(const struct tenant_supervisor *w);

/* tenant_supervisor_start - the recording's directory is there: begin. */
void tenant_supervisor_start(struct tenant_supervisor *w);

/* tenant_supervisor_end - end all collectors, wait for them, and add what they recorded to @r (or
 * NULL).  Accepts NULL. */
void tenant_supervisor_end(struct tenant_supervisor *w, struct recorder_result *r);

#endif
