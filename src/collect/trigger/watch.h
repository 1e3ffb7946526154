/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/watch.h - the triggers of one collector, and the parts of it that they act on.
 *
 * The collector lies above this room.  It lends the parts that triggers read or change, and gives
 * functions for the actions that concern all of it (struct trigger_ops).  All pointers are set
 * before trigger_watch_open and stay valid until trigger_watch_close.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_WATCH_H
#define COLLECT_TRIGGER_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock/clock.h"
#include "collect/drain/snapshot.h"
#include "collect/drain/streams.h"
#include "collect/options/options.h"
#include "collect/request/enable.h"
#include "collect/session/default_events.h"
#include "collect/session/filters.h"
#include "collect/session/session.h"
#include "collect/trigger/engine.h"
#include "collect/trigger/hits.h"
#include "collect/trigger/scan.h"
#include "kernel/kernel.h"

enum { TRIGGER_COMMANDS = 4, TRIGGER_WATCHERS = 16 };

struct trigger_runner {
	pid_t commands[TRIGGER_COMMANDS]; /* 0: free slot */
	struct {
		int fd;
		uint64_t missed;
	} watchers[TRIGGER_WATCHERS];
	int n_watchers;
};

/* Actions on the whole collector. */
struct trigger_ops {
	/* Keeps the first problem for the recording's result. */
	void (*note)(void *arg, const struct diag *d);
	/* Begins a new trace chunk.  Returns 0 or -errno; -EBUSY: a snapshot is being written. */
	int (*rotate)(void *arg, struct diag *d);
	/* Ends the recording soon. */
	void (*end)(void *arg);
};

struct trigger_watch {
	struct triggers set;
	struct trigger_hits hits;
	struct trigger_scan *scan; /* NULL: no pool for it */
	struct trigger_runner runner;
	uint32_t period_ms; /* between two calls of trigger_watch_step; 0: not needed */
	bool has_started;   /* the recording runs; set by the collector */

	/* Of the collector; all borrowed. */
	const struct trigger_ops *ops;
	void *ops_arg;
	const struct recorder_options *o;
	struct triggers_saved *saved; /* for a successor of a killed collector */
	struct session *session;
	struct filters *filters;
	struct default_events *default_events;
	struct enable_batch *enable_batch;
	struct snapshot_maker *snapshot;
	struct streams *const *streams; /* a rotation replaces them */
	struct kernel *kernel;		/* NULL: not recorded */
	const uint64_t *lost_outside;	/* events that never reached a pool */
};

#endif
