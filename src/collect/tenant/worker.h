/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/worker.h - the process that records one tenant.
 *
 * It uses root's rights first, for its files, its sender and the clock.  Then it takes the identity
 * of the user that it records and gives up the rest (collect/tenant/sandbox.h).
 */
#ifndef COLLECT_TENANT_WORKER_H
#define COLLECT_TENANT_WORKER_H

#include <limits.h>

#include "clock/clock.h"
#include "collect/options/options.h"
#include "collect/options/result.h"
#include "collect/tenant/discover.h"

enum { TENANTS_MAX = 512 };

/*
 * Results of one tenant collector, in memory that it shares with the tenant supervisor.  A tenant
 * that took over its collector may write anything here.
 */
struct tenant_worker_results {
	uint64_t app_events, app_bytes, app_lost, app_unwritten;
	struct recorder_kept kept;
	struct disk_losses disk;
	uint32_t programs, trace_chunks;
	uint32_t has_ended; /* ended normally */
	struct diag trouble;
	struct impossible impossible;
};

struct handover;
struct sender;

/*
 * Records in this process, as @o says, until SIGTERM.  The recorder passes this function down,
 * because it lies above this room.
 *
 * @s: sends the trace; NULL: it is not sent.  Returns 0 or -errno.
 */
typedef int tenant_record(const struct recorder_options *o, struct sender *s,
			  struct recorder_result *result, struct diag *d);

struct tenant_worker {
	tenant_record *record;
	const struct recorder_options *o; /* of the whole recording */
	const struct recorder_clock *clock;
	const struct tenant *tenant;
	unsigned number; /* of this collector among all tenant collectors */
	struct tenant_worker_results *results;
	int directory;			/* of this tenant's trace */
	struct handover *main_handover; /* of the main collector; NULL: already given up */
};

/* tenant_worker_path - RECORDING/tenant-LABEL.  False if it is too long. */
bool tenant_worker_path(char path[PATH_MAX], const char *recording, const struct tenant *t);

/* tenant_worker_record - record the tenant until SIGTERM.  Returns the process's exit status. */
int tenant_worker_record(struct tenant_worker *p);

#endif
