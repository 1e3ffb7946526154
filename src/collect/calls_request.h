/* SPDX-License-Identifier: MIT */
/* collect/calls_request.h - the requests enable and disable, where they name functions of programs. */
#ifndef COLLECT_CALLS_REQUEST_H
#define COLLECT_CALLS_REQUEST_H

#include "base/json_line.h"
#include "collect/collector.h"

/*
 * calls_request - carry out the request @text, whose members are in @line, and answer on @fd.
 *
 * @fd stays the caller's.  A session that has recorded no calls begins to.
 */
void calls_request(struct collector *c, const struct json_line *line, const char *text, int fd);

#endif
