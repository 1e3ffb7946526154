/* SPDX-License-Identifier: MIT */
/*
 * base/runtime.h - the runtime directory, where programs and collectors of a user meet.
 *
 * $DUET_RUNTIME_DIR, else /dev/shm/duet-<uid>.  It is the user's own or it is not used: a directory (not
 * a link), owned by us, closed to others.  Header only: libduet uses it too, which is why the system is
 * called through syscall(2): libc's wrappers are cancellation points, and an event must not end a
 * thread.
 */
#ifndef BASE_RUNTIME_H
#define BASE_RUNTIME_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The directory's path, followed by /@name when that is not NULL.  False if it does not fit. */
static inline bool runtime_path(char *path, size_t size, const char *name)
{
	const char *dir = secure_getenv("DUET_RUNTIME_DIR"), *slash = name ? "/" : "";
	int n;

	name = name ? name : "";
	if (dir && *dir)
		n = snprintf(path, size, "%s%s%s", dir, slash, name);
	else
		n = snprintf(path, size, "/dev/shm/duet-%u%s%s", (unsigned)geteuid(), slash, name);
	return n > 0 && (size_t)n < size;
}

/* Its descriptor, or -errno: -EPERM if it is not ours alone. */
static inline int runtime_dir_open(bool create)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char path[512];
	struct stat st;
	int fd;

	if (!runtime_path(path, sizeof path, NULL))
		return -ENAMETOOLONG;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
	if (fd < 0 && errno == ENOENT && create && (!mkdir(path, 0700) || errno == EEXIST))
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		syscall(SYS_close, fd);
		return -EPERM;
	}
	return fd;
}

#endif
