/* SPDX-License-Identifier: MIT */
/*
 * abi/clock.h - the map from ticks to nanoseconds that all parties of a session share.
 *
 * The collector fixes it once per session; programs copy it.  It is linear and never changes, so
 * timestamps of one session always order the same way.
 */
#ifndef ABI_CLOCK_H
#define ABI_CLOCK_H

#include <stdint.h>

enum { ABI_CLOCK_MONOTONIC = 1, ABI_CLOCK_TSC = 2 };

/* ns = (ticks * mult >> 32) + offset_ns, modulo 2^64. */
struct abi_clock {
	uint32_t kind; /* ABI_CLOCK_... */
	uint32_t reserved;
	uint64_t mult;
	uint64_t offset_ns;
};
_Static_assert(sizeof(struct abi_clock) == 24, "layout both sides agree on");

#endif
