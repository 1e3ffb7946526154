/* SPDX-License-Identifier: MIT */
/*
 * collect/handover.h - a recording that outlives its collector.
 *
 * `duet collect` is two processes.  The keeper has made everything - buffers, socket, the kernel's
 * instance - and then does nothing but hold it; its child, the worker, collects.  Whatever kills
 * the worker (a signal: ours, the out-of-memory killer's), the keeper forks another one, which
 * finds the descriptors and the memory of before, and takes over: collect/resume.h.  Programs
 * notice nothing.
 *
 * If the keeper is killed, the worker becomes one: it forks the next worker, which takes over as
 * ever.  The two processes are base/supervise.h; here is what a worker leaves to the next one.
 */
#ifndef COLLECT_HANDOVER_H
#define COLLECT_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/supervise.h"
#include "collect/session/filters.h"
#include "collect/recorder.h"
#include "collect/chunks/archiver.h"
#include "collect/trigger/engine.h"

/* What the worker must not forget when it dies: in memory that it shares with the keeper. */
struct handover {
	struct supervision supervision;
	uint64_t lost_outside; /* events of programs that could not join, and are gone */
	uint32_t n_joined;
	struct triggers_saved triggers;
	struct filters_saved filters;
	bool is_over;	/* it has ended, as these say; only what is held must be given back */
	bool is_closed; /* and its last piece is marked; what was sent may be gone from here */
	struct recorder_result result;
	int error;
	struct diag why;
	uint64_t
		reported; /* ABI_REPORTED: of lost_outside and its like, as traces that are closed tell
			    */
	uint32_t trace_chunk;	       /* the last number given to one; 0: not in pieces */
	uint32_t writing;	       /* the number of the one that is being written */
	uint64_t trace_chunk_begin_ns; /* since the Epoch */
	struct archiver_status archiver;
};

/* handover_memory - a zeroed struct handover; NULL without memory.  handover_forget gives it back.
 */
struct handover *handover_memory(void);
void handover_forget(struct handover *k);

#endif
