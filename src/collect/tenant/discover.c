/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/discover.c - scan /dev/shm of this machine and of all containers for runtime
 * directories.
 *
 * A mount namespace and a /dev/shm are each visited once a scan, by their inode numbers.  All paths
 * below a process's root are opened one component at a time without following links, because a link
 * inside a container would resolve in ours.
 */
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
	NAMESPACES = 4096, /* mount namespaces distinguished in one scan */
	NAMES = 65536,	   /* entries read from one /dev/shm, which shm_st users may fill */
};

/* ---------------------------------------------------------------- in one /dev/shm */

/* "duet-1000" gives 1000; -1 if the name is not canonical. */
static long number_in(const char *name)
{
	char *end, again[32];
	unsigned long n;

	if (strncmp(name, "duet-", 5) || name[5] < '0' || name[5] > '9')
		return -1;
	n = strtoul(name + 5, &end, 10);
	snprintf(again, sizeof again, "duet-%lu", n);
	return n < UINT32_MAX && !strcmp(name, again) ? (long)n : -1;
}

/* The same test as libduet's (base/runtime.h); also refuses a mount point. */
static bool is_runtime_dir(int dir, const struct stat *shm, struct stat *st)
{
	return !fstat(dir, st) && st->st_dev == shm->st_dev && !(st->st_mode & 022);
}

static int visit_one(const struct tenants_scan *l, int shm, const struct stat *shm_st,
		     const char *name, struct tenant *t)
{
	long number = number_in(name);
	struct stat st;
	int result = 0;

	if (number < 0)
		return 0;
	t->dir = openat(shm, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (t->dir < 0)
		return 0;
	if (is_runtime_dir(t->dir, shm_st, &st) && (*t->container || st.st_uid == (uid_t)number)) {
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

/* Visits all entries of directory @shm and closes it. */
static int visit_all(const struct tenants_scan *l, int shm, struct tenant *t)
{
	DIR *list = fdopendir(shm);
	struct stat shm_st;
	struct dirent *e;
	int result = 0;

	if (!list) {
		close(shm);
		return 0;
	}
	watch(l, shm);
	if (!fstat(shm, &shm_st))
		for (int n = 0; !result && n < NAMES && (e = readdir(list)); n++)
			result = visit_one(l, shm, &shm_st, e->d_name, t);
	closedir(list);
	return result;
}

/* ---------------------------------------------------------------- mount namespaces */

struct visited {
	uint64_t namespaces[NAMESPACES];
	int n;
	struct {
		dev_t dev;
		ino_t ino;
	} shms[NAMESPACES]; /* many namespaces share one */
	int n_shms;
};

static bool is_new_namespace(struct visited *s, uint64_t ns)
{
	for (int i = 0; i < s->n; i++)
		if (s->namespaces[i] == ns)
			return false;
	if (s->n == NAMESPACES)
		return false;
	s->namespaces[s->n++] = ns;
	return true;
}

static bool is_new_shm(struct visited *s, int shm)
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

/* Opens one component and closes @from.  A link in a container would lead into our file system. */
static int open_component(int from, const char *name)
{
	int to = from < 0 ? -1 : openat(from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (from >= 0)
		close(from);
	return to;
}

/*
 * The /dev/shm that process @pid sees, only if it is a tmpfs: a user may mount a file system there
 * that never answers.
 */
static int open_shm(int proc, const char *pid)
{
	struct statfs fs;
	char path[64];
	int at, shm = -1;

	snprintf(path, sizeof path, "%.15s/root", pid);
	at = openat(proc, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	at = open_component(open_component(at, "dev"), "shm");
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

/* The user that made the user namespace of process @pid; root if there is none. */
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

static int visit_container(const struct tenants_scan *l, int proc, const char *pid,
			   struct visited *s)
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

enum { PIDS = 1 << 22, FULL_SCAN_EVERY = 10 };

struct tenants_cache {
	unsigned scans;
	uint8_t earlier[2][PIDS / 8]; /* pids visited in the previous scan and in the one earlier */
	int n;
	struct {
		uint64_t ns;
		pid_t pid; /* a process in it */
	} namespaces[NAMESPACES];
};

struct tenants_cache *tenants_cache_new(void)
{
	return calloc(1, sizeof(struct tenants_cache));
}

static bool is_in(const uint8_t *pids, pid_t pid)
{
	return pids[pid / 8] >> pid % 8 & 1;
}

/*
 * Visits the namespaces of the previous scan if all of them still hold.  False: read all of /proc.
 */
static bool visit_known(const struct tenants_scan *l, int proc, struct visited *s, int *result)
{
	struct tenants_cache *m = l->cache;
	char pid[16];

	if (!m || m->scans++ % FULL_SCAN_EVERY == 0)
		return false;
	for (int i = 0; i < m->n; i++) {
		snprintf(pid, sizeof pid, "%d", (int)m->namespaces[i].pid);
		if (namespace_of(proc, pid) != m->namespaces[i].ns)
			return false;
	}
	for (int i = 0; i < m->n && !*result; i++) {
		snprintf(pid, sizeof pid, "%d", (int)m->namespaces[i].pid);
		if (is_new_namespace(s, m->namespaces[i].ns))
			*result = visit_container(l, proc, pid, s);
	}
	return true;
}

/* Whether the namespace of process @pid need not be read. */
static bool need_not_read(struct tenants_cache *m, uint8_t *now, bool recalled, pid_t pid)
{
	if (!m || pid >= PIDS)
		return false;
	now[pid / 8] |= (uint8_t)(1 << pid % 8);
	return recalled && is_in(m->earlier[0], pid) && is_in(m->earlier[1], pid);
}

static int visit_process(const struct tenants_scan *l, int proc, const char *pid, struct visited *s)
{
	struct tenants_cache *m = l->cache;
	uint64_t ns = namespace_of(proc, pid);

	if (!ns || !is_new_namespace(s, ns))
		return 0;
	if (m && m->n < NAMESPACES) {
		m->namespaces[m->n].ns = ns;
		m->namespaces[m->n++].pid = (pid_t)atoi(pid);
	}
	return visit_container(l, proc, pid, s);
}

static int visit_containers(const struct tenants_scan *l, struct visited *s)
{
	struct tenants_cache *m = l->cache;
	uint8_t *now = m ? calloc(1, sizeof m->earlier[0]) : NULL;
	DIR *proc = m && !now ? NULL : opendir("/proc");
	struct dirent *e;
	int result = 0;
	bool recalled;

	is_new_namespace(s, proc ? namespace_of(dirfd(proc), "self") : 0);
	recalled = proc && visit_known(l, dirfd(proc), s, &result);
	if (m && !recalled)
		m->n = 0;
	while (proc && !result && (e = readdir(proc)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    !need_not_read(m, now, recalled, (pid_t)atoi(e->d_name)))
			result = visit_process(l, dirfd(proc), e->d_name, s);
	if (now) {
		memcpy(m->earlier[1], m->earlier[0], sizeof m->earlier[1]);
		memcpy(m->earlier[0], now, sizeof m->earlier[0]);
	}
	if (proc)
		closedir(proc);
	free(now);
	return result;
}

int tenants_each(const struct tenants_scan *l)
{
	struct tenant t = { .dir = -1 };
	struct visited *s = calloc(1, sizeof *s);
	int result = 0, shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (s && shm >= 0)
		is_new_shm(s, shm); /* a process that sees this one is not in a container */
	if (l->users && shm >= 0)
		result = visit_all(l, shm, &t);
	else if (shm >= 0)
		close(shm);
	if (l->containers && s && !result)
		result = visit_containers(l, s);
	free(s);
	return result;
}

/*
 * ---------------------------------------------------------------- leftovers of killed collectors
 */

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
