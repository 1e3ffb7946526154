/* SPDX-License-Identifier: MIT */
/*
 * inproc/calls/unwind.h - unwind information for stubs.
 */
#ifndef INPROC_CALLS_UNWIND_H
#define INPROC_CALLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inproc/calls/internal.h"

/* Code in which each return address has the same distance from the frame of the call. */
struct unwind_range {
	uintptr_t begin, end;
	uintptr_t copies_begin, copies_end; /* here the frame is `copied` bytes farther */
	uint32_t copied;
};

/* Unwind information in the layout of .eh_frame, in memory that stays. */
struct unwind_frames {
	uint8_t *bytes;
	size_t size, used;
};

/* That of one arena: with and without a personality. */
struct unwind {
	struct unwind_frames frames, plain;
	uint8_t *mapping;
	size_t size;
	uintptr_t begin, end; /* of all ranges */
	bool is_registered, is_added;
};

/* unwind_make - have memory for @n_ranges.  False: there is none. */
bool unwind_make(struct unwind *u, uint32_t n_ranges) CALLS_HIDDEN;
/* unwind_add - add a range; as many as unwind_make was asked for. */
void unwind_add(struct unwind *u, const struct unwind_range *r) CALLS_HIDDEN;

/*
 * unwind_register - hand it to the unwinder of libgcc_s, if the program has loaded that, and to those
 * that are linked into files (unwinder.h).
 *
 * It may be called again, and does nothing once it has succeeded.  It takes the loader's lock: not
 * in a hook.
 */
void unwind_register(struct unwind *u) CALLS_HIDDEN;

/* unwind_has_unwinder - whether the program had an unwinder when unwind_register looked last. */
bool unwind_has_unwinder(void) CALLS_HIDDEN;

#endif
