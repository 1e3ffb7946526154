/* SPDX-License-Identifier: MIT */
/* cmd/session/session.c - find the running sessions, and the one that a command is about. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "collect/session/public.h"

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void cmd_list_sessions(int dir, struct cmd_strings *names)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct abi_session f;
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (!strncmp(e->d_name, "session-", 8) &&
		    !session_find(dir, e->d_name + 8, &f, NULL) &&
		    session_is_live(dir, e->d_name + 8))
			cmd_add_string(names, strdup(e->d_name + 8));
	if (list)
		closedir(list);
	if (names->n)
		qsort(names->at, (size_t)names->n, sizeof *names->at, compare);
}

void cmd_list_tenant_sessions(int dir, const char *session, struct cmd_strings *names)
{
	struct cmd_strings all = { 0 };
	size_t n = strlen(session);

	cmd_add_string(names, session);
	cmd_list_sessions(dir, &all);
	for (int i = 0; i < all.n; i++)
		if (!strncmp(all.at[i], session, n) && all.at[i][n] == '@')
			cmd_add_string(names, all.at[i]);
}

int cmd_select_session(const char *verb, int dir, const char *wanted, struct abi_session *session)
{
	int n = 0, fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct abi_session f;
	struct dirent *e;

	while (list && (e = readdir(list))) {
		const char *name = e->d_name + 8;

		if (strncmp(e->d_name, "session-", 8) ||
		    (wanted ? strcmp(name, wanted) : !!strchr(name, '@')) ||
		    session_find(dir, name, &f, NULL) || !session_is_live(dir, name))
			continue;
		*session = f;
		n++;
	}
	if (list)
		closedir(list);
	if (!n && wanted)
		return cmd_error(verb, "-s %s: no such session is recording", wanted);
	if (n > 1)
		return cmd_error(verb, "%d sessions are recording: choose one with -s", n);
	return n == 0;
}
