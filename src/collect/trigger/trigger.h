/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/trigger.h - parse the text of a trigger: "CONDITION -> ACTION, ACTION, ...".
 *
 * 	event PATTERN [if EXPR]                      one such event
 * 	rate PATTERN > N per TIME [if EXPR]          more than N of them within TIME
 * 	time A to B > TIME [by FIELD] [if EXPR]      B, more than TIME after its A
 * 	late A to B > TIME [by FIELD] [if EXPR]      A, and no B within TIME
 * 	lost > N per TIME                            more than N events lost within TIME
 * 	signal USR1|USR2                             sent to the collector
 * 	file PATH                                    did not exist before, and now does
 *
 * 	start, stop, end                             resume, pause, end recording
 * 	snapshot [last TIME]                         of a session in overwrite mode
 * 	rotate                                       begin a new trace chunk
 * 	run COMMAND ARGUMENT... | shell TEXT         facts in DUET_... of its environment
 * 	notify                                       send a message to watchers (duet trigger watch)
 * 	once | every TIME                            fire once, or at most once in TIME (default: 1s;
 * 	                                             10ms if it only starts, stops or ends)
 *
 * A pattern kernel:PATTERN matches kernel events (kernel/kernel.h), any other matches application
 * events.  An `if` filters the first event.  A pair belongs together if the field has the same
 * value, or without a field if the thread is the same.  Words may be quoted with " or '.  Texts are
 * untrusted input.  Manual: duet-trigger(1).
 */
#ifndef COLLECT_TRIGGER_TRIGGER_H
#define COLLECT_TRIGGER_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

enum {
	TRIGGER_TEXT_BYTES = 1024, /* including the NUL */
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
	uint64_t last_ns;	       /* for snapshot; 0: everything */
	char *argv[TRIGGER_WORDS + 1]; /* for run; NULL-terminated */
};

/* Must not be moved or copied: it contains pointers into itself. */
struct trigger {
	enum trigger_kind kind;
	const char *first, *second; /* patterns; second: of pairs only */
	const char *filter;	    /* an expression, or NULL */
	const char *by;		    /* a field name, or NULL */
	const char *path;	    /* of the file */
	int signal;
	uint64_t count; /* fires above this number */
	uint64_t time_ns;
	bool once, has_every;
	uint64_t every_ns;
	int n_actions;
	struct trigger_action actions[TRIGGER_ACTIONS];
	char text[TRIGGER_TEXT_BYTES];	    /* as given */
	char words[2 * TRIGGER_TEXT_BYTES]; /* storage for the strings above */
};

/* trigger_parse - 0; -EINVAL with column and reason in @d; -E2BIG. */
int trigger_parse(struct trigger *t, const char *text, struct diag *d);

/*
 * trigger_kernel_pattern - the part after "kernel:"; NULL if @pattern is NULL or matches
 * application events.
 */
const char *trigger_kernel_pattern(const char *pattern);

/*
 * trigger_has_events - whether its condition uses application events.
 *
 * trigger_has_kernel - whether it uses kernel events.
 */
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
