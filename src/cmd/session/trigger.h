/* SPDX-License-Identifier: MIT */
/* cmd/session/trigger.h - print the notifications of a session's triggers. */
#ifndef CMD_SESSION_TRIGGER_H
#define CMD_SESSION_TRIGGER_H

#include <stdint.h>

/*
 * trigger_listen - print each notification of a trigger with `notify`, as a line of JSON.
 *
 * Returns when the session ends, or after @count lines (0: no limit).  Includes tenant collectors
 * that start meanwhile, from the moment they are found.  Returns the exit status.
 */
int trigger_listen(int dir, const char *session, uint64_t count);

#endif
