/* SPDX-License-Identifier: MIT */
/* cmd/session/status_print.h - all that duet status tells of a session with its parts
 * (cmd/session/tenant_sessions.h), and how. */
#ifndef CMD_SESSION_STATUS_PRINT_H
#define CMD_SESSION_STATUS_PRINT_H

#include "cmd/session/session_info.h"
#include "collect/tenant/public.h"

enum { TENANT_SESSIONS_MAX = TENANTS_MAX + 1 };

/* A session, and its parts if it has some. */
struct session_status {
	struct session_info *at[TENANT_SESSIONS_MAX]; /* the first is the session's own */
	int n;
	struct cmd_strings silent; /* parts that do not answer */
};

/* session_status_sum - the sum of a number that all parts tell.  session_status_lost - of what they
 * have lost. */
uint64_t session_status_sum(const struct session_status *w, const char *key);
uint64_t session_status_lost(const struct session_status *w);
/* session_status_print - for people. */
void session_status_print(const struct session_status *w);

#endif
