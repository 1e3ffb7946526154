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
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rules.h"
#include "collect/choice.h"
#include "collect/living.h"
#include "collect/session.h"
#include "ctf/schema.h"

enum { EVENT_NAME_BYTES = 512 };

enum { MAKING_S = 10 }; /* a page that is not complete by then never will be */

static int open_page(int dir, const char *name)
{
	return openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* False if what is open as @fd is no page. */
static bool read_page(int dir, int fd, struct app *a)
{
	struct stat st;

	a->dir = dir;
	a->fd = fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != owner_of(dir) ||
	    pread(fd, &a->page, sizeof a->page, 0) != (ssize_t)sizeof a->page ||
	    a->page.magic != ABI_CONTROL_MAGIC || a->page.version != ABI_CONTROL_VERSION)
		return false;
	a->page.program[sizeof a->page.program - 1] = 0;
	a->page.session[sizeof a->page.session - 1] = 0;
	return true;
}

/* What is called like a page and is none: it may become one now, or its program died over it. */
static void remove_old(int dir, const char *name)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && time(NULL) - st.st_mtime > MAKING_S)
		unlinkat(dir, name, 0);
}

/* Whether a dead program's page tells of losses that a session other than @session has yet to count. */
static bool is_awaited(const struct app *a, const char *session)
{
	return a->page.lost && a->page.session[0] && !strchr(a->page.session, '/') &&
	       (!session || strcmp(a->page.session, session)) && session_is_live(a->dir, a->page.session);
}

/* The program of page @name: visited if it lives, else swept up. */
static int visit_page(int dir, struct living *l, const char *name,
		      int (*visit)(void *arg, struct app *a), void *arg)
{
	struct app a;
	int fd = open_page(dir, name), result = 0;

	if (fd < 0 || !read_page(dir, fd, &a)) {
		if (fd < 0 || !living_is_used(fd))
			remove_old(dir, name);
	} else {
		a.name = name;
		a.living = l;
		if (living_is_used(fd))
			result = visit(arg, &a);
		else if (!is_awaited(&a, NULL))
			unlinkat(dir, name, 0);
	}
	if (fd >= 0)
		close(fd);
	return result;
}

static DIR *list_directory(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

/* The next page in @list; NULL at the end. */
static const char *next_page(DIR *list)
{
	struct page_name n;
	struct dirent *e;

	while (list && (e = readdir(list)))
		if (page_name_parse(e->d_name, &n))
			return e->d_name;
	return NULL;
}

int apps_each(int dir, pid_t pid, int (*visit)(void *arg, struct app *a), void *arg)
{
	char page[ABI_PAGE_NAME_BYTES];
	struct living l;
	int result = 0;
	const char *name;
	DIR *list;

	if (!living_open(&l, dir))
		return 0;
	if (pid) {
		if (living_page_of(&l, pid, page))
			result = visit_page(dir, &l, page, visit, arg);
		living_close(&l);
		return result;
	}
	list = list_directory(dir);
	while (!result && (name = next_page(list)))
		result = visit_page(dir, &l, name, visit, arg);
	if (list)
		closedir(list);
	living_close(&l);
	return result;
}

/* Removes page @name, if nobody uses it.  Returns the events that its program could not deliver to @session. */
static uint64_t bury_page(int dir, const char *name, const char *session)
{
	int fd = open_page(dir, name);
	uint64_t lost = 0;
	struct app a;

	if (fd < 0 || living_is_used(fd)) {
		/* alive, or no page: apps_each sees to that */
	} else if (!read_page(dir, fd, &a)) {
		remove_old(dir, name);
	} else if (!is_awaited(&a, session)) {
		lost = strcmp(a.page.session, session) ? 0 : a.page.lost;
		unlinkat(dir, name, 0);
	}
	if (fd >= 0)
		close(fd);
	return lost;
}

uint64_t apps_bury(int dir, const char *session)
{
	DIR *list = list_directory(dir);
	uint64_t lost = 0;
	const char *name;

	while ((name = next_page(list)))
		lost += bury_page(dir, name, session);
	if (list)
		closedir(list);
	return lost;
}

pid_t app_pid(const struct app *a)
{
	return living_user_of(a->living, a->name, a->page.registered_ns);
}

static off_t event_offset(uint32_t index)
{
	return (off_t)abi_control_event_offset(index);
}

bool app_event(const struct app *a, uint32_t index, struct app_event *e)
{
	struct abi_control_event raw;
	size_t n;

	if (index >= a->page.n_events || index >= ABI_EVENTS ||
	    pread(a->fd, &raw, sizeof raw, event_offset(index)) != (ssize_t)sizeof raw ||
	    raw.schema > ABI_CONTROL_BYTES || raw.schema_size > ABI_CONTROL_BYTES - raw.schema)
		return false;
	n = raw.schema_size < sizeof e->schema ? raw.schema_size : sizeof e->schema - 1;
	e->index = index;
	e->enabled = raw.enabled;
	e->how = raw.how;
	e->schema[n] = 0;
	return pread(a->fd, e->schema, n, (off_t)raw.schema) == (ssize_t)n;
}

/* A schema begins with its level. */
static uint32_t level_of(const struct app_event *e)
{
	return (uint32_t)strtoul(e->schema, NULL, 10);
}

static bool event_matches(const struct app_event *e, const char *pattern, char name[EVENT_NAME_BYTES])
{
	return schema_name(e->schema, strlen(e->schema), name, EVENT_NAME_BYTES) &&
	       rules_pattern_matches(pattern, pattern + strlen(pattern), name);
}

static bool conditions_hold(const char *conditions, const struct app_event *e, const struct who *who)
{
	return who_holds(&conditions, conditions + strlen(conditions), who, level_of(e));
}

static void set_enabled(const struct app *a, uint32_t index, uint32_t epoch)
{
	off_t at = event_offset(index) + (off_t)offsetof(struct abi_control_event, enabled);

	(void)!pwrite(a->fd, &epoch, sizeof epoch, at);
}

struct status { /* of a process or thread */
	int threads, seccomp;
};

static void read_number(const char *line, const char *key, int *value)
{
	size_t n = strlen(key);

	if (!strncmp(line, key, n))
		*value = atoi(line + n);
}

static struct status read_status(const char *path)
{
	struct status s = { 0, 0 };
	FILE *f = fopen(path, "re");
	char line[256];

	while (f && fgets(line, sizeof line, f)) {
		read_number(line, "Threads:", &s.threads);
		read_number(line, "Seccomp:", &s.seccomp);
	}
	if (f)
		fclose(f);
	return s;
}

/* Whether a thread of the process is in SECCOMP_MODE_STRICT and may not even read a clock: an enabled
 * event would kill it. */
static bool has_strict_thread(pid_t pid)
{
	struct status s;
	struct dirent *e;
	char path[320];
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	s = read_status(path);
	if (s.threads <= 1 || s.seccomp == 1)
		return s.seccomp == 1;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && s.seccomp != 1 && (e = readdir(tasks))) {
		snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, e->d_name);
		s = read_status(path);
	}
	if (tasks)
		closedir(tasks);
	return s.seccomp == 1;
}

/* What becomes of the event first, then that it is on. */
static void enable_event(const struct app *a, uint32_t index, uint32_t how, uint32_t epoch)
{
	off_t at = event_offset(index) + (off_t)offsetof(struct abi_control_event, how);

	if (pwrite(a->fd, &how, sizeof how, at) == (ssize_t)sizeof how)
		set_enabled(a, index, epoch);
}

struct switching {
	const char *who, *pattern;
	const struct abi_session *session;
	uint32_t filter;
	uint32_t letters; /* that pattern and rules ask for */
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
	    session_is_live(a->dir, a->page.session))
		return false;
	snprintf(name, sizeof name, "%s", session);
	return pwrite(a->fd, name, sizeof name, offsetof(struct abi_control, session)) ==
	       (ssize_t)sizeof name;
}

static int switch_app(void *arg, struct app *a)
{
	struct switching *s = arg;
	const struct abi_session *f = s->session;
	char name[EVENT_NAME_BYTES];
	struct choice_app program;
	struct app_event e;
	struct rules_verdict verdict;
	uint32_t matched = 0, channel;
	bool ours = false;

	choice_look_at(&program, a, s->letters);
	for (uint32_t i = 0; app_event(a, i, &e); i++) {
		if (!event_matches(&e, s->pattern, name) || !conditions_hold(s->who, &e, &program.who))
			continue;
		if (s->enable && !ours && has_strict_thread(app_pid(a))) {
			s->done.strict++;
			return 0;
		}
		if (s->enable && !ours && !(ours = take_page(a, f->name))) {
			s->done.busy++;
			return 0;
		}
		matched++;
		verdict = rules_judge(f->rules, f->rules_size, name, level_of(&e), &program.who);
		channel = ABI_HOW_CHANNEL(verdict.how);
		if (s->enable)
			enable_event(a, i, ABI_HOW(channel, s->filter), f->epoch);
		else if (e.enabled && (!f->epoch || e.enabled == f->epoch))
			set_enabled(a, i, 0);
	}
	s->done.events += matched;
	s->done.programs += matched > 0;
	return 0;
}

struct apps_switched apps_switch(int dir, pid_t pid, const char *who, const char *pattern, bool enable,
				 const struct abi_session *session, uint32_t filter)
{
	struct switching s = { .who = who,
			       .pattern = pattern,
			       .session = session,
			       .filter = filter,
			       .letters = who_letters(who, (uint32_t)strlen(who)) |
					  who_letters(session->rules, session->rules_size),
			       .enable = enable };

	apps_each(dir, pid, switch_app, &s);
	return s.done;
}

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

struct counting {
	const char *session;
	uint64_t lost;
};

static int count_app(void *arg, struct app *a)
{
	struct counting *c = arg;

	if (!strcmp(a->page.session, c->session))
		c->lost += a->page.lost;
	return 0;
}

uint64_t apps_lost(int dir, const char *session)
{
	struct counting c = { .session = session };

	apps_each(dir, 0, count_app, &c);
	return c.lost;
}

static uint64_t release_app(const struct app *a, uint32_t epoch)
{
	struct app_event e;
	bool ours = false;

	for (uint32_t i = 0; app_event(a, i, &e); i++)
		if (e.enabled == epoch) {
			set_enabled(a, i, 0);
			ours = true;
		}
	return ours ? take_lost(a) : 0;
}

uint64_t apps_release(int dir, const char *session, uint32_t epoch)
{
	DIR *list = list_directory(dir);
	struct app a;
	uint64_t lost = 0;
	const char *name;

	/* Living or dead: that is dearer to find out than to write. */
	while ((name = next_page(list))) {
		int fd = open_page(dir, name);

		if (fd >= 0 && read_page(dir, fd, &a))
			lost += release_app(&a, epoch);
		if (fd >= 0)
			close(fd);
	}
	if (list)
		closedir(list);
	return lost + apps_bury(dir, session);
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

	if (session_is_live(dir, name))
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
	DIR *list = list_directory(dir);
	struct dirent *e;

	/* Whoever holds the lock begins a session, or does this already. */
	while (list && !flock(dirfd(list), LOCK_EX | LOCK_NB) && (e = readdir(list))) {
		const char *dash = strchr(e->d_name, '-');

		if ((!strncmp(e->d_name, "session-", 8) || !strncmp(e->d_name, "sock-", 5)) &&
		    strlen(dash + 1) < ABI_NAME_BYTES)
			sweep_session(dir, dash + 1);
	}
	if (list)
		closedir(list);
	apps_each(dir, 0, keep, NULL);
}
