/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/hook/slow.h - the frame of everything slow: signals blocked, errno kept, own calls of
 * patched functions not recorded.
 */
#ifndef INPROC_CALLS_SLOW_H
#define INPROC_CALLS_SLOW_H

#include "inproc/calls/hook/hook.h"

struct calls_slow {
	uint64_t signals;
	int saved_errno;
};

void slow_begin(struct calls_slow *slow) CALLS_HIDDEN;
void slow_end(const struct calls_slow *slow) CALLS_HIDDEN;

#endif
