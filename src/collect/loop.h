/* SPDX-License-Identifier: MIT */
/*
 * collect/loop.h - the driver of a collector on a real machine: a loop over epoll and signals that
 * reports events to the collector and does nothing else.
 */
#ifndef COLLECT_LOOP_H
#define COLLECT_LOOP_H

#include <stdbool.h>

#include "base/diag.h"
#include "collect/collector.h"
#include "collect/command.h"

/*
 * loop_run - report events to @c until it sets `stop` or, with @keep, until its supervisor is gone.
 *
 * Signals arrive through a descriptor: SIGTERM, SIGCHLD (also when a supervisor died), SIGUSR1,
 * SIGUSR2 and, without @keep, SIGINT and SIGHUP; with @keep the supervisor receives these two.  All
 * of them must be blocked.  @command: its end is reported.  Returns 0 or -errno.
 */
int loop_run(struct collector *c, struct command *command, bool keep, struct diag *d);

#endif
