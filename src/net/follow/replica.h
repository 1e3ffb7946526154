/* SPDX-License-Identifier: MIT */
/*
 * net/follow/replica.h - a local copy of a recording that a relay on another host receives, to
 * follow it.
 *
 * A process of its own receives the copy into a new directory below $TMPDIR.  The caller reads
 * the copy like any recording that grows (trace/refresh.c), and gives back the parts that it has
 * read.  So TLS and the network are in a process that reads no recording, and the code that
 * follows does not depend on them.  Always true:
 *
 * (1) the copy occupies about most_bytes of the disk: beyond that nothing is received, unless the
 *     reader has shown everything that it may and needs more data to continue
 * (2) after a cut link the process connects again, and continues where it was
 * (3) the directory is removed with the process, and the process ends with its parent, in
 *     whatever way that ends
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
	/* HOST/NAME, either part, NAME without date, or a pattern; "": the only recording that
	 * grows */
	const char *wanted;
	bool from_begin; /* else from now, if the recording grows */
	uint64_t most_bytes;
};

/*
 * replica_open - start, and wait until there is something to read.  From now: until everything up
 * to now has arrived that the follower needs.
 *
 * Returns 0 or -errno; if no recording or several match, @d has a list.
 */
int replica_open(struct replica **r, const struct replica_options *o, struct diag *d);
void replica_close(struct replica *r); /* accepts NULL; removes the copy */

const char *replica_path(const struct replica *r); /* of the copy */
/* replica_directory - the directory in $TMPDIR that the copy is in: the reader writes nothing else. */
const char *replica_directory(const struct replica *r);
bool replica_grew(const struct replica *r);	   /* when it was opened; else it has ended */
const char *replica_name(const struct replica *r); /* of the recording, at the relay */

/* replica_read - the first @bytes of stream number @stream, in the file @path, will not be read
 * again. */
void replica_read(struct replica *r, uint32_t stream, const char *path, uint64_t bytes);
/* replica_starve - the reader has shown all that it may: more is received, even if the copy is
 * full. */
void replica_starve(struct replica *r);

enum replica_state {
	REPLICA_WAITS, /* for the first connection */
	REPLICA_RECEIVES,
	REPLICA_CUT,	/* connects again */
	REPLICA_ENDED,	/* everything has arrived */
	REPLICA_FAILED, /* it gave up; see replica_state() */
};
/* replica_state - the state; if REPLICA_CUT or REPLICA_FAILED, @d gets the reason. */
enum replica_state replica_state(const struct replica *r, struct diag *d);

#endif
