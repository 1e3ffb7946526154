/* SPDX-License-Identifier: MIT */
/* torture/step.h - shared by the stepper, step.c, and the writer that it steps, step_writer.c. */
#ifndef TORTURE_STEP_H
#define TORTURE_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ledger.h"
#include "ring/rseq.h"

enum { STEP_LIMIT = 4000 };
enum { KEY_WRITER, KEY_HANDLER, KEY_DEEPER, KEY_OTHER, KEYS };
#define SECOND_NS 1000000000ull

enum situation {
	PLAIN,
	FIRST,
	LONG_AGO,
	TOO_OLD,
	EMPTY_TOO_OLD,
	FULL_CHUNK,
	NOTHING_FREE,
	SITUATIONS,
	ALL_FULL = SITUATIONS,
	FLIGHT_SITUATIONS
};

enum interruption {
	SIGNAL,
	SIGNAL_MOVES,
	SIGNAL_JUMPS,
	SIGNAL_FORKS,
	MOVE,
	KILL,
	OTHER_WRITES,
	THREAD_WRITES,
	OTHER_FILLS,
	COLLECTOR,
	EACH_STEP,
	INTERRUPTIONS
};

/* A way of writing one event. */
struct way {
	const char *name;
	enum ledger_form form;
	uint32_t n;
	uint32_t n_before; /* events of a coarse pool that lead to the sequence; 0: another pool */
};
enum { WAYS = 14 };
extern const struct way step_ways[WAYS];

/* Shared by stepper and writer. */
struct control {
	struct rseq_area
		*area; /* the writer's; of the same address there, but not the same memory */
	int phase;     /* 1 from before the event on, 2 when it is done */
	enum interruption handler;
	bool handled;
	bool child_failed;
};

extern struct control *control;
extern struct ledger *ledger;
extern __thread struct rseq_area fake_area;

void use_fake_area(void);

/*
 * be_writer - in a child: bring @pool into situation @s, stop, write one event in the way @w,
 * stop, write more, end.  SIGUSR1 makes it execute control->handler.
 */
void be_writer(const struct pool *pool, enum situation s, const struct way *w)
	__attribute__((noreturn));

#endif
