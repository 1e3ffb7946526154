/* SPDX-License-Identifier: MIT */
/* collect/calls/state.h - functions that programs have patched, and their calls. */
#ifndef COLLECT_CALLS_STATE_H
#define COLLECT_CALLS_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/calls.h"

struct calls_state {
	pid_t pid; /* as the program sees it */
	char program[64], session[64];
	uint64_t epoch; /* of its session */
	uint32_t mode;	/* enum abi_calls_mode */
	uint64_t generation, wanted;
	uint32_t objects;
	uint32_t patched, elided, refused; /* functions; patched includes elided ones */
	uint32_t waiting;		   /* for all threads to be stopped */
	uint64_t calls;			   /* of governed functions */
	uint64_t lost;
};

/* calls_states_each - visit the living programs whose calls a session has.  @epoch: that session;
 * 0: any. */
void calls_states_each(int dir, uint64_t epoch,
		       void (*visit)(void *arg, const struct calls_state *s), void *arg);

/* calls_state_of_pid - of process @pid of our /proc.  False if it has no calls file. */
bool calls_state_of_pid(int dir, pid_t pid, struct calls_state *s);

#endif
