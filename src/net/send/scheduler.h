/* SPDX-License-Identifier: MIT */
/* net/send/scheduler.h - inside the spool: what a round sends.  See scheduler.c. */
#ifndef NET_SEND_SCHEDULER_H
#define NET_SEND_SCHEDULER_H

#include "net/send/spool.h"

/* spool_schedule - targets of streams, indexes and clocks, whose sizes are noted. */
void spool_schedule(struct spool *s);

/* spool_is_before - whether the file @path is of a piece that ended before what is wanted begins.
 */
bool spool_is_before(const struct spool *s, const char *path);

/* spool_open_number - a file's descriptor into s->fd.  0 or -errno. */
int spool_open_number(struct spool *s, uint32_t number);

#endif
