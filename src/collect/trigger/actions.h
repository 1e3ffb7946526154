/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/actions.h - run the actions of triggers that fired, and notify watchers.
 *
 * The actions of one firing run in order, each after the one before is finished: `snapshot, run
 * page` starts the command when the snapshot is written and passes its path.  Nothing here waits:
 * an action that cannot go on is tried again.  Limits that keep triggers from flooding the host:
 *
 *   4    commands at once, as the collector's user, without a shell unless the trigger asks for one;
 *        further commands wait
 *   16   firings in progress (collect/trigger/engine.h)
 *   16   watchers; a watcher that does not read gets a count of the messages it missed
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_ACTIONS_H
#define COLLECT_TRIGGER_ACTIONS_H

#include <stdbool.h>

#include "collect/trigger/watch.h"

/* trigger_actions_step - continue all firings of @w. */
void trigger_actions_step(struct trigger_watch *w);
/*
 * trigger_actions_watch - send a message to @fd for each firing with the action notify.
 *
 * Takes @fd.  False: too many watchers; the caller keeps @fd.
 */
bool trigger_actions_watch(struct trigger_runner *a, int fd);
/* trigger_actions_poll - call it once a second: removes watchers that closed their end. */
void trigger_actions_poll(struct trigger_runner *a);
/* trigger_actions_end - disconnect all watchers; running commands continue. */
void trigger_actions_end(struct trigger_runner *a);

#endif
