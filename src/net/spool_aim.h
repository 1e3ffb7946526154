/* SPDX-License-Identifier: MIT */
/* net/spool_aim.h - inside the spool: what a round sends.  See spool_aim.c. */
#ifndef NET_SPOOL_AIM_H
#define NET_SPOOL_AIM_H

#include "net/spool.h"

/* spool_aim - targets of streams, indexes and clocks, whose sizes are noted. */
void spool_aim(struct spool *s);

/* spool_is_before - whether the file @path is of a piece that ended before what is wanted begins. */
bool spool_is_before(const struct spool *s, const char *path);

/* spool_open_number - a file's descriptor into s->fd.  0 or -errno. */
int spool_open_number(struct spool *s, uint32_t number);

#endif
