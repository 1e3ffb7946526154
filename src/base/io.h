/* SPDX-License-Identifier: MIT */
/* base/io.h - complete reads and writes: no short count, no EINTR. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* io_write - write all @size bytes.  Returns 0 or -errno; after an error some of them are
 * written. */
int io_write(int fd, const void *bytes, size_t size);

/* io_writev - write all of @iov (at most IOV_MAX entries) and change it.  Returns 0 or -errno. */
int io_writev(int fd, struct iovec *iov, int n);

/* io_read - read up to @size bytes, fewer only at the end of the file.  Returns the count or
 * -errno. */
ssize_t io_read(int fd, void *bytes, size_t size);

/*
 * io_open_file - open the regular file @path below @dir (or AT_FDCWD) for reading, never anything else.
 *
 * A FIFO does not block, a device is not read, and a link in the last place is not followed.  Returns
 * a descriptor or -errno: -ELOOP for a link, -EINVAL for what is no regular file.
 */
int io_open_file(int dir, const char *path);

/*
 * io_read_file - read the first @size - 1 bytes of a small file (proc, sysfs, tracefs) into @text.
 *
 * Returns the length without the NUL, or -errno; @text is always terminated.
 */
ssize_t io_read_file(const char *path, char *text, size_t size);

/*
 * io_copy - copy the data of the file @from to the end of the new file @to.
 *
 * Holes are not read, and not written: a file of a terabyte may hold none.  A hole at the end is left
 * out.  @made gets the bytes of each step and stops it by true; NULL: none does.  Returns 0; -EINTR if it was stopped;
 * or -errno.
 */
int io_copy(int from, int to, bool (*made)(uint64_t bytes));

/*
 * io_refuse_descriptors - refuse descriptors sent through a listening socket and the connections
 * that it accepts.
 *
 * Needs Linux 6.16; does nothing before.  Without it a peer can stop us: the close of a received
 * descriptor may block as long as its owner likes (TCP with SO_LINGER and a peer that does not
 * read), and a dropped message closes its descriptors.  Call it before any peer connects.
 */
void io_refuse_descriptors(int fd);

/*
 * io_spare - a descriptor that a server keeps for the moment in which it has no other; -1: none.
 *
 * Without descriptors a connection cannot be accepted, so it stays in the queue, and epoll reports it
 * again and again.  io_turn_away gives the spare one up to accept and close the next connection of
 * @listener: its peer gets an end instead of silence.  False: there was none.
 *
 * io_lacks_descriptors - whether an accept with this @error failed for that reason.
 */
int io_spare(void);
bool io_turn_away(int *spare, int listener);
bool io_lacks_descriptors(int error);

/* io_make_dirs - make @path and its missing parents, mode 0777 less the umask.  0 or -errno. */
int io_make_dirs(const char *path);

/*
 * io_cache_directory - the user's directory for files that can be made again; made if it is missing.
 *
 * Returns true: @path has room for a name of 63 bytes behind it.  False: there is no directory, or it would be
 * root's in a directory of another user.
 */
bool io_cache_directory(char *path, size_t size);

/*
 * io_exists - whether @path exists, as far as this process may see.
 *
 * By the file system ids, as all other accesses; access(2) takes the real ones, which a tenant's
 * collector does not have (docs/design/tenants.md).
 */
bool io_exists(const char *path);

/* io_remove_tree - remove @path and all below it, as far as possible.  It does not follow links. */
void io_remove_tree(const char *path);

/*
 * io_keep_descriptors - move the @n descriptors @kept to the numbers 0 to @n - 1, in their order, and
 * close all others: for a child process that lives on beside its parent.
 *
 * One that is negative leaves its number closed.  Returns 0 or -errno.  Needs Linux 5.9.
 */
int io_keep_descriptors(int *const kept[], int n);

#endif
