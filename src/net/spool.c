/* SPDX-License-Identifier: MIT */
/* net/spool.c - see spool.h. */
#include "net/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "net/spool_aim.h"
#include "net/store.h"

enum {
	PHASES = 4,
	PAGE = 4096, /* holes are made of these */
	DIRECTORIES_DEEP = 10,
};
#define NONE UINT32_MAX

/* ---------------------------------------------------------------- files */

static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261u; /* FNV-1a, Fowler, Noll, Vo 1991 */

	while (*name)
		h = (h ^ (uint8_t)*name++) * 16777619u;
	return h;
}

static uint32_t *slot_of(struct spool *s, const char *name)
{
	for (uint32_t i = hash(name);; i++) {
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

static int add(struct spool *s, const char *name)
{
	char *copy;

	if (s->n == STORE_FILES)
		return -EMFILE;
	copy = grow(s) ? NULL : strdup(name);
	if (!copy)
		return -ENOMEM;
	s->files[s->n] = (struct spool_file){ .name = copy, .partner = NONE };
	if (ends_with(name, strlen(name), ".duet/clock"))
		s->files[s->n].kind = SPOOL_CLOCK;
	*slot_of(s, copy) = ++s->n;
	return 0;
}

/* DIR/index/NAME.idx belongs to DIR/NAME; both are found in any order. */
static void pair(struct spool *s, uint32_t number)
{
	const char *name = s->files[number].name, *slash = strrchr(name, '/');
	size_t dir = slash ? (size_t)(slash - name) : 0, n = strlen(name);
	char stream[MESSAGE_NAME + 1];
	uint32_t k;

	if (!ends_with(name, n, ".idx") || !(ends_with(name, dir, "/index") || (dir == 5 && !memcmp(name, "index", 5))))
		return;
	snprintf(stream, sizeof stream, "%.*s%.*s", (int)(dir - 5), name, (int)(n - dir - 5), slash + 1);
	k = find(s, stream);
	if (k == NONE)
		return;
	s->files[number].kind = SPOOL_INDEX;
	s->files[number].partner = k;
	s->files[k].kind = SPOOL_STREAM;
	s->files[k].partner = number;
}

static int look(struct spool *s, int dir, const char *path, int depth);

static int look_at(struct spool *s, int dir, const char *path, const char *name, int depth)
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
		return sub < 0 ? 0 : look(s, sub, whole, depth + 1);
	}
	if (!S_ISREG(st.st_mode) || !message_is_path(whole, s->is_for_watcher) || find(s, whole) != NONE ||
	    spool_is_before(s, whole))
		return 0;
	return add(s, whole);
}

/* Takes the descriptor over. */
static int look(struct spool *s, int fd, const char *path, int depth)
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
			err = look_at(s, fd, path, e->d_name, depth);
	closedir(dir);
	return err;
}

static int look_for_files(struct spool *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t before = s->n;
	int err;

	s->n_skipped = 0;
	err = fd < 0 ? -errno : look(s, fd, "", 0);
	/* An index may have been found before its stream. */
	for (uint32_t i = 0; i < s->n && s->n > before; i++)
		if (s->files[i].kind == SPOOL_OTHER)
			pair(s, i);
	return err;
}

/* ---------------------------------------------------------------- opening */

int spool_open(struct spool *s, const char *path, bool frees, struct quota *quota, struct diag *d)
{
	*s = (struct spool){ .frees = frees, .quota = quota, .fd = -1, .path = path };
	s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->dir < 0 ? diag_errno(d, "cannot open %s", path) : 0;
}

int spool_open_for_watcher(struct spool *s, const char *path, uint64_t from_ns, struct diag *d)
{
	int err = spool_open(s, path, false, NULL, d);

	s->is_for_watcher = true;
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
	n += snprintf(text + n, sizeof text - (size_t)n, " %s %s %s%s\n", h->hello.host, h->hello.session,
		      h->hello.date, frees ? "" : " kept");
	return err ? err : io_write(fd, text, (size_t)n);
}

static int parse_identity(const char *text, struct message *h)
{
	char id[33];

	if (sscanf(text, "%32[0-9a-f] %64s %64s %64s", id, h->hello.host, h->hello.session, h->hello.date) != 4 ||
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

	if (mkdirat(s->dir, ".duet", 0777) && errno != EEXIST)
		return diag_errno(d, "cannot make %s/.duet", s->path);
	*lock = openat(s->dir, ".duet/stream", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (*lock < 0)
		return diag_errno(d, "cannot write %s/.duet/stream", s->path);
	if (fcntl(*lock, F_OFD_SETLK, &whole))
		return diag_fail(d, -EBUSY, "%s is being sent by another duet", s->path);
	n = io_read(*lock, text, sizeof text - 1);
	if (!n) {
		err = write_identity(*lock, h, s->frees);
		return err ? diag_fail(d, err, "%s/.duet/stream: %s", s->path, strerror(-err)) : 0;
	}
	text[n < 0 ? 0 : n] = 0;
	err = parse_identity(text, h);
	return err ? diag_fail(d, err, "%s/.duet/stream is damaged: remove it to send the recording anew", s->path)
		   : 0;
}

/* Pieces that have arrived may be removed here.  A relay is not told of their files any more, so that it has not to
 * keep more and more of them open in its books. */
static void forget_removed(struct spool *s)
{
	struct stat st;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		struct spool_file *f = &s->files[i];

		if (f->acknowledged && f->acknowledged >= f->size && fstatat(s->dir, f->name, &st, AT_SYMLINK_NOFOLLOW)) {
			s->gone_bytes += f->acknowledged;
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
		s->files[i].kind = SPOOL_OTHER;
		s->files[i].partner = NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		pair(s, i);
	if (s->fd >= 0)
		close(s->fd); /* known by its number */
	s->fd = -1;
}

void spool_begin_connection(struct spool *s)
{
	forget_removed(s);
	s->n_announced = s->n_known = 0;
	s->phase = PHASES;
	for (uint32_t i = 0; i < s->n; i++) {
		s->files[i].is_known = false;
		s->files[i].target = 0;
	}
}

/* ---------------------------------------------------------------- rounds */

int spool_open_number(struct spool *s, uint32_t number)
{
	if (s->fd >= 0 && s->fd_number == number)
		return 0;
	if (s->fd >= 0)
		close(s->fd);
	/* To write as well: holes are made through it. */
	s->fd = openat(s->dir, s->files[number].name, (s->frees ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC);
	s->fd_number = number;
	return s->fd < 0 ? -errno : 0;
}

static uint64_t size_now(struct spool *s, uint32_t number)
{
	struct stat st;

	return fstatat(s->dir, s->files[number].name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)
		       ? 0
		       : (uint64_t)st.st_size;
}

static bool is_due(const struct spool_file *f)
{
	return f->sent < f->target;
}

/* After everything that indexes name: what else lies there, a cut packet at the end perhaps. */
static void aim_at_all(struct spool *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (is_due(&s->files[i]))
			return;
	for (uint32_t i = 0; i < s->n; i++)
		s->files[i].target = s->files[i].size;
}

/* The order they are written in, and sent. */
static const enum spool_kind order[PHASES] = { SPOOL_OTHER, SPOOL_STREAM, SPOOL_INDEX, SPOOL_CLOCK };

/* Sizes in the reverse order: what the later ones speak of is in the earlier ones. */
static void note_sizes(struct spool *s)
{
	for (int k = PHASES; k-- > 0;)
		for (uint32_t i = 0; i < s->n; i++)
			if (s->files[i].kind == order[k])
				s->files[i].size = size_now(s, i);
}

int spool_round(struct spool *s, struct diag *d)
{
	int err = look_for_files(s);
	uint32_t n_due = 0;

	if (err)
		return diag_fail(d, err, "%s: %s", s->path,
				 err == -EMFILE ? "more files than a relay takes" : strerror(-err));
	note_sizes(s);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->files[i].kind == SPOOL_OTHER)
			s->files[i].target = s->files[i].size;
	spool_aim(s);
	if (s->is_final && s->n_known == s->n)
		aim_at_all(s);
	for (uint32_t i = 0; i < s->n; i++)
		n_due += is_due(&s->files[i]);
	s->phase = 0;
	s->cursor = 0;
	return n_due > 0;
}

bool spool_next(struct spool *s, struct message *m)
{
	if (s->n_known < s->n)
		return false;
	for (; s->phase < PHASES; s->phase++, s->cursor = 0)
		for (; s->cursor < s->n; s->cursor++) {
			const struct spool_file *f = &s->files[s->cursor];
			uint64_t left = f->is_known && f->sent < f->target ? f->target - f->sent : 0;

			if (f->kind != order[s->phase] || !left)
				continue;
			*m = (struct message){ .type = MESSAGE_DATA };
			m->data.number = s->cursor;
			m->data.offset = f->sent;
			m->data.n = left < MESSAGE_PAYLOAD ? (uint32_t)left : MESSAGE_PAYLOAD;
			return true;
		}
	return false;
}

int spool_read(struct spool *s, const struct message *m, uint8_t *to, struct diag *d)
{
	struct spool_file *f = &s->files[m->data.number];
	int err = spool_open_number(s, m->data.number);
	ssize_t n;

	/* A hole is what was given back: the relay once had it. */
	if (!err && f->kind == SPOOL_STREAM &&
	    (m->data.offset < f->freed || lseek(s->fd, (off_t)m->data.offset, SEEK_DATA) > (off_t)m->data.offset))
		return diag_fail(d, -ENODATA,
				 "%s/%s: the relay has %llu bytes; it had more, which are no longer here: they are lost",
				 s->path, f->name, (unsigned long long)m->data.offset);
	n = err ? err : pread(s->fd, to, m->data.n, (off_t)m->data.offset);
	if (n != (ssize_t)m->data.n)
		return diag_fail(d, n < 0 && !err ? -errno : -EIO, "cannot read %s/%s", s->path, f->name);
	f->sent += m->data.n;
	return 0;
}

/* ---------------------------------------------------------------- acknowledged */

static bool is_of_snapshot(const char *name)
{
	return !strncmp(name, "snapshot-", 9);
}

static void give_back(struct spool *s, uint32_t number)
{
	struct spool_file *f = &s->files[number];
	uint64_t until = f->acknowledged - f->acknowledged % PAGE;

	/* A snapshot was never taken from the quota, and somebody may be reading it here. */
	if (f->kind != SPOOL_STREAM || is_of_snapshot(f->name))
		return;
	if (s->frees && !s->cannot_free && until > f->freed && !spool_open_number(s, number)) {
		if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)f->freed,
			      (off_t)(until - f->freed)))
			s->cannot_free = errno == EOPNOTSUPP || errno == ENOSYS;
		else
			f->freed = until;
	}
	if (s->frees && s->cannot_free)
		return; /* it still lies there */
	if (f->acknowledged > f->returned) {
		quota_give_back(s->quota, f->acknowledged - f->returned);
		f->returned = f->acknowledged;
	}
}

int spool_size(struct spool *s, uint32_t number, uint64_t size, struct diag *d)
{
	struct spool_file *f;

	if (number >= s->n_announced)
		return diag_fail(d, -EPROTO, "the relay speaks of files it was not told of");
	f = &s->files[number];
	if (size > (f->is_known ? f->sent : size_now(s, number)))
		return diag_fail(d, -EPROTO, "%s/%s: the relay has more of it than there is", s->path, f->name);
	if (f->is_known && size < f->acknowledged)
		return diag_fail(d, -EPROTO, "%s/%s: the relay takes back what it had", s->path, f->name);
	if (!f->is_known) {
		f->sent = size;
		s->n_known++;
	}
	f->is_known = true;
	f->acknowledged = size;
	give_back(s, number);
	return 0;
}

bool spool_all_acknowledged(const struct spool *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->files[i].is_known || s->files[i].acknowledged < s->files[i].size)
			return false;
	return s->n > 0;
}

static uint32_t piece_of(const char *name)
{
	unsigned n;

	return sscanf(name, "piece-%u", &n) == 1 ? n : 0;
}

uint32_t spool_pieces(const struct spool *s)
{
	uint32_t finished = 0, missing = UINT32_MAX, n;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct spool_file *f = &s->files[i];

		n = piece_of(f->name);
		if (!n)
			continue;
		if ((!f->is_known || f->acknowledged < f->size) && n < missing)
			missing = n;
		if (ends_with(f->name, strlen(f->name), "/.duet/finished") && n > finished)
			finished = n;
	}
	return finished < missing ? finished : missing - 1;
}

uint64_t spool_bytes(const struct spool *s, bool acknowledged)
{
	uint64_t bytes = s->gone_bytes;

	for (uint32_t i = 0; i < s->n; i++)
		bytes += acknowledged ? s->files[i].acknowledged : s->files[i].size;
	return bytes;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)!remove(path);
	return 0;
}

static bool is_part(const char *name)
{
	return piece_of(name) || !strcmp(name, "ust") || !strcmp(name, "kernel") || !strcmp(name, ".duet") || is_of_snapshot(name);
}

void spool_remove(const char *path)
{
	DIR *dir = opendir(path);
	char part[PATH_MAX];
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_part(e->d_name) && snprintf(part, sizeof part, "%s/%s", path, e->d_name) < (int)sizeof part)
			nftw(part, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	if (dir)
		closedir(dir);
	rmdir(path);
}
