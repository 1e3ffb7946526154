/* SPDX-License-Identifier: MIT */
/*
 * collect/handover/handover.h - state that outlives a killed collector.
 *
 * `duet collect` is two processes (base/supervise.h).  The supervisor created buffers, socket and
 * the kernel's instance, and then only holds them; its child, the worker, collects.  If the worker
 * is killed, by a signal or by the out-of-memory killer, the supervisor forks another one.  That
 * one finds the descriptors and the memory of before and continues: collect/resume.h.  Programs
 * notice nothing.
 *
 * If the supervisor is killed, the worker takes its role: it forks the next worker, which continues
 * in the same way.
 */
#ifndef COLLECT_HANDOVER_HANDOVER_H
#define COLLECT_HANDOVER_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/supervise.h"
#include "collect/handover/counts.h"
#include "collect/session/filters.h"
#include "collect/findings/seen.h"
#include "collect/options/losses.h"
#include "collect/options/result.h"
#include "collect/trigger/engine.h"

/* What a worker leaves to its successor, in memory that it shares with the supervisor. */
struct handover {
	struct supervision supervision;
	struct counts apps, kernel; /* what is in the files */
	bool is_copying; /* pools in overwrite mode are being written, which a successor repeats */
	struct ctf_sum before_copy; /* of apps */
	struct losses losses;	    /* the reasons and the program of lost_outside */
	uint64_t lost_outside;	    /* events of programs that could not join and have ended */
	uint32_t n_joined;
	struct triggers_saved triggers;
	struct filters_saved filters;
	struct seen seen;
	bool is_over;	/* the recording has ended with the result below; only resources must be
			 * released */
	bool is_closed; /* the last trace chunk is marked as finished; its files may have been
			 * sent and removed */
	struct recorder_result result;
	int error;
	struct diag why;
	uint64_t
		reported; /* DRAIN_REPORTED: losses outside of any stream that closed traces report */
	uint32_t trace_chunk;	       /* the last number given to a trace chunk; 0: no trace
			       * chunks */
	uint32_t writing;	       /* the number of the one being written */
	uint64_t trace_chunk_begin_ns; /* since the Epoch */
	struct archiver_status archiver;
	struct disk_budget disk; /* also the archiver's */
};

/*
 * handover_memory - a zeroed struct handover; NULL without memory.
 *
 * handover_forget - unmap it.
 */
struct handover *handover_memory(void);
void handover_forget(struct handover *k);

/* handover_content - what trace chunk @number has, of applications and kernel. */
static inline struct ctf_sum handover_content(const struct handover *k, uint32_t number)
{
	return ctf_ledger_plus(counts_of(&k->apps, number), counts_of(&k->kernel, number));
}

#endif
