/* SPDX-License-Identifier: MIT */
/*
 * inproc/system/system.c - libc's wrappers of system calls, for libduet alone.
 *
 * They have libc's names and are hidden, so the linker takes them for all calls within libduet.  Two
 * reasons:
 *
 *   - Each page of libc's code that only libduet runs is a fault in each starting program, and each
 *     name is a search: docs/design/figures/inproc.md, "Start".
 *   - libc's read, open and close are cancellation points, which an event must not be.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KERNEL_SIGSET_BYTES = 8, ERRNO_MAX = 4095 };

static inline long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long with_errno(long result)
{
	if ((unsigned long)result < -(unsigned long)ERRNO_MAX)
		return result;
	errno = (int)-result;
	return -1;
}

#define CALL(n, a, b, c, d, e, f)                                                                  \
	with_errno(call(SYS_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))

/* Reads six arguments, however many there are, as libc's does. */
long syscall(long n, ...)
{
	long a, b, c, d, e, f;
	va_list list;

	va_start(list, n);
	a = va_arg(list, long);
	b = va_arg(list, long);
	c = va_arg(list, long);
	d = va_arg(list, long);
	e = va_arg(list, long);
	f = va_arg(list, long);
	va_end(list);
	return with_errno(call(n, a, b, c, d, e, f));
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return (void *)CALL(mmap, at, size, prot, flags, fd, offset);
}

int munmap(void *at, size_t size)
{
	return (int)CALL(munmap, at, size, 0, 0, 0, 0);
}

int mprotect(void *at, size_t size, int prot)
{
	return (int)CALL(mprotect, at, size, prot, 0, 0, 0);
}

int madvise(void *at, size_t size, int advice)
{
	return (int)CALL(madvise, at, size, advice, 0, 0, 0);
}

uid_t geteuid(void)
{
	return (uid_t)CALL(geteuid, 0, 0, 0, 0, 0, 0);
}

/* The kernel's struct stat is libc's. */
int stat(const char *restrict path, struct stat *restrict st)
{
	return (int)CALL(newfstatat, AT_FDCWD, path, st, 0, 0, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	return (int)CALL(newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW, 0, 0);
}

int fstat(int fd, struct stat *st)
{
	return (int)CALL(fstat, fd, st, 0, 0, 0, 0);
}

int mkdir(const char *path, mode_t mode)
{
	return (int)CALL(mkdir, path, mode, 0, 0, 0, 0);
}

int chmod(const char *path, mode_t mode)
{
	return (int)CALL(chmod, path, mode, 0, 0, 0, 0);
}

int unlink(const char *path)
{
	return (int)CALL(unlink, path, 0, 0, 0, 0, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
	return (int)CALL(unlinkat, dir, path, flags, 0, 0, 0);
}

int close(int fd)
{
	return (int)CALL(close, fd, 0, 0, 0, 0, 0);
}

ssize_t read(int fd, void *bytes, size_t size)
{
	return CALL(read, fd, bytes, size, 0, 0, 0);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	return (int)CALL(setsockopt, fd, level, name, value, size, 0);
}

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict size)
{
	return (int)CALL(getsockopt, fd, level, name, value, size, 0);
}

/* ---------------------------------------------------------------- sets of signals */

/* Without the two that libc has for itself. */
int sigfillset(sigset_t *set)
{
	memset(set, 0xff, sizeof *set);
	sigdelset(set, 32);
	return sigdelset(set, 33);
}

int sigdelset(sigset_t *set, int number)
{
	*(unsigned long *)set &= ~(1ul << (number - 1)); /* in each libc */
	return 0;
}

int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
	return (int)-call(SYS_rt_sigprocmask, how, (long)set, (long)before, KERNEL_SIGSET_BYTES, 0,
			  0);
}
