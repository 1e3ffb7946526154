/* SPDX-License-Identifier: MIT */
/*
 * collect/request/enable.h - the requests `enable` and `disable`: docs/formats/requests.md.
 *
 * Programs that start later get the new rules as soon as a request is read.  Running programs must
 * all be visited, which is expensive.  So that is done once for all requests read in a turn, and
 * they are answered after it: a client with an answer has its events.  A request for one process is
 * carried out at once, after all requests before it.
 *
 * One thread.
 */
#ifndef COLLECT_REQUEST_ENABLE_H
#define COLLECT_REQUEST_ENABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_line.h"
#include "collect/session/filters.h"
#include "collect/session/programs.h"

enum { SWITCHES_ASKERS = 64 };

/* Requests not carried out yet.  Initially zero after the pointers. */
struct enable_batch {
	struct session *session; /* borrowed, as the next */
	struct filters *filters;
	struct enable_request requests[PROGRAMS_REQUESTS]; /* in the order of arrival */
	char *texts[PROGRAMS_REQUESTS];			   /* owns their strings */
	uint32_t n_requests, n_askers;
	struct {
		int fd;
		uint32_t request;
	} askers[SWITCHES_ASKERS];
};

/*
 * enable_request_read - read one request.
 *
 * True: it took @fd, and enable_flush_batch answers it.  False: it is answered.
 */
bool enable_request_read(struct enable_batch *b, const struct json_line *l, bool enable, int fd);

/*
 * enable_flush_batch - carry out and answer the collected requests.
 *
 * Call it at the end of a turn, and before anything else is written into programs.
 */
void enable_flush_batch(struct enable_batch *b);

#endif
