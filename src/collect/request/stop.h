/* SPDX-License-Identifier: MIT */
/*
 * collect/request/stop.h - clients that asked a session to end and wait for the result.
 *
 * The request `stop` is answered when the trace is complete, with stopping_answer, by the process
 * that finished the recording.  A collector killed before that answers no client; the clients
 * repeat the request to its successor.
 */
#ifndef COLLECT_REQUEST_STOP_H
#define COLLECT_REQUEST_STOP_H

#include <stdbool.h>

#include "abi/session.h"
#include "base/diag.h"
#include "base/json_line.h"
#include "collect/options/options.h"
#include "collect/options/result.h"

/* stopping_add - answer and close @fd at the end.  False: too many clients. */
bool stopping_add(struct stopping *s, int fd);
/* stopping_answer - send the result to all and close.  @error: why the recording failed, or "". */
void stopping_answer(struct stopping *s, const struct recorder_options *o,
		     const struct recorder_result *r, const char *error);

enum { STOPPED_PATTERNS_BYTES = 512 };

/* A parsed answer; it owns its strings. */
struct stopped {
	char path[4096];
	char failed[1024]; /* why the recording failed, or "" */
	char channels[ABI_CHANNELS][ABI_CHANNEL_NAME_BYTES];
	int n_channels;
	char kernel_patterns[STOPPED_PATTERNS_BYTES]; /* of -k, between commas; "" if too many */
	bool wants_kernel, leaves;		      /* struct recorder_options */
};

/* stopping_read - parse an answer; @r gets the members that it has. */
void stopping_read(const struct json_line *l, struct stopped *s, struct recorder_result *r);

#endif
