/* SPDX-License-Identifier: MIT */
/* trace/marks/place.c - where the file of marks lies: see marks.h. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "trace/marks/marks.h"

/* ---------------------------------------------------------------- is it large */

static uint64_t bytes_found;

static int count(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)path;
	(void)where;
	if (type == FTW_F)
		bytes_found += (uint64_t)st->st_size;
	return bytes_found >= MARKS_RECORDING_MIN;
}

static bool are_large(const char *const *paths, int n)
{
	enum { DESCRIPTORS = 8 };

	bytes_found = 0;
	for (int i = 0; i < n; i++) {
		char whole[PATH_MAX]; /* nftw() does not follow a link to a recording */

		if (realpath(paths[i], whole) && nftw(whole, count, DESCRIPTORS, FTW_PHYS) == 1)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- where */

/* Only the user's own directory and file: others could let this process write to a file of theirs. */
static bool is_own(int fd, mode_t type)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & 022) && (type == S_IFDIR || st.st_nlink == 1);
}

static int open_in(const char *directory, const char *name)
{
	int at = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	struct stat st;

	/* a device is not even opened */
	if (at >= 0 && is_own(at, S_IFDIR) &&
	    (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || S_ISREG(st.st_mode)))
		fd = openat(at, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (at >= 0)
		close(at);
	if (fd >= 0 && !is_own(fd, S_IFREG)) {
		close(fd);
		return -1;
	}
	return fd;
}

static uint64_t hash_more(uint64_t hash, const char *path)
{
	char *whole = realpath(path, NULL);
	const char *of = whole ? whole : path;

	hash = (hash ^ hash_bytes(of, strlen(of))) * 0x9E3779B97F4A7C15u;
	free(whole);
	return hash;
}

static int open_beside(struct marks_file *f, const char *const *paths, int n)
{
	char name[64] = "names-index", directory[4096];
	uint64_t others = 0;

	for (int i = 1; i < n; i++)
		others = hash_more(others, paths[i]);
	if (others)
		snprintf(name, sizeof name, "names-index-%016llx", (unsigned long long)others);
	if ((size_t)snprintf(directory, sizeof directory, "%s/.duet", paths[0]) >= sizeof directory)
		return -1;
	snprintf(f->path, sizeof f->path, "%.4000s/%s", directory, name);
	return open_in(directory, name);
}

static int open_in_cache(struct marks_file *f, const char *const *paths, int n)
{
	char name[64], directory[4096];
	uint64_t key = 0;

	for (int i = 0; i < n; i++)
		key = hash_more(key, paths[i]);
	snprintf(name, sizeof name, "names-index-%016llx", (unsigned long long)key);
	if (!io_cache_directory(directory, sizeof directory))
		return -1;
	snprintf(f->path, sizeof f->path, "%.4000s/%s", directory, name);
	return open_in(directory, name);
}

void marks_find(struct marks_file *f, const char *const *paths, int n)
{
	*f = MARKS_NO_FILE;
	if (!are_large(paths, n))
		return;
	f->fd = open_beside(f, paths, n);
	if (f->fd < 0)
		f->fd = open_in_cache(f, paths, n);
}
