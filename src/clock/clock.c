/* SPDX-License-Identifier: MIT */
/*
 * clock/clock.c - choose the counter and measure its rate.
 *
 * The rate comes from two bracketed readings (TSC, MONOTONIC, TSC), each the narrowest of many
 * tries.  So its error is the window (about 20 ns) over the distance.  The map is then fixed: a
 * better rate later would bend time inside a trace.
 */
#include "clock/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/io.h"

enum { TRIES = 64, BASE_LINE_NS = 20000000 };

/* The kernel checks the TSC across CPUs and sleep states before it uses it as clock source.  A
 * guest that prefers a paravirtual source still reports it as constant and non-stop. */
static bool tsc_is_trusted(void)
{
	char text[16384];

	if (io_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
			 sizeof text) > 0 &&
	    !strncmp(text, "tsc", 3))
		return true;
	return io_read_file("/proc/cpuinfo", text, sizeof text) > 0 &&
	       strstr(text, " constant_tsc") && strstr(text, " nonstop_tsc");
}

static uint64_t gettime_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks at the middle of the narrowest bracket around a reading of @id. */
static uint64_t read_pair(const struct abi_clock *c, clockid_t id, uint64_t *ns)
{
	uint64_t best = UINT64_MAX, ticks = 0;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = clock_ticks(c), t = gettime_ns(id), after = clock_ticks(c);

		if (after - before < best) {
			best = after - before;
			ticks = before + best / 2;
			*ns = t;
		}
	}
	return ticks;
}

uint64_t clock_pair(const struct abi_clock *c, uint64_t *monotonic_ns)
{
	return read_pair(c, CLOCK_MONOTONIC, monotonic_ns);
}

void clock_read(const struct abi_clock *c, struct clock_reading *r)
{
	uint64_t ticks, to_ns;

	r->ticks = read_pair(c, CLOCK_MONOTONIC, &r->monotonic_ns);
	/* The map carries the other clocks back to the same moment. */
	ticks = read_pair(c, CLOCK_BOOTTIME, &to_ns);
	r->boottime_ns = to_ns - (clock_ns(c, ticks) - clock_ns(c, r->ticks));
	ticks = read_pair(c, CLOCK_REALTIME, &to_ns);
	r->realtime_ns = to_ns - (clock_ns(c, ticks) - clock_ns(c, r->ticks));
}

/* Measures the length of a tick over a base line long enough for the errors at its ends. */
static int measure(struct abi_clock *c, struct diag *d)
{
	uint64_t t0, t1, ns0, ns1;

	t0 = read_pair(c, CLOCK_MONOTONIC, &ns0);
	nanosleep(&(struct timespec){ .tv_nsec = BASE_LINE_NS }, NULL);
	t1 = read_pair(c, CLOCK_MONOTONIC, &ns1);
	if (t1 <= t0 || ns1 <= ns0)
		return diag_fail(d, -EIO, "the time stamp counter does not advance");
	c->mult = (uint64_t)(((unsigned __int128)(ns1 - ns0) << 32) / (t1 - t0));
	assert(c->mult > 0);
	c->offset_ns = ns1 - (uint64_t)(((unsigned __int128)t1 * c->mult) >> 32);
	return 0;
}

void clock_choose(struct abi_clock *c, uint32_t kind)
{
	assert(!kind || kind == ABI_CLOCK_MONOTONIC || kind == ABI_CLOCK_TSC);
	*c = (struct abi_clock){ .kind = ABI_CLOCK_TSC, .mult = 1ull << 32 };
	if (kind == ABI_CLOCK_MONOTONIC || !clock_is_readable(c) || !tsc_is_trusted())
		c->kind = ABI_CLOCK_MONOTONIC;
}

int clock_init_kind(struct abi_clock *c, uint32_t kind, struct diag *d)
{
	clock_choose(c, kind);
	if (c->kind == ABI_CLOCK_TSC)
		return measure(c, d);
	if (kind == ABI_CLOCK_TSC)
		return diag_fail(
			d, -ENOTSUP,
			"the kernel of this machine does not trust the time stamp counter as a "
			"clock\n  use --clock mono");
	return 0;
}

const char *clock_tracefs_name(const struct abi_clock *c)
{
	return c->kind == ABI_CLOCK_TSC ? "x86-tsc" : "mono";
}

int clock_boot_id(uint8_t uuid[16])
{
	char text[64];
	ssize_t n = io_read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
	unsigned byte;
	int k = 0;

	if (n < 0)
		return (int)n;
	for (const char *p = text; k < 16; p += 2) {
		if (*p == '-')
			p++;
		if (sscanf(p, "%2x", &byte) != 1)
			return -EIO;
		uuid[k++] = (uint8_t)byte;
	}
	return 0;
}
