/* SPDX-License-Identifier: MIT */
/* cmd/view/live.h - the parts of duet live. */
#ifndef CMD_VIEW_LIVE_H
#define CMD_VIEW_LIVE_H

#include <limits.h>
#include <stdbool.h>

#include "cmd/remote/send.h"

/* live_session - the absolute directory that session @wanted, or the only one, records into.  0, or
 * CMD_FAILED having said why not, as of a flight recorder. */
int live_session(const char *wanted, char path[PATH_MAX]);

/* live_serve - let viewers that speak lttng-live attach to the recordings @paths, until a signal
 * or, if all have ended, until nobody is attached.  @address: [ADDRESS]:PORT, or NULL. */
int live_serve(const char *const *paths, int n, const char *address, bool anywhere, bool begin);

/* What of duet live's options is about another host. */
struct live_at {
	const char *host; /* as given; NULL: this one */
	struct send keys;
	uint64_t most_bytes;
};

/* live_at - follow the recordings @names of the relay at @o, or the only one that grows, as
 * view_follow() does. */
int live_at(struct live_at *o, char *const *names, int n, bool begin, int argc, char **argv);

#endif
