/* SPDX-License-Identifier: MIT */
/*
 * collect/loop.h - the driver of a collector on a real machine: a loop over epoll and signals,
 * which does nothing but tell the collector what has happened.
 */
#ifndef COLLECT_LOOP_H
#define COLLECT_LOOP_H

#include <stdbool.h>

#include "base/diag.h"
#include "collect/collector.h"
#include "collect/command.h"

/*
 * loop_run - tell @c of events until it wishes to stop or, with @keep, its keeper is gone.
 *
 * Signals come through a descriptor: SIGTERM, SIGCHLD (also when a keeper has died) and, unless
 * @keep (then they are the keeper's), SIGINT and SIGHUP.  They are blocked.  @command: told of its
 * end.  Returns 0 or -errno.
 */
int loop_run(struct collector *c, struct command *command, bool keep, struct diag *d);

#endif
