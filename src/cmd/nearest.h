/* SPDX-License-Identifier: MIT */
/* cmd/nearest.h - propose the event, channel or field of a recording that the user may have meant. */
#ifndef CMD_NEAREST_H
#define CMD_NEAREST_H

#include "rules/nearest.h"

struct trace;

/*
 * nearest_try_events - try the events and channels in @t.  Event names are tried without their
 * channel if @n->wanted has none.
 */
void nearest_try_events(struct nearest *n, const struct trace *t);
/* nearest_try_fields - try the fields and contexts of the events in @t that match @pattern. */
void nearest_try_fields(struct nearest *n, const struct trace *t, const char *pattern);

#endif
