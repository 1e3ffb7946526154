/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/plan_cache.c - store plans in the user's cache directory, and take them from there.
 *
 * A compiler of 40 000 functions takes a second to analyse.  What is read is trusted as the user is,
 * and checked for its size; libduet checks a plan before it applies it, and compares the bytes.
 */
#include "collect/calls/plan_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/plan.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/text.h"

#define MAGIC 0x6863616374656475ull /* "udetcach" */

struct entry {
	uint64_t magic;
	uint32_t key_bytes;
	uint32_t n_counts;
	uint32_t count_bytes; /* of one */
	int32_t n_sites;
	uint64_t plan_bytes;
	char soname[PLAN_CACHE_SONAME];
	/* key, counts, plan */
};

/* For the user alone, whatever the umask: that of a recording with --group is another. */
static int make_directory(const char *path)
{
	mode_t mask = umask(0077);
	int err = io_make_dirs(path);

	umask(mask);
	return err;
}

/* -1: there is none that is the user's own. */
static int open_directory(bool make)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	char path[PATH_MAX];
	struct stat st;
	int fd, n;

	if (cache && *cache == '/')
		n = snprintf(path, sizeof path, "%s/duet", cache);
	else if (home && *home == '/')
		n = snprintf(path, sizeof path, "%s/.cache/duet", home);
	else
		return -1;
	if (n < 0 || n >= (int)sizeof path || (make && make_directory(path)))
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---------------------------------------------------------------- the key */

static void add_file(struct text *t, const char *what, const char *path)
{
	struct stat st = { .st_size = 0 };

	if (stat(path, &st))
		st = (struct stat){ .st_size = 0 };
	text_addf(t, "%s %lld %lld.%09ld\n", what, (long long)st.st_size,
		  (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static void add_patterns(struct text *t, const char *what, const char *const *patterns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		text_addf(t, "%s %s\n", what, patterns[i]);
}

/* Names come from a separate debug file too, wherever it is found: src/symbol. */
static void add_debug_files(struct text *t, const char *path, const char *build_id)
{
	const char *home = secure_getenv("HOME"), *slash = strrchr(path, '/');
	const char *cache = secure_getenv("DEBUGINFOD_CACHE_PATH");
	int directory = slash ? (int)(slash - path) : 0;
	char debug[PATH_MAX];

	snprintf(debug, sizeof debug, "/usr/lib/debug/.build-id/%.2s/%.60s.debug", build_id,
		 build_id + 2);
	add_file(t, "debug", debug);
	snprintf(debug, sizeof debug, "/usr/lib/debug%.*s", directory, path);
	add_file(t, "debug", debug); /* directories: files in them come and go */
	snprintf(debug, sizeof debug, "%.*s/.debug", directory, path);
	add_file(t, "debug", debug);
	snprintf(debug, sizeof debug, "%.4000s.debug", path);
	add_file(t, "debug", debug);
	snprintf(debug, sizeof debug, "%s%s/%s/debuginfo",
		 cache	? cache
		 : home ? home
			: "",
		 cache ? "" : "/.cache/debuginfod_client", build_id);
	add_file(t, "debug", debug);
}

/* False without memory.  The caller frees @t. */
static bool make_key(struct text *t, const struct selection *s, const char *path,
		     const char *build_id)
{
	struct patch_request r = selection_request(s);

	text_addf(t, "duet %s plan %u file %s\n", DUET_VERSION, ABI_PLAN_VERSION, path);
	add_file(t, "program", "/proc/self/exe");
	add_file(t, "file", path);
	add_debug_files(t, path, build_id);
	text_addf(t, "mode %d depth %u over %llu elide %u %u arguments %d\n", (int)r.mode, r.depth,
		  (unsigned long long)r.threshold_ns, r.elide_under_ns, r.elide_after_calls,
		  r.has_arguments);
	add_patterns(t, "pattern", r.patterns, r.n_patterns);
	add_patterns(t, "within", r.within, r.n_within);
	for (uint32_t i = 0; i < r.n_marks; i++)
		text_addf(t, "mark %s %s\n", r.marks[i].pattern,
			  r.marks[i].names ? r.marks[i].names : "");
	return !t->failed;
}

static void name_of(char name[PATH_MAX], const char *build_id, const struct text *key)
{
	snprintf(name, PATH_MAX, "%.64s-%016llx", build_id,
		 (unsigned long long)hash_bytes(key->bytes, key->size));
}

/* ---------------------------------------------------------------- taking */

static void *read_bytes(int fd, size_t n)
{
	char *bytes = malloc(n + 1);

	if (bytes && io_read(fd, bytes, n) == (ssize_t)n)
		return bytes;
	free(bytes);
	return NULL;
}

static bool has_key(int fd, const struct text *key)
{
	char *stored = read_bytes(fd, key->size);
	bool same = stored && !memcmp(stored, key->bytes, key->size);

	free(stored);
	return same;
}

/* The plan appears whole, by rename. */
static bool write_plan(int plans, const char *build_id, const void *plan, size_t n)
{
	static const char fresh[] = ".cached";
	int fd = openat(plans, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool done = fd >= 0 && !io_write(fd, plan, n);

	if (fd >= 0)
		close(fd);
	return done && !renameat(plans, fresh, plans, build_id);
}

static bool is_sound(const struct entry *e, const struct text *key, uint32_t n_counts)
{
	return e->magic == MAGIC && e->key_bytes == key->size && e->n_counts == n_counts &&
	       e->count_bytes == sizeof(struct patch_count) && e->n_sites > 0 &&
	       e->plan_bytes >= sizeof(struct abi_plan) && e->plan_bytes <= PLAN_CACHE_PLAN_MOST &&
	       memchr(e->soname, 0, sizeof e->soname);
}

static bool take_plan(int fd, const struct selection *s, const struct entry *e, int plans,
		      const char *build_id)
{
	struct abi_plan *plan = read_bytes(fd, e->plan_bytes);
	bool done = plan && plan->magic == ABI_PLAN_MAGIC && plan->version == ABI_PLAN_VERSION &&
		    plan->size_bytes == e->plan_bytes;

	if (done) {
		plan->generation = s->generation;
		done = write_plan(plans, build_id, plan, e->plan_bytes);
	}
	free(plan);
	return done;
}

static int take(int fd, const struct selection *s, const struct text *key, const char *build_id,
		int plans, struct patch_count *counts, uint32_t n_counts, char *soname)
{
	size_t n = (size_t)n_counts * sizeof *counts;
	struct patch_count *stored;
	struct entry e;

	if (io_read(fd, &e, sizeof e) != (ssize_t)sizeof e || !is_sound(&e, key, n_counts) ||
	    !has_key(fd, key))
		return 0;
	stored = read_bytes(fd, n);
	if (!stored || !take_plan(fd, s, &e, plans, build_id)) {
		free(stored);
		return 0;
	}
	memcpy(counts, stored, n);
	memcpy(soname, e.soname, sizeof e.soname);
	free(stored);
	return e.n_sites;
}

int plan_cache_take(const struct selection *s, const char *path, const char *build_id, int plans,
		    struct patch_count *counts, uint32_t n_counts, char soname[PLAN_CACHE_SONAME])
{
	int dir = open_directory(false), fd = -1, n = 0;
	struct text key = { 0 };
	char name[PATH_MAX];

	if (dir < 0)
		return 0;
	if (make_key(&key, s, path, build_id)) {
		name_of(name, build_id, &key);
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	}
	if (fd >= 0) {
		n = take(fd, s, &key, build_id, plans, counts, n_counts, soname);
		if (n)
			futimens(fd, NULL); /* used now: remove_oldest */
		close(fd);
	}
	text_fini(&key);
	close(dir);
	return n;
}

/* ---------------------------------------------------------------- storing */

/* Keeps the number of files bounded. */
static void remove_oldest(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	char oldest[NAME_MAX + 1] = "";
	struct timespec when = { 0 };
	struct dirent *e;
	struct stat st;

	while (list && (e = readdir(list))) {
		if (*e->d_name == '.' || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (!n++ || st.st_mtim.tv_sec < when.tv_sec) {
			when = st.st_mtim;
			snprintf(oldest, sizeof oldest, "%s", e->d_name);
		}
	}
	if (n > PLAN_CACHE_FILES)
		unlinkat(dir, oldest, 0);
	if (list)
		closedir(list);
}

static void *plan_of(int plans, const char *build_id, uint64_t *n)
{
	int fd = io_open_file(plans, build_id);
	void *plan = NULL;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0 && st.st_size <= PLAN_CACHE_PLAN_MOST) {
		*n = (uint64_t)st.st_size;
		plan = read_bytes(fd, *n);
	}
	if (fd >= 0)
		close(fd);
	return plan;
}

static void store_entry(int dir, const char *name, const struct entry *e, const struct text *key,
			const struct patch_count *counts, const void *plan)
{
	char fresh[64];
	bool done;
	int fd;

	snprintf(fresh, sizeof fresh, ".%d", (int)getpid());
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	done = !io_write(fd, e, sizeof *e) && !io_write(fd, key->bytes, key->size) &&
	       !io_write(fd, counts, (size_t)e->n_counts * sizeof *counts) &&
	       !io_write(fd, plan, e->plan_bytes);
	close(fd);
	if (!done || renameat(dir, fresh, dir, name))
		unlinkat(dir, fresh, 0);
	remove_oldest(dir);
}

void plan_cache_put(const struct selection *s, const char *path, const char *build_id, int plans,
		    const struct patch_count *counts, uint32_t n_counts, const char *soname,
		    int n_sites)
{
	struct entry e = { .magic = MAGIC,
			   .n_counts = n_counts,
			   .count_bytes = sizeof *counts,
			   .n_sites = n_sites };
	int dir = n_sites > 0 && strlen(soname) < sizeof e.soname ? open_directory(true) : -1;
	struct text key = { 0 };
	char name[PATH_MAX];
	void *plan;

	if (dir < 0)
		return;
	plan = plan_of(plans, build_id, &e.plan_bytes);
	if (plan && make_key(&key, s, path, build_id)) {
		e.key_bytes = (uint32_t)key.size;
		strcpy(e.soname, soname);
		name_of(name, build_id, &key);
		store_entry(dir, name, &e, &key, counts, plan);
	}
	free(plan);
	text_fini(&key);
	close(dir);
}
