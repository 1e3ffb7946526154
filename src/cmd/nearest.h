/* SPDX-License-Identifier: MIT */
/*
 * cmd/nearest.h - of a name that does not exist: which one may have been meant.
 *
 *	struct nearest n = { "vew" };
 *	nearest_try(&n, "view");
 *	cmd_error(..., "no verb \"vew\"%s", nearest_text(&n, text));	... : did you mean view?
 *
 * The distance is Damerau's (CACM 7(3), 1964): letters that are wrong, missing, too many, or two
 *that changed places.  Nothing is proposed if more than a third of the letters would have to
 *change.
 */
#ifndef CMD_NEAREST_H
#define CMD_NEAREST_H

struct trace;

enum { NEAREST_MAX = 64 }; /* longer names are never proposed */

struct nearest {
	const char *wanted; /* lent */
	char best[NEAREST_MAX];
	unsigned distance; /* of `best`, if there is one */
};

void nearest_try(struct nearest *n, const char *name);
/* Events recorded in @t; without their channel if @n->wanted has none, and channels. */
void nearest_try_events(struct nearest *n, const struct trace *t);
/* Their fields and contexts; @pattern: those of events like it. */
void nearest_try_fields(struct nearest *n, const struct trace *t, const char *pattern);
/* ": did you mean view?", or "".  @buffer holds it. */
const char *nearest_text(const struct nearest *n, char buffer[NEAREST_MAX + 32]);

#endif
