/* SPDX-License-Identifier: MIT */
/* one_channel.h - a trace of one pool. */
#ifndef TESTS_ONE_CHANNEL_H
#define TESTS_ONE_CHANNEL_H

#include "collect/drain/streams.h"

static inline int open_streams(struct streams **s, struct pool *p, const char *path, struct diag *d)
{
	struct streams_channel c = { .pool = p, .name = "" };
	struct streams_options o = { .path = path, .channels = &c, .n_channels = 1 };

	return streams_open(s, &o, d);
}

#endif
