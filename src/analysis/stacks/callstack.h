/* SPDX-License-Identifier: MIT */
/* analysis/stacks/callstack.h - the call stack of an event, as addresses. */
#ifndef ANALYSIS_STACKS_CALLSTACK_H
#define ANALYSIS_STACKS_CALLSTACK_H

#include "trace/public.h"

enum { CALLSTACK_FRAMES_MAX = 1024 };

/* callstack_find - whether events of class @c have a call stack; sets @scope to where it is. */
bool callstack_find(const struct ctf_event_class *c, enum ctf_scope *scope);

/* callstack_is_of_sample - whether class @c of @s is of samples: of a clock or of a counter. */
bool callstack_is_of_sample(const struct trace_source *s, const struct ctf_event_class *c);

/* callstack_read - innermost first: the kernel's frames, then the user's. Each is a return address.
 * Returns their number. */
int callstack_read(const struct trace_event *e, enum ctf_scope scope,
		   uint64_t addresses[CALLSTACK_FRAMES_MAX]);

/* callstack_read_user - the user's frames alone, innermost first: at most @most.  Returns their
 * number. */
int callstack_read_user(const struct trace_event *e, enum ctf_scope scope, uint64_t *addresses,
			int most);

/*
 * callstack_without_loop - how many of @n frames, innermost first, are left without an endless end.
 *
 * Frame pointers that point in a circle give the same frames until the recorder's limit; so does a
 * recursion that is deeper than the limit.  The first round of such an end is kept.  A stack that
 * has its outermost function has no such end.  Returns @n if there is no such end.
 */
int callstack_without_loop(const uint64_t *addresses, int n);

#endif
