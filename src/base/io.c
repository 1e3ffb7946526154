/* SPDX-License-Identifier: MIT */
/* base/io.c - loops around read(2) and writev(2), and small helpers for files and directories. */
#include "base/io.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int io_write(int fd, const void *bytes, size_t size)
{
	struct iovec v = { (void *)bytes, size };

	return io_writev(fd, &v, 1);
}

int io_writev(int fd, struct iovec *iov, int n)
{
	assert(n >= 0 && n <= IOV_MAX);
	while (n) {
		ssize_t done = writev(fd, iov, n);

		if (done < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		for (; n && (size_t)done >= iov->iov_len; iov++, n--)
			done -= (ssize_t)iov->iov_len;
		if (n) {
			assert((size_t)done < iov->iov_len);
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= (size_t)done;
		}
	}
	return 0;
}

ssize_t io_read(int fd, void *bytes, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(fd, (char *)bytes + have, size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

int io_open_file(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

ssize_t io_read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert(size > 0);
	if (fd < 0)
		return -errno;
	n = io_read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

static int copy_data(int from, int to, off_t at, off_t end, bool (*made)(uint64_t bytes))
{
	char bytes[1 << 16];
	int err = 0;

	while (at < end && !err) {
		size_t step = end - at < (off_t)sizeof bytes ? (size_t)(end - at) : sizeof bytes;
		ssize_t n = pread(from, bytes, step, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0; /* it was cut meanwhile */
		err = io_write(to, bytes, (size_t)n);
		at += n;
		if (!err && made && made((uint64_t)n))
			err = -EINTR;
	}
	return err;
}

int io_copy(int from, int to, bool (*made)(uint64_t bytes))
{
	off_t at = 0, end;
	int err = 0;

	while (!err && (at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < at || lseek(to, at, SEEK_SET) < 0)
			return -errno;
		err = copy_data(from, to, at, end, made);
		at = end;
	}
	return err ? err : at < 0 && errno != ENXIO ? -errno : 0;
}

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

void io_refuse_descriptors(int fd)
{
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){ 0 }, sizeof(int));
}

int io_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool io_turn_away(int *spare, int listener)
{
	int fd;

	if (*spare >= 0)
		close(*spare);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	*spare = io_spare();
	return fd >= 0;
}

bool io_lacks_descriptors(int error)
{
	return error == EMFILE || error == ENFILE;
}

int io_make_dirs(const char *path)
{
	char p[PATH_MAX];
	size_t n = strlen(path);

	if (!n || n >= sizeof p)
		return n ? -ENAMETOOLONG : -ENOENT;
	memcpy(p, path, n + 1);
	for (char *s = p + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = 0;
		if (mkdir(p, 0777) && errno != EEXIST)
			return -errno;
		*s = '/';
	}
	return mkdir(p, 0777) && errno != EEXIST ? -errno : 0;
}

/* Of the first directory on the way up that is there. */
static bool is_own_or_below(const char *path)
{
	char up[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(up, sizeof up, "%s", path) >= sizeof up)
		return false;
	while (stat(up, &st)) {
		char *slash = strrchr(up, '/');

		if (!slash)
			return false;
		slash[slash == up] = 0; /* "/" is always there */
	}
	return st.st_uid == geteuid();
}

bool io_cache_directory(char *path, size_t size)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int n = 0;

	if (cache && *cache == '/')
		n = snprintf(path, size, "%s/duet", cache);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.cache/duet", home);
	/* Root may have another user's HOME (sudo -E), with links in it. */
	if (n > 0 && !geteuid() && !is_own_or_below(cache && *cache == '/' ? cache : home))
		return false;
	return n > 0 && (size_t)n + 64 < size && !io_make_dirs(path);
}

enum { TREE_DEEP_MAX = 64 };

/* By descriptors, not by paths: another process may put a link in the place of a directory at any
 * moment. */
static void remove_below(int parent, const char *name, int depth)
{
	int fd = depth < TREE_DEEP_MAX
			 ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
			 : -1;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && unlinkat(fd, e->d_name, 0))
			remove_below(fd, e->d_name, depth + 1);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (unlinkat(parent, name, AT_REMOVEDIR) && errno == ENOTDIR)
		(void)!unlinkat(parent, name, 0);
}

bool io_exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

void io_remove_tree(const char *path)
{
	remove_below(AT_FDCWD, path, 0);
}

int io_keep_descriptors(int *const kept[], int n)
{
	for (int i = 0; i < n; i++) /* first out of the way of the lowest */
		if (*kept[i] >= 0) {
			*kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, n);
			if (*kept[i] < 0)
				return -errno;
		}
	for (int i = 0; i < n; i++)
		if (*kept[i] < 0)
			close(i);
		else if (dup3(*kept[i], i, O_CLOEXEC) < 0)
			return -errno;
		else
			*kept[i] = i;
	return syscall(SYS_close_range, (unsigned)n, ~0u, 0u) ? -errno : 0;
}
