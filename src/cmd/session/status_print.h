/* SPDX-License-Identifier: MIT */
/* cmd/session/status_print.h - all that duet status tells of a session with its parts (cmd/session/tenant_sessions.h), and how. */
#ifndef CMD_SESSION_STATUS_PRINT_H
#define CMD_SESSION_STATUS_PRINT_H

#include "cmd/session/session_info.h"
#include "collect/tenant/supervisor.h"

enum { PARTS_MAX = TENANTS_MAX + 1 };

/* A session, and its parts if it has some. */
struct whole {
	struct look *at[PARTS_MAX]; /* the first is the session's own */
	int n;
	struct cmd_strings silent; /* parts that do not answer */
};

/* whole_add_up - the sum of a number that all parts tell.  whole_lost - of what they have lost. */
uint64_t whole_add_up(const struct whole *w, const char *key);
uint64_t whole_lost(const struct whole *w);
/* whole_print - for people. */
void whole_print(const struct whole *w);

#endif
