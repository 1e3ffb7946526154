/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/tenant_sessions.h - the collectors of a session of several users.
 *
 * The main collector serves "default"; each tenant collector serves a part, such as "default@1000"
 * (docs/design/tenants.md).  Each answers for its own part.  A request for the session goes to all
 * of them; if one does not answer, its name is printed and the others are still asked.
 */
#ifndef CMD_SESSION_TENANT_SESSIONS_H
#define CMD_SESSION_TENANT_SESSIONS_H

#include <stdint.h>

#include "cmd/client.h"
#include "cmd/cmd.h"

/* tenant_session_label - the "1000" of a tenant's part; NULL if @session is a main session. */
const char *tenant_session_label(const char *session);

/*
 * tenant_sessions_each - call @call for @session, then for its tenants' parts: for all of them at
 * once (cmd_at_once), so @call runs for others while it waits for an answer.
 *
 * tenant_sessions_each_other - only for the parts.
 *
 * A failure stops neither.  Both return the worst status.  The main collector is asked first: a
 * tenant collector that starts later takes over its state (collect/catch_up.h), so none is
 * missed.
 */
int tenant_sessions_each(int dir, const char *session, int (*call)(void *arg, const char *part),
			 void *arg);
int tenant_sessions_each_other(int dir, const char *session,
			       int (*call)(void *arg, const char *part), void *arg);

/*
 * tenant_session_request - cmd_ask for a request that is answered at once.
 *
 * Returns CMD_ENDED, without a message, if @session is a tenant's part and has ended, as it does
 * when its user's programs have.
 */
int tenant_session_request(const char *verb, int dir, const char *session, struct text *request,
			   struct cmd_answer *answer);

/* The runtime directories of tenants' programs, by the epoch of the session that serves there. */
struct tenant_dirs {
	struct tenant_dir {
		uint64_t epoch;
		int dir; /* open */
	} * at;
	int n;
};
/* tenant_dirs_find - search all users and containers.  Only root finds any. */
void tenant_dirs_find(struct tenant_dirs *p);
void tenant_dirs_close(struct tenant_dirs *p);
/* tenant_dir_of - the directory in which the session of @epoch serves; -1 if there is none. */
int tenant_dir_of(const struct tenant_dirs *p, uint64_t epoch);

#endif
