/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/retention.h - keep the newest data that a relay received, and remove the rest.
 *
 * Removed, the oldest first and regardless of host: finished trace chunks, and complete recordings
 * or what is left of them.
 *
 * Never removed: a recording that is being received or followed, because the relay then holds a
 * lock on its directory (net/relay/store.h); an incomplete recording, except its finished trace
 * chunks, because its sender may return and has freed what the relay acknowledged; and directories
 * that no relay received.
 *
 * A separate process with low priority.  It derives its work from the directories alone, so it may
 * be killed at any time.  A trace chunk is recorded in .duet/relay-removed before it is removed: a
 * sender that offers it again after a broken connection gets the answer that it is not wanted.
 */
#ifndef COLLECT_CHUNKS_RETENTION_H
#define COLLECT_CHUNKS_RETENTION_H

#include <sys/types.h>

#include "base/diag.h"
#include "collect/chunks/chunks.h"

struct retention {
	const char *output;	       /* of the relay; borrowed */
	struct trace_chunks_options o; /* keep_bytes, keep_ns, keep_count */
	pid_t pid;		       /* 0: none */
	int alive;		       /* our end of a pipe; the process ends when it is closed */
};

#define RETENTION_NONE ((struct retention){ .alive = -1 })

/* retention_poll - start the process if the options need it, also again if it has died. */
void retention_poll(struct retention *r);
/* retention_end - stop it after its current step. */
void retention_end(struct retention *r);

#endif
