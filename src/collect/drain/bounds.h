/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/bounds.h - bounds of numbers in shared memory, and the programs that exceeded them.
 *
 * Every program of a session may write anything into its pools and control pages.  A number from
 * there is taken only if it is possible:
 *
 *   (1) a time lies between the creation of the pools and now
 *   (2) a counter grows, and by no more than the time since it was last read allows
 *
 * The account of (2) lies in memory that collectors alone share, so no program can change the
 * count, and a successor goes on with it.  An impossible number adds nothing and is
 * counted: the true number is then unknown, and the one shown is a lower bound.
 *
 * A program is named by the pid that owned the buffer.  That word is the programs' own, so within
 * one user a program may put the blame on another; the user is certain.
 *
 * One process writes at a time; it may be killed at any instruction.
 */
#ifndef COLLECT_DRAIN_BOUNDS_H
#define COLLECT_DRAIN_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/clock.h"
#include "abi/control.h"
#include "abi/pool.h"
#include "abi/session.h"
#include "collect/options/impossible.h"

/* A time may be this late: clocks of two CPUs may differ a little. */
#define BOUNDS_AHEAD_NS 1000000u

/* Things that cannot be true. */
struct bounds_kinds {
	uint64_t times; /* buffers with a time before the session or in the future */
	uint64_t bytes; /* that are no events, or events in no order; they are not in the files */
	uint64_t counters; /* counters that shrank, or grew faster than possible */
};

struct bounds_program {
	uint32_t pid; /* 0: not known */
	char name[ABI_NAME_BYTES];
	struct bounds_kinds found;
	struct bounds_kinds recorded; /* the part that the recording has as events */
};

/* A counter of programs. */
struct bounds_sum {
	uint64_t raw;	/* as it was last read */
	uint64_t at_ns; /* before that */
	uint64_t value; /* the part of it that counts */
};
struct bounds_counter {
	struct bounds_sum sums[2];
	uint32_t valid; /* index of the valid one: one store replaces it */
};

struct bounds_slot {
	struct bounds_counter lost, too_large;
	uint64_t reported; /* DRAIN_REPORTED: the part of `lost` that closed traces report */
};

enum { BOUNDS_PROGRAMS = 8, BOUNDS_WRITERS = 1024 };

struct bounds {
	size_t size; /* of this memory */
	uint64_t begin_ns;
	struct abi_clock clock;
	uint32_t n_channels, n_slots, n_cpus;
	uid_t uid; /* of all programs of the session */
	uint32_t n_programs;
	struct bounds_program programs[BOUNDS_PROGRAMS]; /* the last one also counts all others */
	struct bounds_counter waited[ABI_CHANNELS];
	struct {
		uint32_t pid;
		char name[ABI_NAME_BYTES];
	} writers[BOUNDS_WRITERS]; /* that joined; by pid, the last one of each place */
	struct bounds_slot slots[];
};

/*
 * bounds_open - for @n_channels pools of @n_cpus CPUs, made by now.  NULL without memory.
 *
 * It is shared with processes forked later.
 */
struct bounds *bounds_open(const struct abi_clock *clock, uint32_t n_channels, uint32_t n_cpus,
			   uid_t uid);
void bounds_close(struct bounds *b); /* accepts NULL */

/* bounds_joined - program @name, process @pid as the kernel names it, may write from now on. */
void bounds_joined(struct bounds *b, pid_t pid, const char *name);

/* bounds_slot - the account of a slot; NULL if @b is. */
struct bounds_slot *bounds_slot(struct bounds *b, uint32_t channel, uint32_t slot);

/*
 * bounds_count - read the counter of programs at @shared, and return the part of it that counts.
 *
 * @n_writers: CPUs that may increment it at once.
 */
uint64_t bounds_count(struct bounds *b, struct bounds_counter *c, const uint64_t *shared,
		      uint32_t n_writers);

/* bounds_most - the most events that can have been lost on all CPUs since the session began. */
uint64_t bounds_most(const struct bounds *b);

/* bounds_note - the owner @pid of a buffer, or 0, wrote something impossible.  @b may be NULL. */
void bounds_note(struct bounds *b, uint32_t pid, const struct bounds_kinds *found);
/* bounds_note_program - the same; its name is known. */
void bounds_note_program(struct bounds *b, uint32_t pid, const char *name,
			 const struct bounds_kinds *found);

/* bounds_has_counter - whether a counter of program @name was noted. */
bool bounds_has_counter(const struct bounds *b, const char *name);

/* bounds_next - the next program with something found that is not recorded; it counts as recorded
 * from then on.  *@found: that part.  NULL: there is none. */
const struct bounds_program *bounds_next(struct bounds *b, struct bounds_kinds *found);

/* bounds_describe - a sentence for each program. */
void bounds_describe(const struct bounds *b, struct impossible *to);

#endif
