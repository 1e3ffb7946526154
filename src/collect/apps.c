/* SPDX-License-Identifier: MIT */
/* collect/apps.c - see apps.h. */
#include "collect/apps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pattern.h"
#include "collect/session.h"
#include "ctf/schema.h"

/* Whether process @pid maps the file @name of the runtime directory (and not a deleted one). */
static bool process_maps(pid_t pid, const char *name)
{
	char path[64], line[8192];
	bool found = false;
	size_t n = strlen(name);
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno == EACCES || errno == EPERM; /* cannot tell: let it live */
	while (!found && fgets(line, sizeof line, f)) {
		size_t end = strcspn(line, "\n");

		found = end > n && line[end - n - 1] == '/' && !memcmp(line + end - n, name, n);
	}
	fclose(f);
	return found;
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

int apps_each(int dir, pid_t pid, int (*visit)(void *arg, struct app *a), void *arg,
	      uint64_t *dead_lost)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!list && fd >= 0)
		close(fd);
	while (list && !result && (e = readdir(list))) {
		struct app a = { .pid = pid_of(e->d_name) };

		if (!a.pid || (pid && a.pid != pid) || !open_app(dir, e->d_name, &a))
			continue;
		if (process_maps(a.pid, e->d_name)) {
			result = visit(arg, &a);
		} else {
			if (dead_lost)
				*dead_lost += a.page.lost;
			unlinkat(dir, e->d_name, 0);
		}
		close(a.fd);
	}
	if (list)
		closedir(list);
	return result;
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

	apps_each(dir, pid, switch_app, &s, NULL);
	return s.done;
}

struct releasing {
	uint32_t epoch;
	uint64_t lost;
};

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
		r->lost += a->page.lost;
	return 0;
}

uint64_t apps_release(int dir, uint32_t epoch)
{
	struct releasing r = { .epoch = epoch };

	apps_each(dir, 0, release_app, &r, &r.lost);
	return r.lost;
}

static int keep(void *arg, struct app *a)
{
	(void)arg;
	(void)a;
	return 0;
}

/* Sessions whose collector was killed: their names, and the events they left enabled. */
static void sweep_session(int dir, const char *name)
{
	struct abi_session f;
	char file[ABI_NAME_BYTES + 16];

	if (session_find(dir, name, &f, NULL) || session_is_live(name))
		return;
	apps_release(dir, f.epoch);
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
	while (list && (e = readdir(list)))
		if (!strncmp(e->d_name, "session-", 8) && strlen(e->d_name + 8) < ABI_NAME_BYTES)
			sweep_session(dir, e->d_name + 8);
	if (list)
		closedir(list);
	apps_each(dir, 0, keep, NULL, NULL);
}
