/* SPDX-License-Identifier: MIT */
/*
 * base/supervise.h - a process that is replaced when it is killed.
 *
 * Two processes: the keeper holds what was there when it forked, and waits; its child, the worker,
 * works. Whatever kills the worker (a signal: somebody's, the out-of-memory killer's), the keeper
 * forks another one, with the state of the beginning.  If the keeper is killed, the worker becomes
 * one: it forks the next worker.  So either may be killed at any time, again and again; only both
 * at once end it.
 *
 *   the keeper      gets the terminal's and other people's signals, and passes them on
 *   the worker      gets SIGCHLD when the keeper dies
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
	pid_t supervisor; /* 0: there is none */
	bool is_stopping; /* it is to end, or has begun to: a successor does */
};

/*
 * supervise_start - become the keeper; go on as the worker.
 *
 * Signals SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCHLD are blocked.  Returns in each
 * worker: 1 in the first of all, then 2, 3, ...; or -errno, and there is no keeper.  The keeper
 * itself never returns: it exits as its last worker did.  After too many workers died within a
 * second it gives up.
 */
int supervise_start(struct supervision *l, struct diag *d);
/* supervise_supervisor_is_gone - in a worker: whether it is to call supervise_start itself now. */
bool supervise_supervisor_is_gone(const struct supervision *l);

#endif
