/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/watch.h - the tenant supervisor's process, and what it shares with the recorder.
 *
 * Only tenant/supervisor.c and tenant/watch.c use it.
 */
#ifndef COLLECT_TENANT_WATCH_H
#define COLLECT_TENANT_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "collect/options/options.h"
#include "collect/tenant/worker.h"

/*
 * No payer (tenant.h) has more than TENANTS_OF_PAYER collectors.  Beyond its first ones it gets none of
 * the last TENANTS_RESERVED slots: these are for payers that have few.
 */
enum { TENANTS_OF_PAYER = 32, TENANTS_GUARANTEED = 2, TENANTS_RESERVED = TENANTS_MAX / 2 };
enum { TENANT_WATCH_GO = 'g', TENANT_WATCH_STOP = 's' }; /* orders, one byte each */

enum { IMPOSSIBLE_MORE_BYTES = 120 };

/* Totals of all tenant collectors.  The tenant supervisor writes them, the recorder reads them. */
struct tenant_supervisor_results {
	uint64_t app_events, app_bytes, app_lost, app_unwritten;
	struct recorder_kept kept;
	struct disk_losses disk; /* complete when has_ended */
	uint32_t programs, tenants, trace_chunks;
	uint32_t has_ended;   /* the tenant supervisor ended normally */
	uint32_t has_trouble; /* `trouble` holds the first problem */
	struct diag trouble;
	/* A line for each tenant, with IMPOSSIBLE_MORE_BYTES left; complete when has_ended. */
	struct impossible impossible;
	uint32_t more_impossible; /* tenants without a line */
	struct tenants_refused refused;
};

struct tenant_supervisor {
	const struct recorder_options *o;
	struct handover *handover; /* the recorder's: the current state of the main session */
	tenant_record *record;
	struct recorder_clock clock;
	struct tenant_supervisor_results *results;
	int orders; /* this process's end of the pipe: the recorder writes, the supervisor reads */
	int done;   /* the other direction; it reports EOF when the last collector ends */
	pid_t pid;  /* of the tenant supervisor */
};

/* tenant_watch_run - wait for the order to start, record tenants until the order to stop; exit. */
_Noreturn void tenant_watch_run(struct tenant_supervisor *w);

#endif
