/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/retention.h - of what a relay has received the newest is kept.
 *
 * What goes, the oldest first, whichever host it is of: finished pieces, and recordings that are
 * complete, or what is left of them.  Never what is being received or followed, of which the relay
 * holds a lock on its directory (net/relay/store.h); nor a recording that is not complete, apart
 * from its pieces: its sender may come again, and has given back what the relay acknowledged; nor
 * what was not received, and lies there.
 *
 * In a process of its own, at a low priority.  What is to be done it sees from the directories
 * alone, so it may be killed at any time.  A piece that goes is first noted, in
 * .duet/relay-removed: who sends it again, because his link was cut at that moment, is told that it
 * is not wanted.
 */
#ifndef COLLECT_CHUNKS_RETENTION_H
#define COLLECT_CHUNKS_RETENTION_H

#include <sys/types.h>

#include "base/diag.h"
#include "collect/chunks/chunks.h"

struct retention {
	const char *output;	       /* of the relay; lent */
	struct trace_chunks_options o; /* keep_bytes, keep_ns, keep_count */
	pid_t pid;		       /* 0: none */
	int alive;		       /* our end of a pipe: it ends with it */
};

#define RETENTION_NONE ((struct retention){ .alive = -1 })

/* retention_poll - start it, if anything is asked of it; also once more, should it have died. */
void retention_poll(struct retention *r);
/* retention_end - it ends with what it is at. */
void retention_end(struct retention *r);

#endif
