/* SPDX-License-Identifier: MIT */
/* analysis/stacks/callstack.h - the call stack of an event, as addresses. */
#ifndef ANALYSIS_STACKS_CALLSTACK_H
#define ANALYSIS_STACKS_CALLSTACK_H

#include "trace/public.h"

enum { CALLSTACK_FRAMES_MAX = 1024 };

/* callstack_find - whether events of class @c have a call stack; sets @scope to where it is. */
bool callstack_find(const struct ctf_event_class *c, enum ctf_scope *scope);

/* callstack_read - innermost first: the kernel's frames, then the user's. Each is a return address.
 * Returns their number. */
int callstack_read(const struct trace_event *e, enum ctf_scope scope,
		   uint64_t addresses[CALLSTACK_FRAMES_MAX]);

#endif
