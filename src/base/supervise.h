/* SPDX-License-Identifier: MIT */
/*
 * base/supervise.h - a worker process that is replaced when it is killed.
 *
 * Two processes.  The supervisor holds what existed when it forked, and waits; its child, the
 * worker, works.  If a signal kills the worker, from another process or from the out-of-memory
 * killer, the supervisor forks another one with the initial state.  If the supervisor is killed,
 * the worker takes its role and forks the next worker.  So either may be killed at any time,
 * repeatedly; only both at once end it.
 *
 *   supervisor   receives signals of the terminal and of other processes, and forwards them
 *   worker       receives SIGCHLD when the supervisor dies
 */
#ifndef BASE_SUPERVISE_H
#define BASE_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

/* In memory that both share, zeroed. */
struct supervision {
	uint32_t n;	  /* workers so far */
	pid_t supervisor; /* 0: none */
	bool is_stopping; /* an end was requested or has begun: a successor ends too */
};

/*
 * supervise_start - become the supervisor, and return in its worker.
 *
 * SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCHLD must be blocked.  Returns in each worker: 1
 * in the first one, then 2, 3, ...; or -errno, and no supervisor exists.  The supervisor itself
 * never returns: it exits with its last worker's status.  It gives up after too many workers died
 * within a second.
 */
int supervise_start(struct supervision *l, struct diag *d);
/* supervise_supervisor_is_gone - in a worker: whether it must call supervise_start itself now. */
bool supervise_supervisor_is_gone(const struct supervision *l);

#endif
