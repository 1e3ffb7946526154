/* SPDX-License-Identifier: MIT */
/*
 * base/progress.h - how far a recording is that another process may still be writing.
 *
 * From .duet/clock and .duet/relay (docs/formats/trace.md).  Call it before you read the files:
 * they contain everything up to the time returned.  It is in base because net and trace both need
 * it.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_state {
	PROGRESS_UNKNOWN, /* no recording of duet, or an old one */
	PROGRESS_GROWS,
	PROGRESS_CUT, /* no process writes it any more, and it has no end line */
	PROGRESS_ENDED,
};

struct progress {
	enum progress_state state;
	uint64_t written_ns; /* by the trace's clock: the files contain all events up to here; 0:
				unknown */
	bool is_sent;	     /* a sender deletes the parts that a relay has: not all is here */
	bool is_relayed;     /* it was received from another host */
	bool is_finished;    /* a trace chunk that no process will extend; a later collector
				marks one that was cut */
};

/* progress_read - read the state of the recording in directory @path. */
void progress_read(const char *path, struct progress *p);

/*
 * progress_find - find the recording that the trace in directory @path belongs to: the nearest
 * directory at or above it with a .duet/clock.
 *
 * Returns the length of its path, the first bytes of @path; -1 if there is none.
 */
int progress_find(const char *path);

/*
 * progress_index_end - the bytes of a stream that its index covers; they are whole packets.
 *
 * @dir: directory of the trace; @stream: name of the file.
 *
 * -1 if there is no index.
 */
int64_t progress_index_end(const char *dir, const char *stream);

#endif
