/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/near.h - memory that jumps of 32 bits reach from all of an object.
 */
#ifndef INPROC_CALLS_NEAR_H
#define INPROC_CALLS_NEAR_H

#include "inproc/process.h"

/*
 * near_reserve - reserve @bytes of addresses, without access, within 2 GiB of all bytes from @low to
 * @high.  NULL: no such space is free, or /proc is not there.  munmap frees them.
 *
 * Below the object if possible: above it the heap grows.
 */
void *near_reserve(uintptr_t low, uintptr_t high, size_t bytes) HIDDEN;

#endif
