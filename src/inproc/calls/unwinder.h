/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/unwinder.h - unwinders that are linked into a program statically.
 */
#ifndef INPROC_CALLS_UNWINDER_H
#define INPROC_CALLS_UNWINDER_H

#include "inproc/calls/internal.h"
#include "inproc/calls/objects.h"

/* unwinder_add - the code from @begin to @end has unwind information with the header (.eh_frame_hdr) at
 * @header.  All stay.  One thread at a time. */
void unwinder_add(uintptr_t begin, uintptr_t end, const void *header) CALLS_HIDDEN;

/* unwinder_connect - make an unwinder in @o, which asks libc where unwind information is, find what was
 * added.  Nothing happens if the file has none. */
void unwinder_connect(const struct loaded *o) CALLS_HIDDEN;

#endif
