/* SPDX-License-Identifier: MIT */
/* ui/export/tar.c - writes ustar: a head of 512 bytes, then the bytes, for each file. */
#include "ui/export/tar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

enum { BLOCK = 512 };

struct head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct head) == BLOCK, "as POSIX says");

/* Divides @path at a slash so that its end fits into `name`, the rest into `prefix`. */
static bool set_name(struct head *h, const char *path)
{
	size_t n = strlen(path);
	const char *slash;

	if (n <= sizeof h->name) {
		memcpy(h->name, path, n);
		return true;
	}
	slash = strchr(path + n - sizeof h->name - 1, '/');
	if (!slash || (size_t)(slash - path) > sizeof h->prefix || !slash[1])
		return false;
	memcpy(h->prefix, path, (size_t)(slash - path));
	memcpy(h->name, slash + 1, n - (size_t)(slash + 1 - path));
	return true;
}

static int write_head(int fd, const char *path, const struct stat *st, struct diag *d)
{
	bool is_dir = S_ISDIR(st->st_mode);
	unsigned long long size = is_dir ? 0 : (unsigned long long)st->st_size;
	struct head h = { .type = is_dir ? '5' : '0', .magic = "ustar", .version = { '0', '0' } };
	const unsigned char *bytes = (const unsigned char *)&h;
	unsigned sum = 0;

	if (!set_name(&h, path))
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long for a tar", path);
	if (size >> 33)
		return diag_fail(d, -EFBIG, "%s: 8 GiB and more do not fit into a tar", path);
	snprintf(h.mode, sizeof h.mode, "%07o", is_dir ? 0700 : 0600);
	memcpy(h.uid, "0000000", 8);
	memcpy(h.gid, "0000000", 8);
	snprintf(h.size, sizeof h.size, "%011llo", size);
	memcpy(h.mtime, "00000000000", 12);
	memset(h.sum, ' ', sizeof h.sum);
	for (int i = 0; i < BLOCK; i++)
		sum += bytes[i];
	snprintf(h.sum, 7, "%06o", sum);
	return io_write(fd, &h, sizeof h) ? diag_errno(d, "cannot write a tar") : 0;
}

static int write_bytes(int fd, const char *file, uint64_t size, struct diag *d)
{
	static const char zeros[BLOCK];
	char bytes[1 << 16];
	int in = io_open_file(AT_FDCWD, file), err = 0;
	uint64_t left = size;
	ssize_t n = 0;

	if (in < 0)
		return diag_fail(d, in, "cannot open %s: %s", file, strerror(-in));
	while (left && !err &&
	       (n = io_read(in, bytes, left < sizeof bytes ? left : sizeof bytes)) > 0) {
		err = io_write(fd, bytes, (size_t)n);
		left -= (uint64_t)n;
	}
	close(in);
	if (!err && (n < 0 || left))
		return diag_fail(d, n < 0 ? (int)n : -EIO, "cannot read %s", file);
	if (!err && size % BLOCK)
		err = io_write(fd, zeros, BLOCK - size % BLOCK);
	return err ? diag_fail(d, err, "cannot write a tar: %s", strerror(-err)) : 0;
}

static int compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_own(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int write_one(int fd, const char *file, const char *name, struct diag *d);

static int write_below(int fd, const char *dir, const char *name, struct diag *d)
{
	char file[PATH_MAX], inner[PATH_MAX];
	struct dirent **list;
	int n = scandir(dir, &list, is_own, compare), err = 0;

	if (n < 0)
		return diag_errno(d, "cannot read %s", dir);
	for (int i = 0; i < n; i++) {
		if (!err && (snprintf(file, sizeof file, "%s/%s", dir, list[i]->d_name) >=
				     (int)sizeof file ||
			     snprintf(inner, sizeof inner, "%s/%s", name, list[i]->d_name) >=
				     (int)sizeof inner))
			err = diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", dir);
		if (!err)
			err = write_one(fd, file, inner, d);
		free(list[i]);
	}
	free(list);
	return err;
}

static int write_one(int fd, const char *file, const char *name, struct diag *d)
{
	struct stat st;
	int err;

	if (lstat(file, &st))
		return diag_errno(d, "cannot read %s", file);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return 0;
	err = write_head(fd, name, &st, d);
	if (err)
		return err;
	return S_ISDIR(st.st_mode) ? write_below(fd, file, name, d)
				   : write_bytes(fd, file, (uint64_t)st.st_size, d);
}

int tar_write(int fd, const char *dir, const char *name, struct diag *d)
{
	return write_one(fd, dir, name, d);
}

int tar_end(int fd, struct diag *d)
{
	static const char zeros[2 * BLOCK];

	return io_write(fd, zeros, sizeof zeros) ? diag_errno(d, "cannot write a tar") : 0;
}
