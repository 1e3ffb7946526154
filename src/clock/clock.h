/* SPDX-License-Identifier: MIT */
/*
 * clock/clock.h - the one clock of applications and kernel.
 *
 * Ticks come from a counter that both sides read in a few nanoseconds: the TSC if the kernel itself
 * trusts it (and tracefs offers `x86-tsc`), else CLOCK_MONOTONIC (tracefs `mono`).  A session fixes
 * one linear map from ticks to nanoseconds and uses it everywhere, so order is never disturbed:
 *
 *   (1) ns is a non-decreasing function of ticks, the same in every process of the session
 *   (2) at the start of the session ns equals CLOCK_MONOTONIC; later they drift apart as NTP slews.
 *       Pairs of both are recorded, so that the drift is known
 *
 * Files contain nanoseconds, not ticks: readers multiply 2.6 GHz ticks in doubles and lose 0.4 us.
 */
#ifndef CLOCK_CLOCK_H
#define CLOCK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "base/monotonic.h"

/* One moment on each clock. */
struct clock_reading {
	uint64_t ticks;
	uint64_t monotonic_ns;
	uint64_t boottime_ns;
	uint64_t realtime_ns;
};

/*
 * clock_init_kind - choose the counter, measure it and fix the map.
 *
 * @kind: ABI_CLOCK_...; 0 takes the TSC if the kernel trusts it, else CLOCK_MONOTONIC.
 *
 * Takes about 20 ms.  Returns 0; -ENOTSUP if this machine cannot; -EIO if the TSC stands still.
 */
int clock_init_kind(struct abi_clock *c, uint32_t kind, struct diag *d);

/* clock_choose - only the counter that clock_init_kind would choose, unmeasured: its `kind`. */
void clock_choose(struct abi_clock *c, uint32_t kind);

/* clock_read - read all clocks at one moment; the best of several bracketed tries. */
void clock_read(const struct abi_clock *c, struct clock_reading *r);

/* clock_pair - the ticks at which CLOCK_MONOTONIC was *@monotonic_ns; the best of several bracketed
 * tries. */
uint64_t clock_pair(const struct abi_clock *c, uint64_t *monotonic_ns);

/* clock_tracefs_name - the name of this counter for a tracefs instance's `trace_clock`. */
const char *clock_tracefs_name(const struct abi_clock *c);

/* clock_boot_id - the kernel's boot id: 16 bytes, the clock's uuid in every trace.  0 or -errno. */
int clock_boot_id(uint8_t uuid[16]);

/* clock_is_readable - whether this process can read the counter.  A program under emulation of
 * another architecture cannot read the TSC that its collector chose. */
static inline bool clock_is_readable(const struct abi_clock *c)
{
#if defined __x86_64__
	if (c->kind == ABI_CLOCK_TSC)
		return true;
#endif
	return c->kind == ABI_CLOCK_MONOTONIC;
}

static inline uint64_t clock_ticks(const struct abi_clock *c)
{
#if defined __x86_64__
	if (__builtin_expect(c->kind == ABI_CLOCK_TSC, 1))
		return __builtin_ia32_rdtsc();
#endif
	(void)c;
	return monotonic_ns();
}

static inline uint64_t clock_ns(const struct abi_clock *c, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * c->mult) >> 32) + c->offset_ns;
}

static inline uint64_t clock_now_ns(const struct abi_clock *c)
{
	return clock_ns(c, clock_ticks(c));
}

#endif
