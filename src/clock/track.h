/* SPDX-License-Identifier: MIT */
/*
 * clock/track.h - from CLOCK_MONOTONIC to a session's clock, where a writer has nothing better to
 * stamp with.
 *
 * Both are read together now and then; between two such knots the way from one to the other is a
 * straight line.
 *
 *   (1) it is one function: what was asked for once is answered the same ever after
 *   (2) it does not decrease
 *   (3) at a knot it is off by half of the time it takes to read both, about 10 ns; between two, if
 * the kernel begins to slew its clock by x, by x / 4 of the time between them
 *
 * Whoever asks for a time later than the last knot's gets that of the knot: take a step before.
 * It may lie in memory that a successor has: a step that was not finished is not there.
 */
#ifndef CLOCK_TRACK_H
#define CLOCK_TRACK_H

#include <stdint.h>

#include "abi/clock.h"

enum { CLOCK_KNOTS = 64 };

struct clock_knot {
	uint64_t monotonic_ns;
	uint64_t ns; /* of the session */
};

struct clock_track {
	struct abi_clock clock;
	uint64_t n; /* knots so far: the last CLOCK_KNOTS are here */
	struct clock_knot knots[CLOCK_KNOTS];
};

/* clock_track_begin - with a first knot, now. */
void clock_track_begin(struct clock_track *f, const struct abi_clock *clock);

/* clock_track_step - one knot more.  Returns the time of the last one, by CLOCK_MONOTONIC. */
uint64_t clock_track_step(struct clock_track *f);

/* clock_track_add - the same of a knot that is given; one not later than the last is none. */
void clock_track_add(struct clock_track *f, struct clock_knot knot);

/* A line between two knots, kept by who asks for many. */
struct clock_line {
	uint64_t from_ns, length_ns; /* by CLOCK_MONOTONIC */
	uint64_t ns;		     /* of the session, at from_ns */
	uint64_t slope;		     /* times 2^32 */
};

/* clock_track_line - the one for @monotonic_ns. */
void clock_track_line(const struct clock_track *f, uint64_t monotonic_ns, struct clock_line *l);

/* @l: zeroes at first. */
static inline uint64_t clock_track_ns(const struct clock_track *f, struct clock_line *l,
				      uint64_t monotonic_ns)
{
	if (monotonic_ns - l->from_ns >= l->length_ns)
		clock_track_line(f, monotonic_ns, l);
	return l->ns + (uint64_t)((unsigned __int128)(monotonic_ns - l->from_ns) * l->slope >> 32);
}

#endif
