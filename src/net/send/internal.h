/* SPDX-License-Identifier: MIT */
/* net/send/internal.h - shared by spool.c, spool_files.c and scheduler.c. */
#ifndef NET_SEND_INTERNAL_H
#define NET_SEND_INTERNAL_H

#include <string.h>

#include "net/send/spool.h"

/* spool_scan - add the files that are new.  0 or -errno. */
int spool_scan(struct spool *s);
/* spool_forget - forget files that were removed here, and trace chunks that have arrived, which
 * may be removed here and at the relay.  They are not announced on later connections, so that the
 * relay's list of files does not grow without limit. */
void spool_forget(struct spool *s);
/*
 * spool_open_below - open the regular file @path of the recording.  Returns it, or -errno.
 *
 * Another user may own the recording, or a part of it: no link is followed in any component, and
 * nothing else than a regular file is opened, or waited for.
 */
int spool_open_below(const struct spool *s, const char *path, int flags);
/* spool_trace_chunk_of - the number of the trace chunk that a file belongs to; 0: none. */
uint32_t spool_trace_chunk_of(const char *name);

/* A snapshot is never counted in the quota, and a user may be reading it here. */
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
