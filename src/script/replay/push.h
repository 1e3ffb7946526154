/* SPDX-License-Identifier: MIT */
/*
 * script/replay/push.h - conditions of handlers as filters that run in the traced programs.
 *
 * An event that a handler would drop need not be recorded.  The filter is implied by the
 * handler: it may let an event pass that has no effect, and never drops one that has.  An expression
 * is written only if the filter (duet-filter(7)) computes the same: results stay within 64 bits,
 * nothing is divided by 0, no text is longer than strings of the script, and nothing can fail.
 */
#ifndef SCRIPT_REPLAY_PUSH_H
#define SCRIPT_REPLAY_PUSH_H

#include "script/check/program.h"

enum push_kind {
	PUSH_UNSURE, /* not known, or reading it may fail */
	PUSH_THERE,  /* always there, but filters do not have it so */
	PUSH_NUMBER, /* within `low` to `high` */
	PUSH_WIDE,   /* unsigned, of 64 bits: negative in scripts from 2^63 on */
	PUSH_TEXT,
};

struct push_field {
	const char *name; /* in filters */
	int64_t low, high;
};

struct push {
	/* How filters have a value of the event (slot of @e). */
	enum push_kind (*find)(struct push *p, const struct script_expr *e, struct push_field *f);
	/* The value of a global that no handler writes; NULL: not known. */
	int64_t (*global)(struct push *p, const struct script_variable *v);
	size_t string_bytes; /* of strings in scripts, with the NUL */
	uint32_t n_steps;    /* so far; starts at 0 */
};

/* push_condition - append to @t a filter that is true exactly if @e is.  Returns false, and leaves
 * @t, if there is none. */
bool push_condition(struct push *p, const struct script_expr *e, struct text *t);

/* push_handler - append to @t a filter that passes every event at which @h has an effect.  Returns
 * false, and leaves @t, if that may be any event. */
bool push_handler(struct push *p, const struct script_handler *h, struct text *t);

/* push_bound - append what @e (with @is_negated: !@e) implies.  False: nothing is known. */
bool push_bound(struct push *p, const struct script_expr *e, bool is_negated, struct text *t);
/* push_is_harmless - whether @e changes nothing and cannot fail. */
bool push_is_harmless(struct push *p, const struct script_expr *e);

#endif
