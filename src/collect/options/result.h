/* SPDX-License-Identifier: MIT */
/*
 * collect/options/result.h - what a recording returns to its caller.
 *
 * Plain data without pointers: it also lies in memory that a collector shares with its successor
 * (collect/handover/handover.h).
 */
#ifndef COLLECT_OPTIONS_RESULT_H
#define COLLECT_OPTIONS_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/session.h"
#include "base/diag.h"
#include "collect/options/disk_losses.h"
#include "collect/options/losses.h"
#include "collect/options/finding.h"
#include "collect/options/impossible.h"

/*
 * Results of the archiver (collect/chunks/archiver.h), in memory that the collectors and their
 * supervisor share.
 */
struct archiver_status {
	uint64_t removed_bytes, plain_bytes,
		compressed_bytes;     /* on disk: removed; before and after compression */
	uint64_t cpu_ns;	      /* spent on compression */
	uint32_t n_removed, n_packed; /* trace chunks */
	uint32_t synced;	      /* finished trace chunks up to this number are synced */
	uint32_t n_waiting;	      /* finished trace chunks not yet compressed */
	uint32_t n_held; /* trace chunks above the limit that are kept until they have been sent */
	uint32_t n_failures;
	char text[256]; /* the first failure */
};

/* Clients that wait for the end: collect/request/stop.h. */
enum { STOPPING_MAX = 8 };

struct stopping {
	int fds[STOPPING_MAX];
	int n;
};

/*
 * Directories of other users and containers that have no collector for lack of room.  The tenant
 * supervisor writes it in shared memory, other processes read it.
 */
struct tenants_refused {
	uint32_t n, most; /* in the last scan, and in the worst one */
	char of[64]; /* at whose expense most of them are; replaced in place, always ends with a
		      * NUL */
};

/* Trace chunks that are on disk at the end; those of all users. */
struct recorder_kept {
	uint64_t n, events, bytes; /* bytes of their packets, before compression */
};

struct recorder_result {
	uint64_t duration_ns;
	uint64_t app_events, app_bytes, app_lost; /* recorded, also what was removed since */
	uint64_t channel_lost[ABI_CHANNELS];	  /* part of app_lost */
	struct losses losses;			  /* why */
	uint64_t app_unwritten; /* bytes of events that could not be written to disk */
	uint64_t kernel_events, kernel_bytes, kernel_lost;
	uint32_t programs;     /* programs that joined */
	uint32_t tenants;      /* other users and containers that had some */
	uint32_t n_collectors; /* collectors used: all but the last were killed */
	struct tenants_refused refused;
	int status; /* of the command, as waitpid returns it; 0 without one */
	bool kernel_recorded;
	char kernel_recorder[16];	 /* "bpf" or "ftrace": kernel/kernel.h */
	struct diag kernel_no_bpf;	 /* why BPF is not used where it could be, or "" */
	struct diag kernel_reason;	 /* why the kernel is not recorded, if requested */
	struct findings findings;	 /* what it was asked for and did not find */
	struct diag calls;		 /* patterns of functions that matched nothing, or "" */
	uint32_t trace_chunks;		 /* finished, including those removed since; 0: no trace
					  * chunks */
	struct recorder_kept kept;	 /* of them */
	struct archiver_status archiver; /* work done on them */
	struct disk_losses disk;	 /* part of app_lost and kernel_lost */
	struct impossible impossible;	 /* numbers that programs wrote */
	struct diag trouble;		 /* the first problem during the recording, or "" */
	bool is_not_whole;		 /* its directory or disk failed while it was written */
	struct stopping stopping;	 /* clients that requested the end: the caller answers
					  * them */
};

#endif
