/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/status_print.h - a session with its tenants' parts, summed and printed.
 *
 * Parts: cmd/session/tenant_sessions.h.
 */
#ifndef CMD_SESSION_STATUS_PRINT_H
#define CMD_SESSION_STATUS_PRINT_H

#include "cmd/session/session_info.h"
#include "collect/tenant/public.h"

enum { TENANT_SESSIONS_MAX = TENANTS_MAX + 1 };

/* A session, and its tenants' parts. */
struct session_status {
	struct session_info *at[TENANT_SESSIONS_MAX]; /* the first is the main collector's */
	int n;
	struct cmd_strings silent; /* names of parts that do not answer */
};

/*
 * session_status_sum - the sum of one number over all parts.
 *
 * session_status_lost - the lost events of all parts.
 */
uint64_t session_status_sum(const struct session_status *w, const char *key);
uint64_t session_status_lost(const struct session_status *w);
/* session_status_print - print it as text for the user. */
void session_status_print(const struct session_status *w);

#endif
