/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/rules.h - rules that triggers add to programs: which events a program also writes
 * to the trigger pool (rules/rules.h, "^"), and whether recording is paused.
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_RULES_H
#define COLLECT_TRIGGER_RULES_H

#include <stdbool.h>

#include "collect/trigger/watch.h"

/*
 * trigger_rules_follow - the triggers have changed: update the session's file and running programs.
 *
 * @all: other rules have changed too.  0 or -errno.
 */
int trigger_rules_follow(struct trigger_watch *w, bool all, struct diag *d);

/*
 * trigger_rules_pause - pause recording of all events except those that triggers wait for, or
 * resume it.  Errors are noted in the result.
 */
void trigger_rules_pause(struct trigger_watch *w, bool pause);

#endif
