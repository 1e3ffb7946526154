/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/rules.h - what programs are told for the sake of triggers: which events they
 * write once more for them (rules/rules.h, "^"), and that recording pauses.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_RULES_H
#define COLLECT_TRIGGER_RULES_H

#include <stdbool.h>

#include "collect/collector.h"

/* trigger_rules_follow - the triggers have changed, or, with @all, other rules as well: tell
 * programs that start, and those that run.  0 or -errno. */
int trigger_rules_follow(struct collector *c, bool all, struct diag *d);

/* trigger_rules_pause - record nothing but what triggers wait for; or go on.  What goes wrong is
 * noted. */
void trigger_rules_pause(struct collector *c, bool pause);

#endif
