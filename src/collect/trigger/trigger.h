/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/trigger.h - what a trigger says: "CONDITION -> ACTION, ACTION, ...".
 *
 *	event PATTERN [if EXPR]                      one such event
 *	rate PATTERN > N per TIME [if EXPR]          more than N of them within TIME
 *	time A to B > TIME [by FIELD] [if EXPR]      B, more than TIME after its A
 *	late A to B > TIME [by FIELD] [if EXPR]      A, and after TIME there is no B yet
 *	lost > N per TIME                            events that found no room
 *	signal USR1|USR2                             sent to the collector
 *	file PATH                                    that was not there, and is
 *
 *	start, stop, end                             recording goes on, pauses, ends
 *	snapshot [last TIME]                         of a flight recorder
 *	rotate                                       the files
 *	run COMMAND ARGUMENT... | shell TEXT         facts in DUET_... of its environment
 *	notify                                       whoever watches (duet trigger watch)
 *	once | every TIME                            it fires once, or at most every TIME (default:
 *1s; if it only starts, stops or ends: 10ms)
 *
 * A pattern kernel:PATTERN is about what the kernel records (kernel/kernel.h), any other about
 *programs. An `if` is about the first event; a pair belongs together if the field, or without one
 *the thread, is the same.  Words may be quoted, with " or '.  Texts come from anybody.  Manual:
 *duet-trigger(1).
 */
#ifndef COLLECT_TRIGGER_TRIGGER_H
#define COLLECT_TRIGGER_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum {
	TRIGGER_TEXT_BYTES = 1024, /* with its NUL */
	TRIGGER_ACTIONS = 8,
	TRIGGER_WORDS = 32, /* of a command */
	TRIGGER_COUNT_MAX = 100000,
	TRIGGER_PATTERN_MAX = 255,
};
#define TRIGGER_TIME_MAX_NS (24ull * 3600 * 1000000000)

enum trigger_kind {
	TRIGGER_EVENT,
	TRIGGER_RATE,
	TRIGGER_TIME,
	TRIGGER_LATE,
	TRIGGER_LOST,
	TRIGGER_SIGNAL,
	TRIGGER_FILE,
};

enum trigger_act {
	TRIGGER_START,
	TRIGGER_STOP,
	TRIGGER_END,
	TRIGGER_SNAPSHOT,
	TRIGGER_ROTATE,
	TRIGGER_RUN,
	TRIGGER_NOTIFY,
};

struct trigger_action {
	enum trigger_act act;
	uint64_t last_ns;	       /* snapshot; 0: all */
	char *argv[TRIGGER_WORDS + 1]; /* run; NULL-terminated */
};

/* Stays where it is: it points into itself. */
struct trigger {
	enum trigger_kind kind;
	const char *first, *second; /* patterns; second: of pairs */
	const char *filter;	    /* an expression, or NULL */
	const char *by;		    /* a field, or NULL */
	const char *path;	    /* of the file */
	int signal;
	uint64_t count; /* more than so many */
	uint64_t time_ns;
	bool once, has_every;
	uint64_t every_ns;
	int n_actions;
	struct trigger_action actions[TRIGGER_ACTIONS];
	char text[TRIGGER_TEXT_BYTES];	    /* as it was given */
	char words[2 * TRIGGER_TEXT_BYTES]; /* what the others point to */
};

/* trigger_parse - 0; or -EINVAL with what is wrong where, -E2BIG. */
int trigger_parse(struct trigger *t, const char *text, struct diag *d);

/* trigger_kernel_pattern - the pattern of kernel events that @pattern is; NULL: none, it is NULL or
 * of programs. */
const char *trigger_kernel_pattern(const char *pattern);

/* trigger_has_events - whether its condition is about events of programs; trigger_has_kernel: of
 * the kernel. */
static inline bool trigger_has_events(const struct trigger *t)
{
	return t->kind <= TRIGGER_LATE && (!trigger_kernel_pattern(t->first) ||
					   (t->second && !trigger_kernel_pattern(t->second)));
}

static inline bool trigger_has_kernel(const struct trigger *t)
{
	return trigger_kernel_pattern(t->first) || trigger_kernel_pattern(t->second);
}

/* trigger_does - whether @act is among its actions. */
bool trigger_does(const struct trigger *t, enum trigger_act act);

#endif
