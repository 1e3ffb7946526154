/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/calls.h - calls of functions of programs: what a session offers to programs for
 * that, and what it keeps of them.
 *
 * The plans are in calls-<session>/ of the runtime directory: abi/plan.h, docs/formats/control.md.
 * The collector writes no plan and reads no ELF file.
 *
 * One thread.
 */
#ifndef COLLECT_CALLS_CALLS_H
#define COLLECT_CALLS_CALLS_H

#include <stdint.h>

#include "base/diag.h"
#include "collect/session/session.h"

struct calls {
	int dir;	     /* the runtime directory; borrowed */
	int plans;	     /* calls-<session>; -1: none are recorded */
	const char *session; /* its name; borrowed */
	uint64_t epoch;	     /* of the session */
	uint64_t generation; /* of the plans */
};

#define CALLS_NONE ((struct calls){ .plans = -1 })

/*
 * calls_open - make the directory of plans of @s, empty, with generation 1.
 *
 * @c: a CALLS_NONE.  calls_close removes it, with all that is in it.
 */
int calls_open(struct calls *c, const struct session *s, struct diag *d);
void calls_close(struct calls *c);

#endif
