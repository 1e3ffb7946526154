/* SPDX-License-Identifier: MIT */
/* collect/counters.h - whether this machine has the counters that events are to carry. */
#ifndef COLLECT_COUNTERS_H
#define COLLECT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/* How far an attempt to count came.  The last but COUNTERS_WORK is where it ended. */
enum counters_step {
	COUNTERS_NOT_TRIED,
	COUNTERS_OPEN,	    /* perf_event_open failed with `error` */
	COUNTERS_MAP,	    /* mmap failed with `error` */
	COUNTERS_MAY_READ,  /* the page says that rdpmc may not be used */
	COUNTERS_SCHEDULED, /* it had no register while we waited */
	COUNTERS_READ,	    /* the instruction killed the child that tried */
	COUNTERS_WORK,
};

/* An attempt, and what the machine says of itself. */
struct counters_attempt {
	enum counters_step step;
	int error;
	unsigned counter; /* 0 for ABI_CONTEXT_PERF_CYCLES, ... */
	bool has_pmu;
	bool has_register_access; /* the program was built for a processor whose counters we can
				     read */
	int paranoid;		  /* kernel.perf_event_paranoid */
};

/*
 * counters_check - whether the counters among the contexts @mask can be had here, all together.
 *
 * They are opened and read in a child, as reading may kill; it takes some milliseconds, and none if
 * @mask has no counter.  Returns 0; -EOPNOTSUPP, -EACCES, -EBUSY or another error with the reason.
 * While no other thread runs: it forks.
 */
int counters_check(uint64_t mask, struct diag *d);

/* counters_explain - the part of it that tells why.  0 if the attempt worked. */
int counters_explain(const struct counters_attempt *a, struct diag *d);

#endif
