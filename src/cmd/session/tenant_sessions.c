/* SPDX-License-Identifier: MIT */
/* cmd/session/tenant_sessions.c - send one request to each collector of a session; find tenants. */
#include "cmd/session/tenant_sessions.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/session/public.h"
#include "collect/tenant/public.h"

const char *tenant_session_label(const char *session)
{
	const char *at = strchr(session, '@');

	return at ? at + 1 : NULL;
}

int tenant_sessions_each_other(int dir, const char *session,
			       int (*call)(void *arg, const char *part), void *arg)
{
	struct cmd_strings parts = { 0 };

	cmd_list_tenant_sessions(dir, session, &parts);
	return cmd_at_once(parts.at + 1, parts.n - 1, call, arg);
}

int tenant_sessions_each(int dir, const char *session, int (*call)(void *arg, const char *part),
			 void *arg)
{
	int status = call(arg, session),
	    others = tenant_sessions_each_other(dir, session, call, arg);

	return others > status ? others : status;
}

int tenant_session_request(const char *verb, int dir, const char *session, struct text *request,
			   struct cmd_answer *answer)
{
	const struct cmd_asking how = { .passed = -1,
					.timeout_s = CMD_TIMEOUT_S,
					.may_end = tenant_session_label(session) };
	int status = cmd_ask(verb, session, request, &how, answer);

	if (status == CMD_ENDED && session_is_live(dir, session))
		return cmd_error(verb,
				 "session %s: its collector ended before it answered: ask again",
				 session);
	return status;
}

static int add_place(void *arg, const struct tenant *t, const struct stat *st)
{
	struct tenant_dirs *p = arg;
	struct abi_session_slots session_slots;

	(void)st;
	session_slots_read(t->dir, &session_slots);
	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		if (ABI_EPOCH_IS_NONE(session_slots.at[i].epoch))
			continue;
		p->at = cmd_grow(p->at, p->n, sizeof *p->at);
		p->at[p->n++] = (struct tenant_dir){ session_slots.at[i].epoch,
						     fcntl(t->dir, F_DUPFD_CLOEXEC, 0) };
	}
	return 0;
}

void tenant_dirs_find(struct tenant_dirs *p)
{
	const struct tenants_scan all = {
		.users = true, .containers = true, .inotify = -1, .visit = add_place, .arg = p
	};

	*p = (struct tenant_dirs){ 0 };
	if (!geteuid())
		tenants_each(&all);
}

void tenant_dirs_close(struct tenant_dirs *p)
{
	for (int i = 0; i < p->n; i++)
		if (p->at[i].dir >= 0)
			close(p->at[i].dir);
	free(p->at);
	*p = (struct tenant_dirs){ 0 };
}

int tenant_dir_of(const struct tenant_dirs *p, uint64_t epoch)
{
	for (int i = 0; i < p->n; i++)
		if (p->at[i].epoch == epoch)
			return p->at[i].dir;
	return -1;
}
