/* SPDX-License-Identifier: MIT */
/* base/io.h - whole reads and writes: no short count, no EINTR. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Writes all @size bytes.  Returns 0 or -errno; on error an unknown part was written. */
int io_write(int fd, const void *bytes, size_t size);

/* Writes all of @iov (at most IOV_MAX entries), which it changes.  Returns 0 or -errno. */
int io_writev(int fd, struct iovec *iov, int n);

/* Reads up to @size bytes, fewer only at the end of the file.  Returns the count or -errno. */
ssize_t io_read(int fd, void *bytes, size_t size);

/* Reads a small file (proc, sysfs, tracefs) into @text, NUL-terminated; what does not fit is
 * left out.  Returns the length without the NUL, or -errno. */
ssize_t io_read_file(const char *path, char *text, size_t size);

/*
 * Descriptors sent through the listening socket @fd, before anybody has connected, and what it
 * accepts, are refused to their sender (Linux 6.16 and later; else nothing happens).  To close a
 * received one may take as long as its owner wishes - TCP with SO_LINGER and a peer that does not
 * read - and who drops a message unread closes what it holds.
 */
void io_refuse_descriptors(int fd);

/* Makes @path and its missing parents, mode 0777 less the umask.  Returns 0 or -errno. */
int io_make_dirs(const char *path);

/* Removes @path and all below it, as far as it can; links are not followed. */
void io_remove_tree(const char *path);

#endif
