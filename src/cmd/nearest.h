/* SPDX-License-Identifier: MIT */
/*
 * cmd/nearest.h - propose the name that the user may have meant.
 *
 *	struct nearest n = { "vew" };
 *	nearest_try(&n, "view");
 *	cmd_error(..., "no verb \"vew\"%s", nearest_text(&n, text));	... : did you mean view?
 *
 * The distance is Damerau's (CACM 7(3), 1964): letters that are wrong, missing, too many, or
 * swapped. No name is proposed if more than a third of the letters would have to change.
 */
#ifndef CMD_NEAREST_H
#define CMD_NEAREST_H

struct trace;

enum { NEAREST_MAX = 64 }; /* longer names are not proposed */

struct nearest {
	const char *wanted; /* borrowed */
	char best[NEAREST_MAX];
	unsigned distance; /* of `best`, if there is one */
};

void nearest_try(struct nearest *n, const char *name);
/*
 * nearest_try_events - try the events and channels in @t.  Event names are tried without their
 * channel if @n->wanted has none.
 */
void nearest_try_events(struct nearest *n, const struct trace *t);
/* nearest_try_fields - try the fields and contexts of the events in @t that match @pattern. */
void nearest_try_fields(struct nearest *n, const struct trace *t, const char *pattern);
/* nearest_text - ": did you mean view?", or "".  @buffer holds it. */
const char *nearest_text(const struct nearest *n, char buffer[NEAREST_MAX + 32]);

#endif
