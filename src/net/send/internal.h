/* SPDX-License-Identifier: MIT */
/* net/send/internal.h - between spool.c and spool_files.c. */
#ifndef NET_SEND_INTERNAL_H
#define NET_SEND_INTERNAL_H

#include <string.h>

#include "net/send/spool.h"

/* spool_scan - add what is new.  0 or -errno. */
int spool_scan(struct spool *s);
/* spool_forget - what was removed here, and pieces that have arrived, which may be removed here and
 * there: a relay is not told of them any more, so that it has not to keep more and more of them in
 * its books. */
void spool_forget(struct spool *s);
/* spool_trace_chunk_of - the number of the piece that a file is in; 0: of none. */
uint32_t spool_trace_chunk_of(const char *name);

/* Was never taken from the quota, and somebody may be reading it here. */
static inline bool spool_is_snapshot(const char *name)
{
	return !strncmp(name, "snapshot-", 9);
}

static inline bool spool_is_metadata(const char *name)
{
	const char *slash = strrchr(name, '/');

	return !strcmp(slash ? slash + 1 : name, "metadata");
}

#endif
