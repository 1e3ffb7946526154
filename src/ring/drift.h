/* SPDX-License-Identifier: MIT */
/*
 * ring/drift.h - times for a process that may not read the time stamp counter.
 *
 * Such events get CLOCK_MONOTONIC_COARSE, plus the difference between the pool's clock and
 * CLOCK_MONOTONIC when the counter was given up.  That difference changes: NTP slews CLOCK_MONOTONIC, by
 * some ppm for as long as the machine runs, and the pool's clock follows the counter alone.  After an
 * hour of 50 ppm the times would be 0.18 s off, and the collector takes those that are ahead for
 * impossible.  The collector can read both clocks: it publishes knots (struct abi_drift), and the process
 * adds what has changed since its own measurement.
 *
 *   (1) the offset is a function of the time by CLOCK_MONOTONIC alone, not of the moment of the call: a
 *       knot begins LEAD_NS after it is published, and changes nothing before
 *   (2) it falls by less than 1 in 200: times that rise by 2 ns have offsets with which they rise, too
 *   (3) whatever lies in shared memory, it is within a millisecond and 1 in 256 of the first one
 *   (4) after some minutes it is LATE_NS too small: times are rather late than ahead while the
 *       collector sleeps
 *
 * Test: tests/unit/ring/drift_test.c.
 */
#ifndef RING_DRIFT_H
#define RING_DRIFT_H

#include "abi/pool.h"

struct pool;

/*
 * drift_add - the collector's step: at @now_ns by CLOCK_MONOTONIC the pool's clock less that is
 * @offset_ns.  Nothing happens if the last knot is too young.  One thread at a time.
 */
void drift_add(struct abi_drift *drift, uint64_t now_ns, uint64_t offset_ns);

/* drift_at - the offset at @t_ns by CLOCK_MONOTONIC; 0: there is no knot.  @drift is not trusted. */
uint64_t drift_at(const struct abi_drift *drift, uint64_t t_ns);

/*
 * pool_stop_clock - from here on the view is written without the time stamp counter, which a thread
 * may have forbidden itself, on the exclusive path.
 *
 * Timestamps are up to a tick of the kernel (1 to 10 ms) late.  Before that, and concurrently,
 * others may write.
 */
void pool_stop_clock(struct pool *p);

/* pool_now_ns - the time for an event. */
uint64_t pool_now_ns(const struct pool *p);

/* pool_coarse_ns - CLOCK_MONOTONIC at the last tick, or when the clock of @p was stopped. */
uint64_t pool_coarse_ns(const struct pool *p);
/* pool_offset_at - what a pool with a stopped clock adds to @t_ns by CLOCK_MONOTONIC. */
uint64_t pool_offset_at(const struct pool *p, uint64_t t_ns);
/* pool_monotonic_of - the time by CLOCK_MONOTONIC that has the pool's time @t_ns. */
uint64_t pool_monotonic_of(const struct pool *p, uint64_t t_ns);

#endif
