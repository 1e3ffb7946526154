/* SPDX-License-Identifier: MIT */
/* net/send/scheduler.h - the part of the spool that chooses what a round sends. */
#ifndef NET_SEND_SCHEDULER_H
#define NET_SEND_SCHEDULER_H

#include "net/send/spool.h"

/* spool_schedule - set the targets of streams, indexes and clocks.  Their sizes are noted before.
 */
void spool_schedule(struct spool *s);

/* spool_is_before - whether the file @path is in a trace chunk that ended before the requested
 * time. */
bool spool_is_before(const struct spool *s, const char *path);

/* spool_open_number - open file @number into s->fd.  0 or -errno. */
int spool_open_number(struct spool *s, uint32_t number);

#endif
