/* SPDX-License-Identifier: MIT */
/* analysis/stacks/callstack.h - the call stack that an event was recorded with, as addresses. */
#ifndef ANALYSIS_STACKS_CALLSTACK_H
#define ANALYSIS_STACKS_CALLSTACK_H

#include "trace/trace.h"

enum { CALLSTACK_FRAMES_MAX = 1024 };

/* callstack_find - whether events of class @c have one; then @scope says where. */
bool callstack_find(const struct ctf_event_class *c, enum ctf_scope *scope);

/* callstack_read - innermost first: the kernel's, and the user's behind.  Each is where a call
 * returns to.  Returns how many. */
int callstack_read(const struct trace_event *e, enum ctf_scope scope,
		   uint64_t addresses[CALLSTACK_FRAMES_MAX]);

#endif
