/* SPDX-License-Identifier: MIT */
/* collect/calls/keep.c - walk over the calls files of a session; copy them and the plans. */
#include "collect/calls/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/calls.h"
#include "base/io.h"
#include "base/monotonic.h"
#include "collect/calls/files.h"
#include "collect/session/slots.h"

#define MOST_DATA (1ull << 30) /* of one file, without its holes */
/*
 * Of all files in one call, so that programs with large files do not stall the collector.  Those of
 * programs that have ended go on in the next pass, a second later; the others are not copied.
 */
#define MOST_OF_ENDED (16ull << 20)
#define MOST_OF_ALL (256ull << 20)
#define FLUSH_NS 10000000u
enum { BUFFER_BYTES = 64 << 10, FLUSH_TRY_US = 500 };

/* ---------------------------------------------------------------- copying */

struct keeping {
	struct calls *c;
	uint64_t left; /* bytes that this call may still copy */
	enum calls_which which;
	const char *path;
	int to; /* DIR/.duet/calls; -1: not needed yet */
	int n, err;
};

/* Copies [*at, end), which is data.  -EAGAIN: the rest is for the next pass. */
static int copy_part(struct keeping *k, int from, int to, uint64_t *at, uint64_t end)
{
	char bytes[BUFFER_BYTES];

	while (*at < end) {
		size_t most = end - *at < sizeof bytes ? (size_t)(end - *at) : sizeof bytes;
		ssize_t n;

		if (!k->left)
			return -EAGAIN;
		most = most < k->left ? most : (size_t)k->left;
		n = pread(from, bytes, most, (off_t)*at);
		if (n <= 0)
			return n ? -errno : 0; /* truncated meanwhile */
		if (!disk_take(k->c->disk, to, disk_blocks(*at, (uint64_t)n), false))
			return -EDQUOT;
		if (lseek(to, (off_t)*at, SEEK_SET) < 0)
			return -errno;
		if (io_write(to, bytes, (size_t)n))
			return -EIO;
		*at += (uint64_t)n;
		k->left -= (uint64_t)n;
	}
	return 0;
}

static int copy_data(struct keeping *k, int from, int to, uint64_t *at, uint64_t size)
{
	uint64_t copied = 0;
	int err = 0;

	while (*at < size && !err && copied < MOST_DATA) {
		off_t begin = lseek(from, (off_t)*at, SEEK_DATA), end;

		if (begin < 0 || (uint64_t)begin >= size)
			break; /* the rest is a hole */
		end = lseek(from, begin, SEEK_HOLE);
		if (end <= begin || (uint64_t)end > size)
			end = (off_t)size;
		*at = (uint64_t)begin;
		err = copy_part(k, from, to, at, (uint64_t)end);
		copied += (uint64_t)(end - begin);
		if (!err)
			*at = (uint64_t)end;
	}
	return !err && ftruncate(to, (off_t)size) ? -errno : err;
}

/* Under a name that no sender takes, until it is complete.  @*at: how far an earlier pass came; it
 * stays if the rest is for the next one, with -EAGAIN. */
static int copy_file(struct keeping *k, int from, uint64_t *at, uint64_t size, int to_dir,
		     const char *name)
{
	char fresh[NAME_MAX + 26];
	struct stat st;
	int to, err;

	snprintf(fresh, sizeof fresh, ".%s", name);
	to = openat(to_dir, fresh, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (to < 0)
		return -errno;
	if (fstat(to, &st) || (uint64_t)st.st_size != *at) /* begun in an earlier trace chunk */
		*at = 0;
	if (!*at && ftruncate(to, 0)) {
		close(to);
		return -errno;
	}
	err = copy_data(k, from, to, at, size);
	close(to);
	if (!err && renameat(to_dir, fresh, to_dir, name))
		err = -errno;
	if (err == -EAGAIN && k->which == CALLS_ALL)
		err = -EFBIG;
	if (err && err != -EAGAIN)
		unlinkat(to_dir, fresh, 0);
	return err;
}

/*
 * The name of the copy: that of the file without "calls-".  If the recording has the file of an
 * earlier program under it, with the number that an earlier program's file has.
 */
static void name_copy(int dir, const struct calls_file *f, char name[CALLS_FILE_NAME_BYTES])
{
	struct abi_calls head = { 0 };
	int fd;

	snprintf(name, CALLS_FILE_NAME_BYTES, "%s", f->name + 6);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
	    head.registered_ns != f->head.registered_ns)
		snprintf(name + strcspn(name, "."), 24, ".%llu",
			 (unsigned long long)f->head.registered_ns);
	close(fd);
}

/* Opens PATH/.duet/@name, and makes it if it is missing. */
static int open_hidden(const char *path, const char *name)
{
	char place[PATH_MAX];
	int err;

	if (snprintf(place, sizeof place, "%s/.duet/%s", path, name) >= (int)sizeof place)
		return -ENAMETOOLONG;
	err = io_make_dirs(place);
	return err ? err : open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The file has room for thousands of threads; the copy has whole areas of those that were used. */
static uint64_t used_size(const struct calls_file *f)
{
	uint64_t at = ABI_CALLS_THREADS_AT;
	off_t data;

	while (at < f->size && (data = lseek(f->fd, (off_t)at, SEEK_DATA)) >= 0) {
		uint64_t area = ((uint64_t)data - ABI_CALLS_THREADS_AT) / ABI_CALLS_THREAD_BYTES;

		at = ABI_CALLS_THREADS_AT + (area + 1) * ABI_CALLS_THREAD_BYTES;
	}
	return at < f->size ? at : f->size;
}

/* Removes the name if it still is that file: the process may have executed another program, which
 * makes a file of the same name. */
static void remove_file(int dir, const struct calls_file *f)
{
	struct stat st, named;

	if (!fstat(f->fd, &st) && !fstatat(dir, f->name, &named, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == named.st_dev && st.st_ino == named.st_ino)
		unlinkat(dir, f->name, 0);
}

/* How far an earlier pass copied this file. */
static uint64_t copied_before(const struct keeping *k, const struct calls_file *f)
{
	const struct calls_copy *c = &k->c->copy;
	struct stat st;

	return k->which == CALLS_ENDED && !strcmp(c->name, f->name) && !fstat(f->fd, &st) &&
			       st.st_ino == c->ino
		       ? c->at
		       : 0;
}

static void note_copy(struct keeping *k, const struct calls_file *f, uint64_t at)
{
	struct calls_copy *c = &k->c->copy;
	struct stat st;

	*c = (struct calls_copy){ .at = at };
	if (fstat(f->fd, &st))
		return;
	c->ino = st.st_ino;
	snprintf(c->name, sizeof c->name, "%s", f->name);
}

static void keep_file(void *arg, const struct calls_file *f)
{
	struct keeping *k = arg;
	char name[CALLS_FILE_NAME_BYTES];
	uint64_t at;
	int err;

	if (k->which == CALLS_ENDED && (f->is_used || !k->left))
		return;
	if (k->to < 0)
		k->to = open_hidden(k->path, "calls");
	if (k->to < 0) {
		k->err = k->to;
		return;
	}
	name_copy(k->to, f, name);
	at = copied_before(k, f);
	err = copy_file(k, f->fd, &at, used_size(f), k->to, name);
	if (err == -EAGAIN) {
		note_copy(k, f, at);
		return;
	}
	if (err)
		k->err = err; /* and it stays, to be copied later */
	else
		k->n++;
	if (!err && !f->is_used)
		remove_file(k->c->dir, f);
}

/* The file that the last pass began, before any other. */
static void keep_begun(struct keeping *k)
{
	char name[CALLS_FILE_NAME_BYTES];
	struct calls_file f;

	snprintf(name, sizeof name, "%s", k->c->copy.name);
	if (!*name || !calls_file_open(k->c->dir, name, &f))
		return;
	if (f.head.epoch == k->c->epoch)
		keep_file(k, &f);
	close(f.fd);
}

/* ---------------------------------------------------------------- plans */

static bool read_plan_head(int dir, const char *name, struct abi_plan *p)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool read = fd >= 0 && pread(fd, p, sizeof *p, 0) == (ssize_t)sizeof *p &&
		    p->magic == ABI_PLAN_MAGIC;

	if (fd >= 0)
		close(fd);
	return read;
}

/* A plan that the recording has is not copied again; a changed one gets its generation's name. */
static int keep_plan(struct keeping *k, int from_dir, const char *name, int to_dir)
{
	uint64_t at = 0;
	char copy[NAME_MAX + 24];
	struct abi_plan p, kept;
	int from, err = 0;
	struct stat st;

	if (!read_plan_head(from_dir, name, &p))
		return 0;
	snprintf(copy, sizeof copy, "%s", name);
	if (read_plan_head(to_dir, copy, &kept)) {
		if (kept.generation == p.generation || strchr(name, '-'))
			return 0;
		snprintf(copy, sizeof copy, "%s-%llu", name, (unsigned long long)p.generation);
		if (read_plan_head(to_dir, copy, &kept))
			return 0;
	}
	from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0)
		return 0; /* replaced; the next time has the new one */
	if (!fstat(from, &st) && S_ISREG(st.st_mode) && st.st_size <= ABI_PLAN_MOST_BYTES)
		err = copy_file(k, from, &at, (uint64_t)st.st_size, to_dir, copy);
	err = err == -EAGAIN ? 0 : err; /* the next pass begins with it */
	close(from);
	return err;
}

bool calls_is_plan_name(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return n >= 2 && n <= 2 * ABI_BUILD_ID_BYTES && !name[n];
}

/* "<build ID>-<generation>": a plan that was replaced while programs used it. */
static bool is_old_plan_name(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");

	return n >= 2 && n <= 2 * ABI_BUILD_ID_BYTES && name[n] == '-' && name[n + 1] &&
	       strspn(name + n + 1, "0123456789") == strlen(name + n + 1);
}

/* The plan of a file without wanted functions is not needed. */
static bool has_sites(int dir, const char *name)
{
	struct abi_plan p;

	return (calls_is_plan_name(name) || is_old_plan_name(name)) &&
	       read_plan_head(dir, name, &p) && p.n_sites;
}

static int keep_plans(struct keeping *k, const char *path)
{
	const struct calls *c = k->c;
	DIR *list = calls_list_directory(c->plans);
	int to = -1, err = 0, one;
	struct dirent *e;

	while (list && (e = readdir(list))) {
		if (!has_sites(c->plans, e->d_name))
			continue;
		if (to < 0)
			to = open_hidden(path, "plans");
		one = to < 0 ? to : keep_plan(k, c->plans, e->d_name, to);
		err = one ? one : err;
	}
	if (list)
		closedir(list);
	if (to >= 0)
		close(to);
	return err;
}

/* Plans first: a calls file is of no use without its plans. */
int calls_keep(struct calls *c, const char *path, enum calls_which which, struct diag *d)
{
	struct keeping k = { .c = c, .path = path, .which = which, .to = -1 };

	if (c->plans < 0)
		return 0;
	k.left = which == CALLS_ENDED ? MOST_OF_ENDED : MOST_OF_ALL;
	k.err = keep_plans(&k, path);
	if (which == CALLS_ENDED)
		keep_begun(&k);
	calls_files_each(c->dir, c->epoch, keep_file, &k);
	if (k.to >= 0)
		close(k.to);
	if (k.err)
		return diag_fail(d, k.err, "cannot copy the calls of programs to %s/.duet: %s",
				 path, strerror(-k.err));
	return k.n;
}

/* ---------------------------------------------------------------- asking programs */

static off_t limit_offset(uint32_t thread)
{
	return (off_t)(ABI_CALLS_THREADS_AT + (uint64_t)thread * ABI_CALLS_THREAD_BYTES +
		       offsetof(struct abi_calls_thread, limit));
}

static uint32_t count_threads(const struct calls_file *f)
{
	return f->head.n_threads < ABI_CALLS_THREADS ? f->head.n_threads : ABI_CALLS_THREADS;
}

/* So that its threads look soon: a limit of 0 is below each position. */
static void set_limits(const struct calls_file *f)
{
	const uint64_t now = 0;
	uint64_t limit;

	for (uint32_t i = 0; i < count_threads(f); i++)
		if (pread(f->fd, &limit, sizeof limit, limit_offset(i)) == (ssize_t)sizeof limit &&
		    limit)
			(void)!pwrite(f->fd, &now, sizeof now, limit_offset(i));
}

static void ask_to_flush(void *arg, const struct calls_file *f)
{
	uint32_t *n_threads = arg;

	if (!f->is_used || f->head.collect)
		return;
	set_limits(f);
	*n_threads += count_threads(f);
}

void calls_ask_to_flush(const struct calls *c)
{
	uint32_t n_threads = 0;

	calls_files_each(c->dir, c->plans < 0 ? UINT64_MAX : c->epoch, ask_to_flush, &n_threads);
}

/* Threads that call no recorded function do not answer; their batches are in the calls file. */
static void count_unanswered(void *arg, const struct calls_file *f)
{
	uint32_t *n = arg;
	uint64_t limit;

	for (uint32_t i = 0; f->is_used && i < count_threads(f); i++)
		*n += pread(f->fd, &limit, sizeof limit, limit_offset(i)) ==
			      (ssize_t)sizeof limit &&
		      !limit;
}

void calls_flush(const struct calls *c)
{
	uint64_t end_ns = monotonic_ns() + FLUSH_NS;
	uint32_t n = 0;

	calls_files_each(c->dir, c->plans < 0 ? UINT64_MAX : c->epoch, ask_to_flush, &n);
	while (n && monotonic_ns() < end_ns) {
		usleep(FLUSH_TRY_US);
		n = 0;
		calls_files_each(c->dir, c->plans < 0 ? UINT64_MAX : c->epoch, count_unanswered,
				 &n);
	}
}

static void want(void *arg, const struct calls_file *f)
{
	const uint64_t *generation = arg;

	if (f->is_used && pwrite(f->fd, generation, sizeof *generation,
				 offsetof(struct abi_calls, wanted)) == (ssize_t)sizeof *generation)
		set_limits(f);
}

void calls_want(const struct calls *c, uint64_t generation)
{
	calls_files_each(c->dir, c->plans < 0 ? UINT64_MAX : c->epoch, want, &generation);
}

static void release(void *arg, const struct calls_file *f)
{
	const uint32_t stop = 1;

	(void)arg;
	if (f->is_used && pwrite(f->fd, &stop, sizeof stop, offsetof(struct abi_calls, collect)) ==
				  (ssize_t)sizeof stop)
		set_limits(f);
}

void calls_release(const struct calls *c)
{
	calls_files_each(c->dir, c->plans < 0 ? UINT64_MAX : c->epoch, release, NULL);
}

/* ---------------------------------------------------------------- leftovers */

struct sweeping {
	int dir;
	struct abi_session_slots slots;
};

static bool is_of_live_session(const struct sweeping *w, uint64_t epoch)
{
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		if (w->slots.at[i].epoch == epoch)
			return strchr(w->slots.at[i].session, '/') ||
			       session_is_live(w->dir, w->slots.at[i].session);
	return false;
}

static void sweep_file(void *arg, const struct calls_file *f)
{
	const struct sweeping *w = arg;

	if (is_of_live_session(w, f->head.epoch))
		return;
	if (f->is_used)
		release(NULL, f);
	else
		remove_file(w->dir, f);
}

void calls_sweep(int dir)
{
	struct sweeping w = { .dir = dir };

	session_slots_read(dir, &w.slots);
	calls_files_each(dir, 0, sweep_file, &w);
}
