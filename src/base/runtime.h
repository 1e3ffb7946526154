/* SPDX-License-Identifier: MIT */
/*
 * base/runtime.h - the runtime directory, where programs and collectors of a user meet.
 *
 * It is $DUET_RUNTIME_DIR, else /dev/shm/duet-<uid>.  It must be a directory (not a link), owned by
 * us and closed to others; else it is not used.
 *
 * Header only: libduet uses it too.  Therefore it makes system calls through syscall(2): libc's
 * wrappers are cancellation points, and an event must not end a thread.
 */
#ifndef BASE_RUNTIME_H
#define BASE_RUNTIME_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compose.h"

/* runtime_path - the directory's path, followed by /@name if that is not NULL.  False: it does not
 * fit. */
static inline bool runtime_path(char *path, size_t size, const char *name)
{
	const char *dir = secure_getenv("DUET_RUNTIME_DIR"), *slash = name ? "/" : "";
	char digits[DECIMAL_BYTES];

	name = name ? name : "";
	if (dir && *dir)
		return compose(path, size, dir, slash, name, NULL);
	return compose(path, size, "/dev/shm/duet-", decimal(digits, geteuid()), slash, name, NULL);
}

/* Linux 5.14; older kernels return EINVAL. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* runtime_reserve - have memory for @bytes at @at, which lie in a mapped file there: a store into a
 * file of a full file system raises SIGBUS. False: there is none. */
static inline bool runtime_reserve(void *at, size_t bytes)
{
	enum { PAGE_MASK = 4095 };
	uintptr_t begin = (uintptr_t)at & ~(uintptr_t)PAGE_MASK;
	uintptr_t end = ((uintptr_t)at + bytes + PAGE_MASK) & ~(uintptr_t)PAGE_MASK;

	return !madvise((void *)begin, end - begin, MADV_POPULATE_WRITE) || errno == EINVAL;
}

/* Makes the directory, whatever the umask is.  True also if another process makes it meanwhile. */
static inline bool runtime_dir_make(const char *path)
{
	return mkdir(path, 0700) ? errno == EEXIST : !chmod(path, 0700);
}

/* runtime_dir_open_at - open directory @path.  -EPERM if it is not ours alone; another -errno. */
static inline int runtime_dir_open_at(const char *path, bool create)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;
	int fd;

	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
	if (fd < 0 && errno == ENOENT && create && runtime_dir_make(path))
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
	if (fd < 0)
		return -errno;
	/* libc's fstat reads a string of libc for this: a page more in each starting program. */
	if (syscall(SYS_fstat, fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		syscall(SYS_close, fd);
		return -EPERM;
	}
	return fd;
}

/* runtime_dir_open - open the directory that the environment names. */
static inline int runtime_dir_open(bool create)
{
	char path[512];

	return runtime_path(path, sizeof path, NULL) ? runtime_dir_open_at(path, create)
						     : -ENAMETOOLONG;
}

/* runtime_pid_namespace - the number of our pid namespace; 0 if it is unknown. */
static inline uint32_t runtime_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint32_t)st.st_ino;
}

/*
 * The identity of a process on this machine: the /proc that it sees, and its pid there.
 *
 * A /proc shows one pid namespace, so two processes with the same pid in two namespaces still
 * differ.  (A namespace may have several /proc.)  Reading the namespace itself costs 20 times as
 * much: procfs makes inodes for it, and removes them when the process ends.
 */
struct runtime_self {
	uint32_t pid;  /* 0: there is no /proc, or it does not show us */
	uint32_t proc; /* below 2^31 */
};

static inline struct runtime_self runtime_self(void)
{
	struct runtime_self s = { 0, 0 };
	char digits[DECIMAL_BYTES];
	struct stat st;
	ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", digits, sizeof digits);

	if (n <= 0 || n > 9 || lstat("/proc/self", &st))
		return s;
	for (ssize_t i = 0; i < n; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return (struct runtime_self){ 0, 0 };
		s.pid = s.pid * 10 + (uint32_t)(digits[i] - '0');
	}
	s.proc = (uint32_t)st.st_dev & INT32_MAX;
	return s;
}

#endif
