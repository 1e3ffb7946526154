/* SPDX-License-Identifier: MIT */
/*
 * collect/request/enable.h - the requests `enable` and `disable`: docs/formats/control.md.
 *
 * Programs that start are told when such a request is heard.  Those that run are all looked at,
 * which is dear, so it is done once for all requests that are heard in a turn, and answered after
 * that: who has his answer has his events. What is asked of one program by its number is done at
 * once, after what was asked before it.
 *
 * One thread.
 */
#ifndef COLLECT_REQUEST_ENABLE_H
#define COLLECT_REQUEST_ENABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/session/programs.h"
#include "base/json_line.h"

struct collector;

enum { SWITCHES_ASKERS = 64 };

/* What is to be done yet.  Begins as zeroes. */
struct enable_batch {
	struct enable_request
		requests[PROGRAMS_REQUESTS]; /* in the order in which they were asked */
	char *texts[PROGRAMS_REQUESTS];	     /* theirs */
	uint32_t n_requests, n_askers;
	struct {
		int fd;
		uint32_t request;
	} askers[SWITCHES_ASKERS];
};

/* enable_request_read - hear one.  True: @fd is not the caller's any more, and is answered by
 * enable_flush_batch; false: it is answered. */
bool enable_request_read(struct collector *c, const struct json_line *l, bool enable, int fd);

/* enable_flush_batch - carry out and answer what waits; to be called when a turn is over, and
 * before anything else is written into programs. */
void enable_flush_batch(struct collector *c);

#endif
