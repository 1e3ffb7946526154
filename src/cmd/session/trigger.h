/* SPDX-License-Identifier: MIT */
/* cmd/session/trigger.h - what triggers of a session tell those who listen, of all its parts. */
#ifndef CMD_SESSION_TRIGGER_H
#define CMD_SESSION_TRIGGER_H

#include <stdint.h>

/* trigger_listen - print what triggers with `notify` tell, each a line of JSON, until the session
 * ends, or @count lines were told (0: no limit).  Parts that begin meanwhile are listened to as
 * soon as they can be found.  Returns the exit status. */
int trigger_listen(int dir, const char *session, uint64_t count);

#endif
