/* SPDX-License-Identifier: MIT */
/* cmd/view/live.h - functions that the files of `duet live` share. */
#ifndef CMD_VIEW_LIVE_H
#define CMD_VIEW_LIVE_H

#include <limits.h>
#include <stdbool.h>

#include "cmd/remote/send.h"

/* live_session - store the absolute directory that session @wanted, or the only one, records into.
 * Returns 0; or CMD_FAILED after reporting the reason as @verb, such as a flight recorder. */
int live_session(const char *verb, const char *wanted, char path[PATH_MAX]);

/* live_refuse_sent - a recording that is sent to a relay is removed here meanwhile, and cannot be
 * followed.  Reads the recordings: call it in the sandbox.  Returns 0, or CMD_FAILED after a
 * message. */
int live_refuse_sent(const char *const *paths, int n);

/* live_serve - serve the recordings @paths, with a NULL after the last one, to viewers that use lttng-live.  Ends after a signal, or
 * when all recordings have ended and no viewer is attached.  @address: [ADDRESS]:PORT, or NULL. */
int live_serve(const char *const *paths, int n, const char *address, bool anywhere, bool begin);

/* The options of duet live about another host. */
struct live_at {
	const char *host; /* as given; NULL: this one */
	struct send keys;
	uint64_t most_bytes;
};

/* live_at - follow the recordings @names of the relay at @o, or the only one that grows.  Like
 * view_follow(). */
int live_at(struct live_at *o, char *const *names, int n, bool begin, int argc, char **argv);

#endif
