/* SPDX-License-Identifier: MIT */
/*
 * analysis/wait/chain.h - wakeups followed back from the end of a wait to its causes, over any store of
 * states: see wait.h.
 */
#ifndef ANALYSIS_WAIT_CHAIN_H
#define ANALYSIS_WAIT_CHAIN_H

#include "analysis/wait/wait.h"

struct wait_segment {
	int64_t begin_ns, end_ns;
	uint8_t state;
	uint32_t call;	/* plus 1 */
	uint32_t waker; /* BLOCKED: the thread that ended it; 0: none */
	struct wait_cause cause;
	uint32_t object; /* of the call, as objects_at() has it; 0: none */
	uint32_t holder; /* PREEMPTED: the thread that came to the CPU; 0: unknown */
};

/* The numbers of threads and calls mean what they mean to the store. */
struct wait_walk {
	/* The newest state of @thread that begins before @at_ns; false: none is known. */
	bool (*state)(struct wait_walk *w, uint32_t thread, int64_t at_ns, struct wait_segment *s);
	/* Takes a slice of the path.  They come from the end to the begin, without gaps. */
	void (*slice)(struct wait_walk *w, const struct wait_slice *s);
	/* NULL, or: the slices up to the call with @is_end are what the waker of @s did from @begin_ns to
	 * @end_ns, while @thread waited. */
	void (*turn)(struct wait_walk *w, const struct wait_segment *s, uint32_t thread,
		     int64_t begin_ns, int64_t end_ns, bool is_end);
	uint32_t n_left; /* slices that may still come; a path that needs more ends in UNKNOWN */
};

/* wait_walk - split [@begin_ns, @end_ns] of a wait that @waker ended into slices by cause. */
void wait_walk(struct wait_walk *w, uint32_t waker, int64_t begin_ns, int64_t end_ns);

#endif
