/* SPDX-License-Identifier: MIT */
/*
 * net/send/spool_files.c - the files of a spool: found in the directory, numbered for the relay,
 * forgotten, removed.
 */
#include "net/send/internal.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/hash.h"
#include "base/io.h"
#include "net/send/scheduler.h"

enum { DIRECTORIES_DEEP = 10 };
#define NONE UINT32_MAX

static uint32_t *slot_of(struct spool *s, const char *name)
{
	assert(s->n <= s->n_slots / 2); /* so that the loop ends */
	for (uint32_t i = hash_text32(name);; i++) {
		uint32_t *slot = &s->slots[i & (s->n_slots - 1)];

		if (!*slot || !strcmp(s->files[*slot - 1].name, name))
			return slot;
	}
}

static uint32_t find(struct spool *s, const char *name)
{
	return s->n_slots ? *slot_of(s, name) - 1 : NONE; /* 0 - 1 is NONE */
}

static int grow(struct spool *s)
{
	uint32_t n = s->n_slots ? 2 * s->n_slots : 64;
	struct spool_file *files;
	uint32_t *slots;

	if (s->n < s->n_slots / 2)
		return 0;
	files = realloc(s->files, n / 2 * sizeof *files);
	if (!files)
		return -ENOMEM;
	s->files = files;
	slots = calloc(n, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	for (uint32_t i = 0; i < s->n; i++)
		*slot_of(s, s->files[i].name) = i + 1;
	return 0;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n >= k && !memcmp(text + n - k, end, k);
}

uint32_t spool_trace_chunk_of(const char *name)
{
	unsigned n;

	return sscanf(name, "piece-%u", &n) == 1 ? n : 0;
}

/* The kind, as far as the name shows it. */
static enum spool_kind kind_of(const char *name)
{
	size_t n = strlen(name);

	if (ends_with(name, n, ".duet/clock"))
		return SPOOL_CLOCK;
	return spool_trace_chunk_of(name) && ends_with(name, n, "/.duet/finished") ? SPOOL_FINISHED
										   : SPOOL_OTHER;
}

static int add(struct spool *s, const char *name)
{
	char *copy;

	if (s->n == MESSAGE_FILES)
		return -EMFILE;
	copy = grow(s) ? NULL : strdup(name);
	if (!copy)
		return -ENOMEM;
	s->files[s->n] =
		(struct spool_file){ .name = copy, .kind = kind_of(name), .partner = NONE };
	*slot_of(s, copy) = ++s->n;
	assert(find(s, copy) == s->n - 1);
	return 0;
}

/* DIR/index/NAME.idx belongs to DIR/NAME; they may be found in any order. */
static void pair(struct spool *s, uint32_t number)
{
	const char *name = s->files[number].name, *slash = strrchr(name, '/');
	size_t dir = slash ? (size_t)(slash - name) : 0, n = strlen(name);
	char stream[MESSAGE_NAME + 1];
	uint32_t k;

	if (!ends_with(name, n, ".idx") ||
	    !(ends_with(name, dir, "/index") || (dir == 5 && !memcmp(name, "index", 5))))
		return;
	snprintf(stream, sizeof stream, "%.*s%.*s", (int)(dir - 5), name, (int)(n - dir - 5),
		 slash + 1);
	k = find(s, stream);
	if (k == NONE)
		return;
	s->files[number].kind = SPOOL_INDEX;
	s->files[number].partner = k;
	s->files[k].kind = SPOOL_STREAM;
	s->files[k].partner = number;
}

static bool has_packets(int trace)
{
	int fd = openat(trace, "index", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;
	bool found = false;

	while (dir && !found && (e = readdir(dir)))
		found = *e->d_name != '.' && !fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			st.st_size >= (off_t)(sizeof(struct abi_ctf_index_header) +
					      sizeof(struct abi_ctf_index_entry));
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return found;
}

/* A trace without a packet: if its collector dies, the successor removes it. */
static bool may_vanish(const struct spool *s, int trace)
{
	return !s->is_final && !s->is_for_follower && !has_packets(trace);
}

static bool is_new_trace(struct spool *s, int dir, const char *path)
{
	char metadata[MESSAGE_NAME + 32];

	snprintf(metadata, sizeof metadata, "%s/metadata", path);
	return !faccessat(dir, "metadata", F_OK, 0) && find(s, metadata) == NONE;
}

/* Another tenant's recording, or a trace chunk that has arrived. */
static bool is_skipped(const struct spool *s, const char *name)
{
	uint32_t trace_chunk = spool_trace_chunk_of(name);

	return !strncmp(name, "tenant-", 7) || (trace_chunk && trace_chunk <= s->n_arrived);
}

static int scan_directory(struct spool *s, int dir, const char *path, int depth);

static int scan_entry(struct spool *s, int dir, const char *path, const char *name, int depth)
{
	char whole[MESSAGE_NAME + 8];
	struct stat st;
	int sub;

	if (snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "/" : "", name) > MESSAGE_NAME ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		s->n_skipped += !depth || errno != ENOENT;
		return 0;
	}
	if (S_ISDIR(st.st_mode) && depth < DIRECTORIES_DEEP) {
		sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			return 0;
		if ((is_new_trace(s, sub, whole) && may_vanish(s, sub)) ||
		    (!depth && is_skipped(s, name))) {
			close(sub);
			return 0;
		}
		return scan_directory(s, sub, whole, depth + 1);
	}
	if (!S_ISREG(st.st_mode) || !message_is_path(whole, s->is_for_follower) ||
	    find(s, whole) != NONE || spool_is_before(s, whole))
		return 0;
	/* Again: it may have been created after its directory was checked. */
	if (spool_is_metadata(name) && may_vanish(s, dir))
		return 0;
	return add(s, whole);
}

/* Takes ownership of the descriptor. */
static int scan_directory(struct spool *s, int fd, const char *path, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *e;
	int err = 0;

	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = scan_entry(s, fd, path, e->d_name, depth);
	closedir(dir);
	return err;
}

int spool_scan(struct spool *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t before = s->n;
	int err;

	s->n_skipped = 0;
	err = fd < 0 ? -errno : scan_directory(s, fd, "", 0);
	/* An index may be found before its stream. */
	for (uint32_t i = 0; i < s->n && s->n > before; i++)
		if (s->files[i].kind == SPOOL_OTHER)
			pair(s, i);
	return err;
}

/* ---------------------------------------------------------------- opening */

/* The directory of @path; *@name is the last component.  Owned by the caller, or s->dir. */
static int open_parent(const struct spool *s, const char *path, const char **name)
{
	int dir = s->dir;
	const char *slash;

	for (; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char part[MESSAGE_NAME + 1];
		int below;

		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		below = openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			below = -errno;
		if (dir != s->dir)
			close(dir);
		dir = below;
	}
	*name = path;
	return dir;
}

int spool_open_below(const struct spool *s, const char *path, int flags)
{
	const char *name;
	int dir = open_parent(s, path, &name), fd;
	struct stat st;

	if (dir < 0)
		return dir;
	fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = -errno;
	if (dir != s->dir)
		close(dir);
	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -EPERM;
}

int spool_open(struct spool *s, const char *path, int dir, bool frees, struct quota *quota,
	       struct diag *d)
{
	*s = (struct spool){ .frees = frees, .quota = quota, .fd = -1, .path = path };
	s->dir = openat(dir ? dir : AT_FDCWD, dir ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir < 0 ? diag_errno(d, "cannot open %s", path) : 0;
}

int spool_open_for_follower(struct spool *s, const char *path, uint64_t from_ns, struct diag *d)
{
	int err = spool_open(s, path, 0, false, NULL, d);

	s->is_for_follower = true;
	s->from_ns = from_ns;
	return err;
}

void spool_close(struct spool *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->files[i].name);
	free(s->files);
	free(s->slots);
	if (s->dir >= 0)
		close(s->dir);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct spool){ .dir = -1, .fd = -1 };
}

static int draw_id(uint8_t id[MESSAGE_ID])
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : io_read(fd, id, MESSAGE_ID);

	if (fd >= 0)
		close(fd);
	return n == MESSAGE_ID ? 0 : -EIO;
}

static int write_identity(int fd, struct message *h, bool frees)
{
	char text[400];
	int n = 0, err = draw_id(h->hello.id);

	for (int i = 0; i < MESSAGE_ID; i++)
		n += sprintf(text + n, "%02x", h->hello.id[i]);
	n += snprintf(text + n, sizeof text - (size_t)n, " %s %s %s%s\n", h->hello.host,
		      h->hello.session, h->hello.date, frees ? "" : " kept");
	return err ? err : io_write(fd, text, (size_t)n);
}

static int parse_identity(const char *text, struct message *h)
{
	char id[33];

	if (sscanf(text, "%32[0-9a-f] %64s %64s %64s", id, h->hello.host, h->hello.session,
		   h->hello.date) != 4 ||
	    strlen(id) != 2 * MESSAGE_ID)
		return -EINVAL;
	for (int i = 0; i < MESSAGE_ID; i++)
		sscanf(id + 2 * i, "%2hhx", &h->hello.id[i]);
	return 0;
}

int spool_identity(struct spool *s, struct message *h, int *lock, struct diag *d)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char text[400];
	ssize_t n;
	int err;

	if (mkdirat(s->dir, ".duet", 0700) && errno != EEXIST)
		return diag_errno(d, "cannot make %s/.duet", s->path);
	*lock = spool_open_below(s, ".duet/stream", O_RDWR | O_CREAT);
	if (*lock < 0)
		return diag_fail(d, *lock, "cannot write %s/.duet/stream: %s", s->path,
				 strerror(-*lock));
	if (fcntl(*lock, F_OFD_SETLK, &whole))
		return diag_fail(d, -EBUSY, "%s is being sent by another duet", s->path);
	n = io_read(*lock, text, sizeof text - 1);
	if (!n) {
		s->is_fresh = true;
		err = write_identity(*lock, h, s->frees);
		return err ? diag_fail(d, err, "%s/.duet/stream: %s", s->path, strerror(-err)) : 0;
	}
	text[n < 0 ? 0 : n] = 0;
	err = parse_identity(text, h);
	return err ? diag_fail(d, err,
			       "%s/.duet/stream is damaged: remove it to send the recording anew",
			       s->path)
		   : 0;
}

void spool_forget(struct spool *s)
{
	struct stat st;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		struct spool_file *f = &s->files[i];

		if ((spool_trace_chunk_of(f->name) &&
		     spool_trace_chunk_of(f->name) <= s->n_arrived) ||
		    fstatat(s->dir, f->name, &st, AT_SYMLINK_NOFOLLOW)) {
			s->forgotten_bytes += f->acknowledged;
			free(f->name);
		} else {
			s->files[n++] = *f;
		}
	}
	if (n == s->n)
		return;
	s->n = n;
	memset(s->slots, 0, s->n_slots * sizeof *s->slots);
	for (uint32_t i = 0; i < n; i++) {
		*slot_of(s, s->files[i].name) = i + 1;
		s->files[i].kind = kind_of(s->files[i].name);
		s->files[i].partner = NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		pair(s, i);
	if (s->fd >= 0)
		close(s->fd); /* its number has changed */
	s->fd = -1;
}

/* ---------------------------------------------------------------- removal */

/* "ust", or "ust-2" and so on, written by later collectors. */
static bool is_trace(const char *name, const char *half)
{
	size_t n = strlen(half);

	return !strncmp(name, half, n) &&
	       (!name[n] || (name[n] == '-' && name[n + 1] &&
			     !name[n + 1 + strspn(name + n + 1, "0123456789")]));
}

static bool is_recording_entry(const char *name)
{
	return spool_trace_chunk_of(name) || is_trace(name, "ust") || is_trace(name, "kernel") ||
	       !strcmp(name, ".duet") || spool_is_snapshot(name);
}

void spool_remove(const char *path)
{
	DIR *dir = opendir(path);
	char part[PATH_MAX];
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_recording_entry(e->d_name) &&
		    snprintf(part, sizeof part, "%s/%s", path, e->d_name) < (int)sizeof part)
			io_remove_tree(part);
	if (dir)
		closedir(dir);
	rmdir(path);
}
