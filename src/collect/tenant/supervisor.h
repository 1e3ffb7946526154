/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/supervisor.h - record many users' programs, with one collector for each tenant.
 *
 * The tenant supervisor is a child process of the recorder.  It finds tenants
 * (collect/tenant/discover.h) by inotify, and by a scan each second.  For each tenant it forks a
 * process that records only that tenant, with its own session, pool memory, supervisor and files,
 * in its own directory, by the clock of the whole recording.  So events of one tenant are never in
 * memory that another one maps, and damage that a tenant does to its collector stays there.  The
 * tenant supervisor itself never maps memory that a traced program can write to.
 *
 *   killed                           effect
 *   recorder or its supervisor       none: the other one still holds the pipe
 *   both of them                     the pipe reports EOF: the tenant supervisor ends all collectors
 *   tenant supervisor                its collectors end as on request; the recorder goes on and
 *                                    reports it
 *   tenant collector or supervisor   replaced, as collect/handover/handover.h describes
 *   both of them                     started anew after some seconds, and reported
 *
 * Limits: TENANTS_MAX tenants; TENANTS_OF_MAKER containers in user namespaces made by one user.
 */
#ifndef COLLECT_TENANT_SUPERVISOR_H
#define COLLECT_TENANT_SUPERVISOR_H

#include "base/diag.h"
#include "collect/options/options.h"
#include "collect/options/result.h"
#include "collect/tenant/worker.h"

struct tenant_supervisor;

/*
 * tenant_supervisor_open - fork the tenant supervisor; it waits for tenant_supervisor_start.
 *
 * @o, @handover: of the recording, borrowed.  @record: records one tenant: collect/tenant/worker.h.
 *   Call it before any memory is shared with programs.  -EPERM: not root.
 */
int tenant_supervisor_open(struct tenant_supervisor **w, const struct recorder_options *o,
			   struct handover *handover, tenant_record *record, struct diag *d);

/* tenant_supervisor_clock - the clock that all collectors of this recording use. */
const struct recorder_clock *tenant_supervisor_clock(const struct tenant_supervisor *w);
/* tenant_supervisor_refused - what has no collector now; valid until tenant_supervisor_end. */
const struct tenants_refused *tenant_supervisor_refused(const struct tenant_supervisor *w);

/* tenant_supervisor_start - let it begin; the recording's directory must exist. */
void tenant_supervisor_start(struct tenant_supervisor *w);

/*
 * tenant_supervisor_end - end all tenant collectors, wait for them, add their results to @r.
 *
 * @r may be NULL.  Accepts @w == NULL.
 */
void tenant_supervisor_end(struct tenant_supervisor *w, struct recorder_result *r);

#endif
