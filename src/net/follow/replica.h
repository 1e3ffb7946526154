/* SPDX-License-Identifier: MIT */
/*
 * net/follow/replica.h - a recording that another host's relay receives, copied here while it is
 * followed.
 *
 * A process of its own receives the copy into a new directory below $TMPDIR; who made it reads it
 * as any recording that grows (trace/refresh.c), and gives back what it has read.  So TLS and the
 * network are in a process that reads no recording, and following knows nothing of them.  What
 * always holds:
 *
 *   (1) the copy takes about most_bytes of the disk: beyond that nothing is received, unless the
 * reader has come to the end of what it may show and needs more to go on (2) a cut link is made
 * again, and goes on where it was (3) the directory goes with the process, and that one with its
 * parent, however it ends
 */
#ifndef NET_FOLLOW_REPLICA_H
#define NET_FOLLOW_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "net/endpoint.h"
#include "net/tls.h"

struct replica;

struct replica_options {
	struct endpoint from;
	struct tls_keys keys;
	const char *wanted; /* HOST/NAME, either, NAME without date, or a pattern; "": the only one
			       that grows */
	bool from_begin;    /* else from now, if it grows */
	uint64_t most_bytes;
};

/*
 * replica_open - begin, and wait until there is something to read: from now, all until now that is
 * wanted of it.
 *
 * Returns 0 or -errno; if none or several recordings fit, @d has a list.
 */
int replica_open(struct replica **m, const struct replica_options *o, struct diag *d);
void replica_close(struct replica *m); /* accepts NULL; the copy is gone */

const char *replica_path(const struct replica *m); /* of the copy */
bool replica_grew(const struct replica *m);	   /* when it was opened; else it is shown whole */
const char *replica_name(const struct replica *m); /* of the recording, as the relay calls it */

/* replica_read - of stream number @stream, the file @path, the first @bytes will not be read any
 * more. */
void replica_read(struct replica *m, uint32_t stream, const char *path, uint64_t bytes);
/* replica_starve - the reader has shown all it may: something more is let in, whatever lies here.
 */
void replica_starve(struct replica *m);

enum replica_state {
	REPLICA_WAITS, /* for the first connection */
	REPLICA_RECEIVES,
	REPLICA_CUT,	/* connects anew */
	REPLICA_ENDED,	/* all is here */
	REPLICA_FAILED, /* it gave up */
};
/* replica_state - and why, into @d, if it is cut or failed. */
enum replica_state replica_state(const struct replica *m, struct diag *d);

#endif
