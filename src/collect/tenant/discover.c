/* SPDX-License-Identifier: MIT */
/* collect/tenant/discover.c - see discover.h. */
#include "collect/tenant/discover.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collect/session/programs.h"
#include "collect/session/session.h"

enum {
	NAMESPACES = 4096, /* that are told apart in one look */
	NAMES = 65536,	   /* that are looked at in one /dev/shm: its users may fill it */
};

/* ---------------------------------------------------------------- in a /dev/shm */

/* "duet-1000": 1000.  -1 if it is none, or written otherwise. */
static long number_of(const char *name)
{
	char *end, again[32];
	unsigned long n;

	if (strncmp(name, "duet-", 5) || name[5] < '0' || name[5] > '9')
		return -1;
	n = strtoul(name + 5, &end, 10);
	snprintf(again, sizeof again, "duet-%lu", n);
	return n < UINT32_MAX && !strcmp(name, again) ? (long)n : -1;
}

/* What libduet asks of it too (base/runtime.h), and that nothing is mounted there. */
static bool is_fit(int dir, const struct stat *shm, struct stat *st)
{
	return !fstat(dir, st) && st->st_dev == shm->st_dev && !(st->st_mode & 022);
}

static int visit_one(const struct tenants_scan *l, int shm, const struct stat *its,
		     const char *name, struct tenant *t)
{
	long number = number_of(name);
	struct stat st;
	int result = 0;

	if (number < 0)
		return 0;
	t->dir = openat(shm, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (t->dir < 0)
		return 0;
	if (is_fit(t->dir, its, &st) && (*t->container || st.st_uid == (uid_t)number)) {
		t->number = (unsigned)number;
		t->uid = st.st_uid;
		t->gid = st.st_gid;
		result = l->visit(l->arg, t, &st);
	}
	close(t->dir);
	return result;
}

static void watch(const struct tenants_scan *l, int dir)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	if (l->inotify >= 0)
		inotify_add_watch(l->inotify, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
}

/* All in the directory @shm, which is taken. */
static int visit_all(const struct tenants_scan *l, int shm, struct tenant *t)
{
	DIR *list = fdopendir(shm);
	struct stat its;
	struct dirent *e;
	int result = 0;

	if (!list) {
		close(shm);
		return 0;
	}
	watch(l, shm);
	if (!fstat(shm, &its))
		for (int n = 0; !result && n < NAMES && (e = readdir(list)); n++)
			result = visit_one(l, shm, &its, e->d_name, t);
	closedir(list);
	return result;
}

/* ---------------------------------------------------------------- mount namespaces */

struct seen {
	uint64_t namespaces[NAMESPACES];
	int n;
	struct {
		dev_t dev;
		ino_t ino;
	} shms[NAMESPACES]; /* many namespaces share one */
	int n_shms;
};

static bool is_new_namespace(struct seen *s, uint64_t ns)
{
	for (int i = 0; i < s->n; i++)
		if (s->namespaces[i] == ns)
			return false;
	if (s->n == NAMESPACES)
		return false;
	s->namespaces[s->n++] = ns;
	return true;
}

static bool is_new_shm(struct seen *s, int shm)
{
	struct stat st;

	if (fstat(shm, &st))
		return false;
	for (int i = 0; i < s->n_shms; i++)
		if (s->shms[i].dev == st.st_dev && s->shms[i].ino == st.st_ino)
			return false;
	if (s->n_shms == NAMESPACES)
		return false;
	s->shms[s->n_shms].dev = st.st_dev;
	s->shms[s->n_shms++].ino = st.st_ino;
	return true;
}

/* Step by step: a link in a container leads into ours. */
static int step(int from, const char *name)
{
	int to = from < 0 ? -1 : openat(from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (from >= 0)
		close(from);
	return to;
}

/* The /dev/shm that process @pid sees, if it is memory: what else is mounted there may be anybody's
 * to answer. */
static int open_shm(int proc, const char *pid)
{
	struct statfs fs;
	char path[64];
	int at, shm = -1;

	snprintf(path, sizeof path, "%.15s/root", pid);
	at = openat(proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	at = step(step(at, "dev"), "shm");
	if (at >= 0 && !fstatfs(at, &fs) && fs.f_type == TMPFS_MAGIC)
		shm = openat(at, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at >= 0)
		close(at);
	return shm;
}

static uint64_t namespace_of(int proc, const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "%.15s/ns/mnt", pid);
	return fstatat(proc, path, &st, 0) ? 0 : st.st_ino;
}

/* Who made the user namespace of process @pid; root, if nobody did. */
static uid_t maker_of(int proc, const char *pid)
{
	char path[64];
	uid_t uid = 0;
	int fd;

	snprintf(path, sizeof path, "%.15s/ns/user", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, NS_GET_OWNER_UID, &uid))
		uid = 0;
	if (fd >= 0)
		close(fd);
	return uid;
}

static int visit_container(const struct tenants_scan *l, int proc, const char *pid, struct seen *s)
{
	struct tenant t = { .dir = -1 };
	int shm = open_shm(proc, pid);

	if (shm < 0)
		return 0;
	if (is_new_shm(s, shm) && container_of(atoi(pid), t.container)) {
		t.maker = maker_of(proc, pid);
		return visit_all(l, shm, &t);
	}
	close(shm);
	return 0;
}

enum { PIDS = 1 << 22, FULL_LOOKS = 10 };

struct tenants_memory {
	unsigned scans;
	uint8_t before[2][PIDS / 8]; /* who was there in the last look, and in the one before */
	int n;
	struct {
		uint64_t ns;
		pid_t pid; /* one that is in it */
	} spaces[NAMESPACES];
};

struct tenants_memory *tenants_remember(void)
{
	return calloc(1, sizeof(struct tenants_memory));
}

static bool is_in(const uint8_t *pids, pid_t pid)
{
	return pids[pid / 8] >> pid % 8 & 1;
}

/* What was found before, as long as it is as it was.  False: look at all. */
static bool recall(const struct tenants_scan *l, int proc, struct seen *s, int *result)
{
	struct tenants_memory *m = l->memory;
	char pid[16];

	if (!m || m->scans++ % FULL_LOOKS == 0)
		return false;
	for (int i = 0; i < m->n; i++) {
		snprintf(pid, sizeof pid, "%d", (int)m->spaces[i].pid);
		if (namespace_of(proc, pid) != m->spaces[i].ns)
			return false;
	}
	for (int i = 0; i < m->n && !*result; i++) {
		snprintf(pid, sizeof pid, "%d", (int)m->spaces[i].pid);
		if (is_new_namespace(s, m->spaces[i].ns))
			*result = visit_container(l, proc, pid, s);
	}
	return true;
}

/* Whether process @pid need not be asked. */
static bool is_known(struct tenants_memory *m, uint8_t *now, bool recalled, pid_t pid)
{
	if (!m || pid >= PIDS)
		return false;
	now[pid / 8] |= (uint8_t)(1 << pid % 8);
	return recalled && is_in(m->before[0], pid) && is_in(m->before[1], pid);
}

static int visit_process(const struct tenants_scan *l, int proc, const char *pid, struct seen *s)
{
	struct tenants_memory *m = l->memory;
	uint64_t ns = namespace_of(proc, pid);

	if (!ns || !is_new_namespace(s, ns))
		return 0;
	if (m && m->n < NAMESPACES) {
		m->spaces[m->n].ns = ns;
		m->spaces[m->n++].pid = (pid_t)atoi(pid);
	}
	return visit_container(l, proc, pid, s);
}

static int visit_containers(const struct tenants_scan *l, struct seen *s)
{
	struct tenants_memory *m = l->memory;
	uint8_t *now = m ? calloc(1, sizeof m->before[0]) : NULL;
	DIR *proc = m && !now ? NULL : opendir("/proc");
	struct dirent *e;
	int result = 0;
	bool recalled;

	is_new_namespace(s, proc ? namespace_of(dirfd(proc), "self") : 0);
	recalled = proc && recall(l, dirfd(proc), s, &result);
	if (m && !recalled)
		m->n = 0;
	while (proc && !result && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    !is_known(m, now, recalled, (pid_t)atoi(e->d_name)))
			result = visit_process(l, dirfd(proc), e->d_name, s);
	if (now) {
		memcpy(m->before[1], m->before[0], sizeof m->before[1]);
		memcpy(m->before[0], now, sizeof m->before[0]);
	}
	if (proc)
		closedir(proc);
	free(now);
	return result;
}

int tenants_each(const struct tenants_scan *l)
{
	struct tenant t = { .dir = -1 };
	struct seen *s = calloc(1, sizeof *s);
	int result = 0, shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (s && shm >= 0)
		is_new_shm(s, shm); /* whoever sees this one is no container */
	if (l->users && shm >= 0)
		result = visit_all(l, shm, &t);
	else if (shm >= 0)
		close(shm);
	if (l->containers && s && !result)
		result = visit_containers(l, s);
	free(s);
	return result;
}

/* ---------------------------------------------------------------- what the dead left */

static bool any_dead(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	bool found = false;

	while (list && !found && (e = readdir(list)))
		found = !strncmp(e->d_name, "sock-", 5) && strchr(e->d_name, '@') &&
			!session_is_live(dir, e->d_name + 5);
	if (list)
		closedir(list);
	return found;
}

static int sweep(void *arg, const struct tenant *t, const struct stat *st)
{
	(void)arg;
	(void)st;
	programs_sweep(t->dir);
	return 0;
}

void tenants_sweep(int dir)
{
	const struct tenants_scan all = {
		.users = true, .containers = true, .inotify = -1, .visit = sweep
	};

	if (!geteuid() && any_dead(dir))
		tenants_each(&all);
	programs_sweep(dir);
}
