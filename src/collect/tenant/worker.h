/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/worker.h - one user's part of a recording of all users, in the collector's process
 * of its own.
 *
 * Root's rights are for what comes first: its files, its sender, the clock.  Then it has those of
 * the user that it records, and less (collect/tenant/sandbox.h).
 */
#ifndef COLLECT_TENANT_WORKER_H
#define COLLECT_TENANT_WORKER_H

#include <limits.h>

#include "clock/clock.h"
#include "collect/recorder.h"
#include "collect/tenant/discover.h"

/* What one of them tells the warden, in memory that these two share.  A tenant may have taken it
 * over. */
struct part_results {
	uint64_t app_bytes, app_lost, app_unwritten;
	uint32_t programs;
	uint32_t has_ended; /* as it should */
	struct diag trouble;
};

struct part {
	const struct recorder_options *o; /* of the whole recording */
	const struct recorder_clock *clock;
	const struct tenant *tenant;
	unsigned number; /* of this collector, among those of all tenants */
	struct part_results *results;
	int directory;		/* of its part of the recording */
	struct handover *whole; /* of the whole recording; NULL: given up */
};

/* part_path - PATH/tenant-LABEL; false: it is too long. */
bool part_path(char path[PATH_MAX], const char *recording, const struct tenant *t);

/* part_record - record him until SIGTERM.  Returns the exit status of the process. */
int part_record(struct part *p);

#endif
