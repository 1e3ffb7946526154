/* SPDX-License-Identifier: MIT */
/*
 * base/progress.h - how far a recording is that may still be written.
 *
 * From .duet/clock and .duet/relay (docs/formats/trace.md).  To be asked before files are looked
 * at: what it says is in the files by then.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_state {
	PROGRESS_UNKNOWN, /* no recording of duet's, or an old one: nothing is known of it */
	PROGRESS_GROWS,
	PROGRESS_CUT, /* nobody writes any more, and the end was not written */
	PROGRESS_ENDED,
};

struct progress {
	enum progress_state state;
	uint64_t written_ns; /* by the trace's clock: what was recorded before is in the files; 0:
				not said */
	bool is_sent;	     /* a sender gives back what a relay has: it is not all here */
	bool is_relayed;     /* it comes from another host */
	bool is_finished;    /* a piece to which nothing is added any more, also if it was cut: the
				next collector says so */
};

/* progress_read - of the recording in directory @path. */
void progress_read(const char *path, struct progress *p);

/* progress_find - the recording that the trace in directory @path belongs to: the nearest directory
 * at or above it with a .duet/clock.  Returns its path's length, the first bytes of @path; -1 if
 * there is none. */
int progress_find(const char *path);

/* progress_index_end - how many bytes of a stream its index names: they are whole packets.  @dir:
 * of the trace; @stream: the file's name.  -1 if there is no index. */
int64_t progress_index_end(const char *dir, const char *stream);

#endif
