/* SPDX-License-Identifier: MIT */
/* net/relay/store.c - opens directories and files below the output safely, and appends to them. */
#include "net/relay/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "net/relay/shares.h"

enum { SAME_NAME_MAX = 1000 }; /* of one host, session and second */
enum { DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static int open_child(int dir, const char *name)
{
	if (mkdirat(dir, name, 0777) && errno != EEXIST)
		return -errno;
	dir = openat(dir, name, DIRECTORY);
	return dir < 0 ? -errno : dir;
}

/* Opens the directory that contains @path, which was checked, and creates it if necessary; *@name
 * is the last component. */
static int open_parent(int root, const char *path, const char **name)
{
	int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
	const char *slash;

	for (; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char part[MESSAGE_NAME + 1];
		int next;

		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		next = open_child(dir, part);
		close(dir);
		dir = next;
	}
	*name = path;
	return dir;
}

/* Opens a regular file with one name, to append to: no FIFO, link, device or second name of
 * another. */
static int open_file(int root, const char *path, struct stat *st)
{
	const char *name;
	int dir = open_parent(root, path, &name), fd, err = 0;

	if (dir < 0)
		return dir;
	fd = openat(dir, name,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		    0666);
	if (fd < 0 || fstat(fd, st))
		err = -errno;
	else if (!S_ISREG(st->st_mode) || st->st_nlink != 1)
		err = -EPERM;
	close(dir);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static void id_line(char line[48], const uint8_t id[MESSAGE_ID])
{
	int n = sprintf(line, "id ");

	for (int i = 0; i < MESSAGE_ID; i++)
		n += sprintf(line + n, "%02x", id[i]);
	sprintf(line + n, "\n");
}

/* 1: the directory holds the recording with this id; 0: another one; or -errno. */
static int has_id(int dir, const char *line)
{
	char found[48] = "";
	int hidden = openat(dir, ".duet", DIRECTORY), fd;
	ssize_t n;

	if (hidden < 0)
		return 0;
	fd = openat(hidden, "relay", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(hidden);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	n = io_read(fd, found, strlen(line));
	close(fd);
	return n == (ssize_t)strlen(line) && !memcmp(found, line, strlen(line));
}

static int write_id(int dir, const char *line)
{
	const char *name;
	int hidden = open_parent(dir, ".duet/relay", &name), fd, err;

	if (hidden < 0)
		return hidden;
	fd = openat(hidden, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	err = fd < 0 ? -errno : 0;
	close(hidden);
	if (err)
		return err;
	err = io_write(fd, line, strlen(line));
	close(fd);
	return err;
}

/* Removes a directory without an id, so that the next attempt can use its name. */
static void undo_directory(int host, const char *name, int dir)
{
	unlinkat(dir, ".duet/relay", 0);
	unlinkat(dir, ".duet", AT_REMOVEDIR);
	unlinkat(host, name, AT_REMOVEDIR);
}

/* Locks the directory @dir, and checks that it is still @name in @host: so its removal cannot
 * have begun.  On a file system without locks nothing is removed. */
static int lock_recording(int host, const char *name, int dir)
{
	struct stat a, b;

	if (flock(dir, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		return -EBUSY;
	if (fstat(dir, &a) || fstatat(host, name, &b, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return a.st_ino == b.st_ino && a.st_dev == b.st_dev ? 0 : -EBUSY;
}

/* Finds the first of NAME, NAME-2, NAME-3... that holds this recording, or that does not exist
 * yet. */
static int find_directory(struct store *s, int host, const char *name, const char *line)
{
	char candidate[MESSAGE_NAME + 1];

	for (int i = 1; i <= SAME_NAME_MAX; i++) {
		int fresh, found;

		snprintf(candidate, sizeof candidate, i > 1 ? "%s-%d" : "%s", name, i);
		fresh = !mkdirat(host, candidate, 0777);
		if (!fresh && errno != EEXIST)
			return -errno;
		s->dir = openat(host, candidate, DIRECTORY);
		if (s->dir < 0)
			return -errno;
		found = fresh ? write_id(s->dir, line) : has_id(s->dir, line);
		if (found == 1 || (fresh && !found)) {
			size_t n = strlen(s->path);
			int err = lock_recording(host, candidate, s->dir);

			if (err)
				return err;
			s->existed = !fresh;
			snprintf(s->path + n, sizeof s->path - n, "/%s", candidate);
			return 0;
		}
		if (fresh)
			undo_directory(host, candidate, s->dir);
		close(s->dir);
		s->dir = -1;
		if (fresh)
			return found;
	}
	return -EEXIST;
}

/* The number of trace chunks that were removed here, as the retention of the relay wrote it. */
static uint32_t read_removed(int dir)
{
	int fd = openat(dir, ".duet/relay-removed", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[32] = "";
	ssize_t n = fd < 0 ? 0 : io_read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

int store_open(struct store *s, int output, const struct message *m, uint64_t most_bytes,
	       bool is_copy, struct diag *d)
{
	char name[2 * MESSAGE_TEXT + 2], line[48];
	int host, err;

	*s = (struct store){ .dir = -1, .fd = -1, .most_bytes = most_bytes, .is_copy = is_copy };
	if (!message_is_name(m->hello.host, strlen(m->hello.host)) ||
	    !message_is_name(m->hello.session, strlen(m->hello.session)) ||
	    !message_is_name(m->hello.date, strlen(m->hello.date)))
		return diag_fail(d, -EPROTO, "host, session or date is no name for a directory");
	snprintf(name, sizeof name, "%s-%s", m->hello.session, m->hello.date);
	snprintf(s->path, sizeof s->path, "%s", m->hello.host);
	id_line(line, m->hello.id);
	host = open_child(output, m->hello.host);
	err = host < 0 ? host : find_directory(s, host, name, line);
	if (!err)
		s->n_removed = read_removed(s->dir);
	if (host >= 0)
		close(host);
	return err ? diag_fail(d, err, "cannot make %s/%s: %s", m->hello.host, name, strerror(-err))
		   : 0;
}

void store_close(struct store *s)
{
	if (s->dir >= 0)
		close(s->dir);
	if (s->fd >= 0)
		close(s->fd);
	for (uint32_t i = 0; i < s->n_files; i++)
		free(s->files[i].name);
	free(s->files);
	*s = (struct store){ .dir = -1, .fd = -1 };
}

static bool was_removed(const struct store *s, const char *name)
{
	unsigned n;

	return sscanf(name, "piece-%u/", &n) == 1 && n <= s->n_removed;
}

static int grow(struct store *s)
{
	struct store_file *bigger;

	if (s->n_files && (s->n_files & (s->n_files - 1)))
		return 0;
	bigger = realloc(s->files, (s->n_files ? 2 * s->n_files : 1) * sizeof *bigger);
	if (!bigger)
		return -ENOMEM;
	s->files = bigger;
	return 0;
}

static void keep_open(struct store *s, int fd, uint32_t number)
{
	assert(fd >= 0 && fd != s->fd);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = fd;
	s->fd_number = number;
}

int store_add(struct store *s, const char *name, struct diag *d)
{
	struct stat st;
	char *copy;
	int fd;

	assert(s->dir >= 0 && s->n_files <= MESSAGE_FILES);
	if (!message_is_path(name, s->is_copy))
		return diag_fail(d, -EPROTO, "not a name for a file");
	if (s->n_files == MESSAGE_FILES)
		return diag_fail(d, -EMFILE, "more than %d files", MESSAGE_FILES);
	copy = grow(s) ? NULL : strdup(name);
	if (!copy)
		return diag_fail(d, -ENOMEM, "no memory");
	if (was_removed(s, name)) {
		s->files[s->n_files++] = (struct store_file){ copy, MESSAGE_UNWANTED };
		return 0;
	}
	fd = open_file(s->dir, name, &st);
	if (fd < 0) {
		free(copy);
		return diag_fail(d, fd, "cannot write %s: %s", name, strerror(-fd));
	}
	s->files[s->n_files] = (struct store_file){ copy, (uint64_t)st.st_size };
	s->bytes += (uint64_t)st.st_size;
	keep_open(s, fd, s->n_files++);
	return 0;
}

static int open_number(struct store *s, uint32_t number, struct diag *d)
{
	struct store_file *f = &s->files[number];
	struct stat st;
	int fd;

	if (s->fd >= 0 && s->fd_number == number)
		return 0;
	fd = open_file(s->dir, f->name, &st);
	if (fd < 0)
		return diag_fail(d, fd, "cannot write %s: %s", f->name, strerror(-fd));
	keep_open(s, fd, number);
	if ((uint64_t)st.st_size != f->size)
		return diag_fail(d, -EIO, "another process changed %s", f->name);
	return 0;
}

long store_append(struct store *s, uint32_t number, uint64_t offset, const uint8_t *bytes,
		  uint32_t n, struct diag *d)
{
	struct store_file *f;
	uint32_t done = 0;
	int err;

	assert(s->dir >= 0);
	if (number >= s->n_files ||
	    (s->files[number].size != offset && !(s->is_copy && !s->files[number].size)))
		return diag_fail(d, -EPROTO, "bytes that do not follow those on disk");
	f = &s->files[number];
	if (s->most_bytes &&
	    n > s->most_bytes - (s->bytes < s->most_bytes ? s->bytes : s->most_bytes))
		return diag_fail(d, -EFBIG, "the recording is larger than this relay accepts");
	err = open_number(s, number, d);
	if (!err && offset > f->size) /* the relay skipped these bytes: they are a hole here */
		err = ftruncate(s->fd, (off_t)offset) ? diag_errno(d, "%s", f->name) : 0;
	if (!err)
		f->size = offset;
	if (!err && !share_take(s->share, s->fd, disk_blocks(f->size, n)))
		err = diag_fail(d, -EDQUOT, "%s: the %s of this host at the relay is reached",
				f->name,
				disk_reason_text((enum disk_reason)s->share->budget.reason));
	while (!err && done < n) {
		ssize_t w = write(s->fd, bytes + done, n - done);

		if (w > 0) {
			done += (uint32_t)w;
		} else if (!w || errno != EINTR) {
			err = w ? -errno : -ENOSPC;
			diag_fail(d, err, "%s: %s", f->name, strerror(-err));
		}
	}
	assert(done <= n);
	f->size += done;
	s->bytes += done;
	if (err && err != -ENOSPC && err != -EDQUOT)
		return err;
	errno = -err;
	return done;
}

static bool is_read_from_its_end(const char *name)
{
	size_t n = strlen(name);

	return (n > 4 && !strcmp(name + n - 4, ".idx")) ||
	       (n >= 11 && !strcmp(name + n - 11, ".duet/clock"));
}

uint64_t store_trim(struct store *s)
{
	enum { THICK = 1 << 20, KEPT = 1 << 16 };
	const char *name;
	struct stat st;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->n_files; i++) {
		if (fstatat(s->dir, s->files[i].name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		bytes += (uint64_t)st.st_blocks * 512;
		if (st.st_blocks * 512 > THICK && is_read_from_its_end(s->files[i].name)) {
			int dir = open_parent(s->dir, s->files[i].name, &name),
			    fd = dir < 0 ? -1
					 : openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

			if (fd >= 0)
				fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
					  (st.st_size - KEPT) & ~(off_t)(KEPT - 1));
			if (fd >= 0)
				close(fd);
			if (dir >= 0)
				close(dir);
		}
	}
	return bytes;
}

static int append_line(struct store *s, const char *file, const char *line)
{
	struct stat st;
	int fd = open_file(s->dir, file, &st), err;

	if (fd < 0)
		return fd;
	err = io_write(fd, line, strlen(line));
	close(fd);
	return err;
}

int store_time(struct store *s, const uint64_t t[4])
{
	char line[100];

	snprintf(line, sizeof line, "%llu %llu %llu %llu\n", (unsigned long long)t[0],
		 (unsigned long long)t[1], (unsigned long long)t[2], (unsigned long long)t[3]);
	return append_line(s, ".duet/clock-relay", line);
}

int store_end(struct store *s, struct diag *d)
{
	int err = s->has_ended ? 0 : append_line(s, ".duet/relay", "complete\n");

	s->has_ended = !err;
	return err ? diag_fail(d, err, "cannot write .duet/relay: %s", strerror(-err)) : 0;
}
