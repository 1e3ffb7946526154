/* SPDX-License-Identifier: MIT */
/*
 * base/monotonic.h - the one way to read CLOCK_MONOTONIC.
 *
 * The vDSO answers in about 20 ns, without a system call where the kernel's clock source allows it.
 * It is async-signal-safe, keeps errno and cannot fail, so libduet uses it too.  Threads may call it
 * concurrently.  Timestamps of events come from clock/clock.h, which reads the TSC if it can.
 */
#ifndef BASE_MONOTONIC_H
#define BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* monotonic_ns - nanoseconds since boot, less the time the machine slept; it never steps back. */
static inline uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
