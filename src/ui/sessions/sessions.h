/* SPDX-License-Identifier: MIT */
/*
 * ui/sessions/sessions.h - the sessions of this user, for the timeline's page: listed and changed.
 *
 * Commands of duet do it, run as children: their refusals are the answer, and a session of several users
 * is handled as a whole.  The answers are specified in docs/formats/ui.md.
 */
#ifndef UI_SESSIONS_SESSIONS_H
#define UI_SESSIONS_SESSIONS_H

#include <limits.h>

#include "base/diag.h"
#include "ui/query/query.h"

/* ui_session_find - the directory that session @name records into, absolute.  Returns 0; -ENOENT if no
 * such session records; -ENOTSUP if it is a flight recorder, which has no files; or -errno. */
int ui_session_find(const char *name, char path[PATH_MAX], struct diag *d);

/* ui_sessions_list - answer the sessions that record.  @self: this program's file; @open: the session
 * that is shown, or "". */
void ui_sessions_list(const char *self, const char *open, const struct ui_request *q,
		      struct ui_answer *a);
/* ui_sessions_change - start, stop, ... as the body of @q says, and answer how it went. */
void ui_sessions_change(const char *self, const struct ui_request *q, struct ui_answer *a);

#endif
