/* SPDX-License-Identifier: MIT */
/*
 * clock/track.h - convert CLOCK_MONOTONIC to a session's clock, for writers that can only stamp
 * with CLOCK_MONOTONIC.
 *
 * Both clocks are read together at intervals.  Between two such knots the conversion is a straight
 * line.
 *
 *   (1) it is one function: the same question gets the same answer at any later time
 *   (2) it does not decrease
 *   (3) at a knot its error is half of the time it takes to read both, about 10 ns; between two, if
 *       the kernel begins to slew its clock by x, x / 4 of the time between them
 *
 * A time later than the last knot converts to that of the knot: call clock_track_step() before. The
 * struct may lie in memory that a successor process inherits: an unfinished step is not visible.
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
	uint64_t n; /* knots so far; the last CLOCK_KNOTS of them are here */
	struct clock_knot knots[CLOCK_KNOTS];
};

/* clock_track_begin - start with one knot, now. */
void clock_track_begin(struct clock_track *f, const struct abi_clock *clock);

/* clock_track_step - add a knot.  Returns the time of the last one, by CLOCK_MONOTONIC. */
uint64_t clock_track_step(struct clock_track *f);

/* clock_track_add - add a given knot; one not later than the last is ignored. */
void clock_track_add(struct clock_track *f, struct clock_knot knot);

/* A line between two knots, cached by the caller. */
struct clock_line {
	uint64_t from_ns, length_ns; /* by CLOCK_MONOTONIC */
	uint64_t ns;		     /* of the session, at from_ns */
	uint64_t slope;		     /* times 2^32 */
};

/* clock_track_line - the line that holds @monotonic_ns. */
void clock_track_line(const struct clock_track *f, uint64_t monotonic_ns, struct clock_line *l);

/* clock_track_ns - convert @monotonic_ns.  @l: the caller's cached line, zeroes at first. */
static inline uint64_t clock_track_ns(const struct clock_track *f, struct clock_line *l,
				      uint64_t monotonic_ns)
{
	if (monotonic_ns - l->from_ns >= l->length_ns)
		clock_track_line(f, monotonic_ns, l);
	return l->ns + (uint64_t)((unsigned __int128)(monotonic_ns - l->from_ns) * l->slope >> 32);
}

#endif
