/* SPDX-License-Identifier: MIT */
/*
 * collect/request/stop.h - who asked a session to end, and waits to hear how it went.
 *
 * The request `stop` is answered when the trace is whole: by whoever finished the recording, with
 * stopping_answer.  A collector that is killed meanwhile answers nobody; its successor is asked
 * again.
 */
#ifndef COLLECT_REQUEST_STOP_H
#define COLLECT_REQUEST_STOP_H

#include <stdbool.h>

#include "abi/session.h"
#include "base/diag.h"
#include "base/json_line.h"

struct recorder_options;
struct recorder_result;

enum { STOPPING_MAX = 8 };

struct stopping {
	int fds[STOPPING_MAX];
	int n;
};

/* stopping_add - @fd is answered, and closed, at the end.  False: there are too many. */
bool stopping_add(struct stopping *s, int fd);
/* stopping_answer - tell all of them, and close.  @error: why the recording failed, or "". */
void stopping_answer(struct stopping *s, const struct recorder_options *o,
		     const struct recorder_result *r, const char *error);

/* An answer, read: all of it strings of its own. */
struct stopped {
	char path[4096];
	char failed[1024]; /* why the recording failed, or "" */
	char channels[ABI_CHANNELS][ABI_CHANNEL_NAME_BYTES];
	int n_channels;
	bool wants_kernel, leaves; /* struct recorder_options */
};

/* stopping_read - @r as far as it is told. */
void stopping_read(const struct json_line *l, struct stopped *s, struct recorder_result *r);

#endif
