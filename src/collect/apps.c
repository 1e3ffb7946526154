/* SPDX-License-Identifier: MIT */
/* collect/apps.c - see apps.h. */
#include "collect/apps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pattern.h"
#include "collect/session.h"
#include "ctf/schema.h"

/* "app-<pid>" */
static pid_t pid_of(const char *name)
{
	char *end;
	long pid;

	if (strncmp(name, "app-", 4))
		return 0;
	pid = strtol(name + 4, &end, 10);
	return *end || pid <= 0 || pid > INT32_MAX ? 0 : (pid_t)pid;
}

/*
 * The control page that process @pid maps, as "app-N"; false if it maps none.  *unknown is set if the
 * process does not let us look.
 */
static bool page_of(pid_t pid, const char *directory, char page[32], bool *unknown)
{
	char path[64], line[8192];
	size_t n = strlen(directory);
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f) {
		*unknown = errno == EACCES || errno == EPERM;
		return false;
	}
	while (!found && fgets(line, sizeof line, f)) {
		char *name = strchr(line, '/');

		/* A page whose file is gone ends with " (deleted)", which pid_of refuses. */
		line[strcspn(line, "\n")] = 0;
		if (!name || strncmp(name, directory, n) || name[n] != '/' || !pid_of(name + n + 1))
			continue;
		snprintf(page, 32, "%s", name + n + 1);
		found = true;
	}
	fclose(f);
	return found;
}

/* Where the runtime directory really is, as maps show it. */
static bool directory_path(int dir, char *path, size_t size)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	n = readlink(link, path, size - 1);
	if (n <= 0)
		return false;
	path[n] = 0;
	return true;
}

/* Any process that maps the page @name; -1 if that cannot be told; 0 if none does. */
static pid_t find_user(const char *directory, const char *name)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	pid_t found = proc ? 0 : -1;
	char page[32];

	while (proc && !found && (e = readdir(proc))) {
		pid_t pid = (pid_t)atoi(e->d_name);
		bool unknown = false;

		if (pid > 0 && page_of(pid, directory, page, &unknown) && !strcmp(page, name))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

/* The process that stands for page @name; 0 if it is dead. */
static pid_t living(const char *directory, const char *name)
{
	pid_t pid = pid_of(name);
	bool unknown = false;
	char page[32];

	if (page_of(pid, directory, page, &unknown) && !strcmp(page, name))
		return pid;
	return unknown ? pid : find_user(directory, name);
}

static bool open_app(int dir, const char *name, struct app *a)
{
	struct stat st;

	a->fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (a->fd < 0)
		return false;
	if (!fstat(a->fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    pread(a->fd, &a->page, sizeof a->page, 0) == (ssize_t)sizeof a->page &&
	    a->page.magic == ABI_CONTROL_MAGIC && a->page.version == ABI_CONTROL_VERSION) {
		a->page.program[sizeof a->page.program - 1] = 0;
		a->page.session[sizeof a->page.session - 1] = 0;
		return true;
	}
	close(a->fd);
	return false;
}

/* Whether a dead program's page tells of losses that a session other than @session has yet to count. */
static bool is_awaited(const struct app *a, const char *session)
{
	return a->page.lost && a->page.session[0] && !strchr(a->page.session, '/') &&
	       (!session || strcmp(a->page.session, session)) && session_is_live(a->page.session);
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* The program of page @name: visited if it lives, else swept up. */
static int visit_page(int dir, const char *directory, const char *name,
		      int (*visit)(void *arg, struct app *a), void *arg)
{
	struct app a = { .fd = -1 };
	int result = 0;

	if (!open_app(dir, name, &a)) {
		if (is_gone(pid_of(name)))
			unlinkat(dir, name, 0); /* it died over it, or it never was a page */
		return 0;
	}
	a.pid = living(directory, name);
	if (a.pid)
		result = visit(arg, &a);
	else if (!is_awaited(&a, NULL))
		unlinkat(dir, name, 0);
	close(a.fd);
	return result;
}

int apps_each(int dir, pid_t pid, int (*visit)(void *arg, struct app *a), void *arg)
{
	char directory[512], page[32];
	bool unknown = false;
	int fd, result = 0;
	struct dirent *e;
	DIR *list;

	if (!directory_path(dir, directory, sizeof directory))
		return 0;
	if (pid)
		return page_of(pid, directory, page, &unknown)
			       ? visit_page(dir, directory, page, visit, arg)
			       : 0;
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list && fd >= 0)
		close(fd);
	while (list && !result && (e = readdir(list)))
		if (pid_of(e->d_name))
			result = visit_page(dir, directory, e->d_name, visit, arg);
	if (list)
		closedir(list);
	return result;
}

enum { DEAD_MAX = 1024 }; /* in one go; the rest at the next */

struct dead {
	char name[32];
	bool is_used;
};

static int find_dead(int dir, struct dead *dead)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!list && fd >= 0)
		close(fd);
	while (list && n < DEAD_MAX && (e = readdir(list))) {
		pid_t pid = pid_of(e->d_name);

		if (pid && is_gone(pid)) {
			dead[n].is_used = false;
			snprintf(dead[n++].name, sizeof dead->name, "app-%d", (int)pid);
		}
	}
	if (list)
		closedir(list);
	return n;
}

/* One look at every process marks the pages that children still use. */
static bool mark_used(const char *directory, struct dead *dead, int n)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	char page[32];

	while (proc && (e = readdir(proc))) {
		pid_t pid = (pid_t)atoi(e->d_name);
		bool unknown = false;

		if (pid <= 0 || !page_of(pid, directory, page, &unknown))
			continue;
		for (int i = 0; i < n; i++)
			dead[i].is_used |= !strcmp(dead[i].name, page);
	}
	if (proc)
		closedir(proc);
	return proc;
}

uint64_t apps_bury(int dir, const char *session)
{
	struct dead dead[DEAD_MAX];
	char directory[512];
	uint64_t lost = 0;
	int n = find_dead(dir, dead);

	if (!n || !directory_path(dir, directory, sizeof directory) ||
	    !mark_used(directory, dead, n))
		return 0;
	for (int i = 0; i < n; i++) {
		struct app a = { .fd = -1 };

		if (dead[i].is_used)
			continue;
		if (open_app(dir, dead[i].name, &a)) {
			bool awaited = is_awaited(&a, session);

			if (!strcmp(a.page.session, session))
				lost += a.page.lost;
			close(a.fd);
			if (awaited)
				continue;
		}
		unlinkat(dir, dead[i].name, 0);
	}
	return lost;
}

static off_t event_offset(uint32_t index)
{
	return (off_t)(ABI_CONTROL_EVENTS_OFFSET + index * sizeof(struct abi_control_event));
}

bool app_event(const struct app *a, uint32_t index, struct app_event *e)
{
	struct abi_control_event raw;
	size_t n;

	if (index >= a->page.n_events || index >= ABI_EVENTS ||
	    pread(a->fd, &raw, sizeof raw, event_offset(index)) != (ssize_t)sizeof raw ||
	    raw.schema > ABI_CONTROL_TEXT_BYTES ||
	    raw.schema_size > ABI_CONTROL_TEXT_BYTES - raw.schema)
		return false;
	n = raw.schema_size < sizeof e->schema ? raw.schema_size : sizeof e->schema - 1;
	e->index = index;
	e->enabled = raw.enabled;
	e->schema[n] = 0;
	return pread(a->fd, e->schema, n, (off_t)(ABI_CONTROL_TEXT_OFFSET + raw.schema)) ==
	       (ssize_t)n;
}

static bool event_matches(const struct app_event *e, const char *pattern)
{
	char name[512], *colon;

	if (!schema_name(e->schema, strlen(e->schema), name, sizeof name))
		return false;
	colon = strchr(name, ':');
	if (!colon)
		return false;
	*colon = 0;
	return pattern_matches_event(pattern, pattern + strlen(pattern), name, colon + 1);
}

static void set_enabled(const struct app *a, uint32_t index, uint32_t epoch)
{
	off_t at = event_offset(index) + (off_t)offsetof(struct abi_control_event, enabled);

	(void)!pwrite(a->fd, &epoch, sizeof epoch, at);
}

struct switching {
	const char *pattern, *session;
	uint32_t epoch;
	bool enable;
	struct apps_switched done;
};

/* A page follows one session at a time; one whose collector is gone may be taken over. */
static bool take_page(struct app *a, const char *session)
{
	char name[ABI_NAME_BYTES] = { 0 };

	if (!strcmp(a->page.session, session))
		return true;
	if (a->page.session[0] && !strchr(a->page.session, '/') &&
	    session_is_live(a->page.session))
		return false;
	snprintf(name, sizeof name, "%s", session);
	return pwrite(a->fd, name, sizeof name, offsetof(struct abi_control, session)) ==
	       (ssize_t)sizeof name;
}

static int switch_app(void *arg, struct app *a)
{
	struct switching *s = arg;
	struct app_event e;
	uint32_t matched = 0;
	bool ours = false;

	for (uint32_t i = 0; app_event(a, i, &e); i++) {
		if (!event_matches(&e, s->pattern))
			continue;
		if (s->enable && !ours && !(ours = take_page(a, s->session))) {
			s->done.busy++;
			return 0;
		}
		matched++;
		if (s->enable)
			set_enabled(a, i, s->epoch);
		else if (e.enabled && (!s->epoch || e.enabled == s->epoch))
			set_enabled(a, i, 0);
	}
	s->done.events += matched;
	s->done.programs += matched > 0;
	return 0;
}

struct apps_switched apps_switch(int dir, pid_t pid, const char *pattern, bool enable,
				 const char *session, uint32_t epoch)
{
	struct switching s = { .pattern = pattern,
			       .session = session,
			       .epoch = epoch,
			       .enable = enable };

	apps_each(dir, pid, switch_app, &s);
	return s.done;
}

struct releasing {
	uint32_t epoch;
	uint64_t lost;
};

/* What the page counts as lost, told once: the next session begins at 0. */
static uint64_t take_lost(const struct app *a)
{
	const off_t at = (off_t)offsetof(struct abi_control, lost);
	uint64_t lost, none = 0;

	if (pread(a->fd, &lost, sizeof lost, at) != (ssize_t)sizeof lost ||
	    pwrite(a->fd, &none, sizeof none, at) != (ssize_t)sizeof none)
		return 0;
	return lost;
}

static int release_app(void *arg, struct app *a)
{
	struct releasing *r = arg;
	struct app_event e;
	bool ours = false;

	for (uint32_t i = 0; app_event(a, i, &e); i++)
		if (e.enabled == r->epoch) {
			set_enabled(a, i, 0);
			ours = true;
		}
	if (ours)
		r->lost += take_lost(a);
	return 0;
}

uint64_t apps_release(int dir, const char *session, uint32_t epoch)
{
	struct releasing r = { .epoch = epoch };

	apps_each(dir, 0, release_app, &r);
	return r.lost + apps_bury(dir, session);
}

static int keep(void *arg, struct app *a)
{
	(void)arg;
	(void)a;
	return 0;
}

/* Sessions whose collector was killed, perhaps while it ended: their names, and the events they left
 * enabled. */
static void sweep_session(int dir, const char *name)
{
	struct abi_session f;
	char file[ABI_NAME_BYTES + 16];

	if (session_is_live(name))
		return;
	if (!session_find(dir, name, &f, NULL))
		apps_release(dir, f.name, f.epoch);
	snprintf(file, sizeof file, "session-%s", name);
	unlinkat(dir, file, 0);
	snprintf(file, sizeof file, "sock-%s", name);
	unlinkat(dir, file, 0);
}

void apps_sweep(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!list && fd >= 0)
		close(fd);
	/* Whoever holds the lock begins a session, or does this already. */
	while (list && !flock(fd, LOCK_EX | LOCK_NB) && (e = readdir(list))) {
		const char *dash = strchr(e->d_name, '-');

		if ((!strncmp(e->d_name, "session-", 8) || !strncmp(e->d_name, "sock-", 5)) &&
		    strlen(dash + 1) < ABI_NAME_BYTES)
			sweep_session(dir, dash + 1);
	}
	if (list)
		closedir(list);
	apps_each(dir, 0, keep, NULL);
}
