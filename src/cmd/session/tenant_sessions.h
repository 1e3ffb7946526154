/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/tenant_sessions.h - the parts of a session of many users: root's own, "default", and
 * each tenant's, "default@1000".
 *
 * Each has a collector of its own, which answers for itself (docs/design/tenants.md).  What
 * concerns the whole session is asked of all of them; one that does not answer is named, and keeps
 * the others from nothing.
 */
#ifndef CMD_SESSION_TENANT_SESSIONS_H
#define CMD_SESSION_TENANT_SESSIONS_H

#include <stdint.h>

#include "cmd/client.h"
#include "cmd/cmd.h"

/* tenant_session_label - of a part, "1000"; NULL: @session is a whole one. */
const char *tenant_session_label(const char *session);

/* tenant_sessions_each - do @what with @session, and then, if it is a whole one, with each of its
 * parts; stops for nothing.  Returns the worst status. tenant_sessions_each_other - with its parts
 * alone.  What changes the session is asked of the whole one before: parts are looked for now, and
 * those that begin from now on take over what the whole one knows (collect/tenant/catch_up.h). */
int tenant_sessions_each(int dir, const char *session, int (*what)(void *arg, const char *part),
			 void *arg);
int tenant_sessions_each_other(int dir, const char *session,
			       int (*what)(void *arg, const char *part), void *arg);

/* tenant_session_request - cmd_ask of what is answered at once.  CMD_ENDED, silently: @session is a
 * part, and has ended meanwhile, as they do when their users are gone. */
int tenant_session_request(const char *verb, int dir, const char *session, struct text *request,
			   struct cmd_answer *answer);

/* Where tenants' programs are: their runtime directories, by the epochs of the sessions that serve
 * there. */
struct tenant_dirs {
	struct tenant_dir {
		uint64_t epoch;
		int dir; /* open */
	} * at;
	int n;
};
/* tenant_dirs_find - by a look at all users and containers; root only, else there are none. */
void tenant_dirs_find(struct tenant_dirs *p);
void tenant_dirs_close(struct tenant_dirs *p);
/* tenant_dir_of - the directory in which the session of @epoch serves; -1 if it was not found. */
int tenant_dir_of(const struct tenant_dirs *p, uint64_t epoch);

#endif
