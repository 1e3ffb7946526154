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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collect/session/programs.h"
#include "collect/session/session.h"
#include "collect/tenant/payer.h"

enum {
	NAMESPACES_OF_PAYER = 256, /* mount namespaces of one user that a scan looks into */
	NAMES = 65536,		   /* entries read from one /dev/shm in a scan */
	PLACES = 64,		   /* of /dev/shm that are read in parts */
	PAYERS = 1024,
};

/* Where the next scan goes on in a /dev/shm with too many names. */
struct place {
	dev_t dev;
	ino_t ino;
	long at; /* telldir(3); 0: a free entry */
};

enum { PIDS = 1 << 22, FULL_SCAN_EVERY = 10 };

struct tenants_cache {
	struct place places[PLACES];
	unsigned scans;
	uint8_t earlier[2][PIDS / 8]; /* pids visited in the previous scan and in the one earlier */
	size_t n, room;
	struct known_namespace {
		uint64_t ns;
		pid_t pid; /* a process in it */
	} * namespaces;
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

/* The place to go on at in @shm; @make: a free one if there is none.  NULL: from the beginning. */
static struct place *place_in(const struct tenants_scan *l, const struct stat *shm, bool make)
{
	struct place *free_one = NULL;

	for (int i = 0; l->cache && i < PLACES; i++) {
		struct place *p = &l->cache->places[i];

		if (p->at && p->dev == shm->st_dev && p->ino == shm->st_ino)
			return p;
		free_one = p->at ? free_one : p;
	}
	return make ? free_one : NULL;
}

/* Visits the entries of @list, up to a limit; with @names only puts their numbers there, as (1, N). */
static int visit_list(const struct tenants_scan *l, DIR *list, const struct stat *shm,
		      struct tenant *t, struct pairs *names)
{
	struct place *p = place_in(l, shm, false);
	bool is_whole = !p;
	struct dirent *e = NULL;
	int result = 0, n;

	if (p) {
		seekdir(list, p->at);
		p->at = 0;
	}
	for (n = 0; !result && n < NAMES && (e = readdir(list)); n++) {
		if (!names)
			result = visit_one(l, dirfd(list), shm, e->d_name, t);
		else if (number_in(e->d_name) >= 0)
			pairs_add(names, 1, (uint64_t)number_in(e->d_name));
	}
	if (e && n == NAMES) {
		is_whole = false;
		p = place_in(l, shm, true);
		if (p)
			*p = (struct place){ shm->st_dev, shm->st_ino, telldir(list) };
	}
	if (!is_whole && l->incomplete)
		l->incomplete(l->arg, t->container, 0);
	return result;
}

/* visit_list of directory @shm, which is closed. */
static int visit_all(const struct tenants_scan *l, int shm, struct tenant *t, struct pairs *names)
{
	DIR *list = fdopendir(shm);
	struct stat st;
	int result = 0;

	if (!list) {
		close(shm);
		return 0;
	}
	watch(l, shm);
	if (!fstat(shm, &st))
		result = visit_list(l, list, &st, t, names);
	closedir(list);
	return result;
}

/* Visits the directory of each user that runs a program; @uids receives (1, uid) of all of them. */
static int visit_programs(const struct tenants_scan *l, int shm, struct pairs *uids)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	struct stat st, shm_st;
	char name[32];
	int result = 0;

	while (proc && !fstat(shm, &shm_st) && !result && (e = readdir(proc))) {
		struct tenant t = { .dir = -1 };

		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    fstatat(dirfd(proc), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !pairs_add(uids, 1, st.st_uid))
			continue;
		snprintf(name, sizeof name, "duet-%u", (unsigned)st.st_uid);
		if (fstatat(shm, name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		t.payer = payer_of(dirfd(proc), e->d_name);
		result = visit_one(l, shm, &shm_st, name, &t);
	}
	if (proc)
		closedir(proc);
	return result;
}

/* Visits the directories of @names whose uid is not in @uids. */
static int visit_others(const struct tenants_scan *l, int shm, const struct pairs *names,
			const struct pairs *uids)
{
	struct tenant t = { .dir = -1, .payer = TENANT_PAYER_UNKNOWN };
	struct stat st;
	char name[32];
	int result = 0;

	if (fstat(shm, &st))
		return 0;
	for (size_t i = 0; i < names->room && !result; i++) {
		if (!names->at[i].a || pairs_have(uids, 1, names->at[i].b))
			continue;
		snprintf(name, sizeof name, "duet-%u", (unsigned)names->at[i].b);
		result = visit_one(l, shm, &st, name, &t);
	}
	return result;
}

/*
 * The directories of users with running programs, and no user can make many of them.  Each is at the
 * expense of the program's user.  Those of no running program are visited too, for programs that
 * changed their uid; all of them together have one payer.  The names are read first: a program that
 * made one of them runs when /proc is read.
 */
static int visit_users(const struct tenants_scan *l, int shm)
{
	struct pairs names = { .n = 0 }, uids = { .n = 0 };
	struct tenant t = { .dir = -1 };
	int result, list = openat(shm, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (list >= 0)
		visit_all(l, list, &t, &names);
	result = visit_programs(l, shm, &uids);
	if (!result)
		result = visit_others(l, shm, &names, &uids);
	pairs_free(&names);
	pairs_free(&uids);
	close(shm);
	return result;
}

/* ---------------------------------------------------------------- mount namespaces */

struct visited {
	struct pairs namespaces; /* (1, its inode) */
	struct pairs shms;	 /* (device + 1, inode): many namespaces share one */
	struct charge {
		uid_t payer;
		unsigned n; /* of its mount namespaces; above the limit they are not visited */
	} charges[PAYERS];
	int n_charges;
};

static void forget_visited(struct visited *s)
{
	pairs_free(&s->namespaces);
	pairs_free(&s->shms);
	free(s);
}

static bool is_new_shm(struct visited *s, int shm)
{
	struct stat st;

	return !fstat(shm, &st) && pairs_add(&s->shms, st.st_dev + 1, st.st_ino);
}

/* Charges one more namespace to @payer.  False if that is beyond its limit.  Users beyond the end of
 * the table share its last entry. */
static bool charge(struct visited *s, uid_t payer)
{
	int i = 0;

	if (!payer)
		return true;
	while (i < s->n_charges && s->charges[i].payer != payer && i < PAYERS - 1)
		i++;
	if (i == s->n_charges)
		s->charges[s->n_charges++] = (struct charge){ .payer = payer };
	return ++s->charges[i].n <= NAMESPACES_OF_PAYER;
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

static int visit_container(const struct tenants_scan *l, int proc, const char *pid,
			   struct visited *s)
{
	struct tenant t = { .dir = -1, .payer = payer_of(proc, pid) };
	int shm;

	if (!charge(s, t.payer)) {
		if (l->incomplete)
			l->incomplete(l->arg, NULL, t.payer);
		return 0;
	}
	shm = open_shm(proc, pid);
	if (shm < 0)
		return 0;
	if (is_new_shm(s, shm) && container_of(atoi(pid), t.container))
		return visit_all(l, shm, &t, NULL);
	close(shm);
	return 0;
}

struct tenants_cache *tenants_cache_new(void)
{
	return calloc(1, sizeof(struct tenants_cache));
}

/* Without memory the namespace is found again by the next full scan. */
static void remember(struct tenants_cache *m, uint64_t ns, pid_t pid)
{
	size_t room = m->room ? 2 * m->room : 64;
	struct known_namespace *bigger;

	if (m->n == m->room) {
		bigger = realloc(m->namespaces, room * sizeof *bigger);
		if (!bigger)
			return;
		m->namespaces = bigger;
		m->room = room;
	}
	m->namespaces[m->n++] = (struct known_namespace){ ns, pid };
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
	for (size_t i = 0; i < m->n; i++) {
		snprintf(pid, sizeof pid, "%d", (int)m->namespaces[i].pid);
		if (namespace_of(proc, pid) != m->namespaces[i].ns)
			return false;
	}
	for (size_t i = 0; i < m->n && !*result; i++) {
		snprintf(pid, sizeof pid, "%d", (int)m->namespaces[i].pid);
		if (pairs_add(&s->namespaces, 1, m->namespaces[i].ns))
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

	if (!ns || !pairs_add(&s->namespaces, 1, ns))
		return 0;
	if (m)
		remember(m, ns, (pid_t)atoi(pid));
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

	pairs_add(&s->namespaces, 1, proc ? namespace_of(dirfd(proc), "self") : 0);
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
	struct visited *s = calloc(1, sizeof *s);
	int result = 0, shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (s && shm >= 0)
		is_new_shm(s, shm); /* a process that sees this one is not in a container */
	if (l->users && shm >= 0)
		result = visit_users(l, shm);
	else if (shm >= 0)
		close(shm);
	if (l->containers && s && !result)
		result = visit_containers(l, s);
	if (s)
		forget_visited(s);
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
