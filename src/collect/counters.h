/* SPDX-License-Identifier: MIT */
/*
 * collect/counters.h - check whether this machine has the hardware counters that events are to
 * carry.
 */
#ifndef COLLECT_COUNTERS_H
#define COLLECT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/*
 * The steps of an attempt.  Unless it is COUNTERS_WORK, the last step reached is the one that
 * failed.
 */
enum counters_step {
	COUNTERS_NOT_TRIED,
	COUNTERS_OPEN,	    /* perf_event_open failed with `error` */
	COUNTERS_MAP,	    /* mmap failed with `error` */
	COUNTERS_MAY_READ,  /* its page does not permit rdpmc */
	COUNTERS_SCHEDULED, /* it got no register while we waited */
	COUNTERS_READ,	    /* the instruction killed the child */
	COUNTERS_WORK,
};

/* An attempt, and properties of the machine. */
struct counters_attempt {
	enum counters_step step;
	int error;
	unsigned counter; /* 0 for ABI_CONTEXT_PERF_CYCLES, ... */
	bool has_pmu;
	bool has_register_access; /* built for an architecture where user space can read counters */
	int paranoid;		  /* kernel.perf_event_paranoid */
};

/*
 * counters_check - whether all counters among the contexts @mask can be used together here.
 *
 * They are opened and read in a child, because reading may kill it.  That takes some milliseconds;
 * nothing is done if @mask has no counter.  Returns 0, or -EOPNOTSUPP, -EACCES, -EBUSY or another
 * error with the reason.  It forks: call it while no other thread runs.
 */
int counters_check(uint64_t mask, struct diag *d);

/* counters_explain - only the explanation.  0 if the attempt worked. */
int counters_explain(const struct counters_attempt *a, struct diag *d);

#endif
