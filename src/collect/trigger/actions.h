/* SPDX-License-Identifier: MIT */
/*
 * collect/trigger/actions.h - what a trigger does when it fires, and who watches.
 *
 * A firing's actions are done in their order, each when the one before is done: `snapshot, run
 *page` runs the command when the snapshot is written, and tells it where.  Nothing here waits: what
 *cannot go on is asked again.  Bounds, so that no trigger floods the host:
 *
 *	4 commands at once, as the collector's user, without a shell unless a trigger says so; the
 *next ones wait for their turn 16 firings on their way (collect/trigger/engine.h) 16 who watch; who
 *does not read is told, later, how many he missed
 *
 * One thread.
 */
#ifndef COLLECT_TRIGGER_ACTIONS_H
#define COLLECT_TRIGGER_ACTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRIGGER_COMMANDS = 4, TRIGGER_WATCHERS = 16 };

struct collector;

struct trigger_acts {
	pid_t commands[TRIGGER_COMMANDS]; /* 0: free */
	struct {
		int fd;
		uint64_t missed;
	} watchers[TRIGGER_WATCHERS];
	int n_watchers;
};

/* trigger_actions_step - go on with all firings of @c. */
void trigger_actions_step(struct collector *c);
/* trigger_actions_watch - tell @fd, which is owned from here on, of firings that notify.  False:
 * there are too many, and the caller closes it. */
bool trigger_actions_watch(struct trigger_acts *a, int fd);
/* trigger_actions_poll - once a second: who watches no more is let go. */
void trigger_actions_poll(struct trigger_acts *a);
/* trigger_actions_end - nobody is told any more; commands go on. */
void trigger_actions_end(struct trigger_acts *a);

#endif
