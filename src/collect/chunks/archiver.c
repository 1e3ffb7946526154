/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/archiver.c - the archiver process: compress, sync and remove trace chunks, one
 * step at a time, and read the collector's messages in between.
 *
 * nftw(3) has no context argument, so its callbacks use file-scope variables; the process has one
 * thread.
 */
#include "collect/chunks/archiver.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/monotonic.h"
#include "base/io.h"
#include "collect/chunks/background.h"
#include "ctf/compressed/compressed.h"

#define MS 1000000ull
#define SECOND 1000000000ull
enum { DEEP = 16, RETRY_MS = 1000 };
enum { WAKE = 'w', END = 'e' };

/* State of the archiver process. */
struct archiving {
	const struct archiver *t;
	int control;
	bool is_ending;
	bool is_orphan;	 /* the collector is gone: another archiver will continue */
	bool has_failed; /* in this round */
	uint64_t sync_due_ns;
};

static uint64_t cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void note(struct archiving *g, const struct diag *d)
{
	struct archiver_status *s = g->t->status;

	if (!s->n_failures)
		snprintf(s->text, sizeof s->text, "%.250s", d->text);
	store_release(&s->n_failures, s->n_failures + 1);
	g->has_failed = true;
}

/* Reads messages; waits up to @timeout_ms for one, -1: without limit. */
static void read_messages(struct archiving *g, int timeout_ms)
{
	struct pollfd p = { .fd = g->control, .events = POLLIN };
	char messages[64];
	ssize_t n;

	if (g->is_ending || poll(&p, 1, timeout_ms) <= 0)
		return;
	n = read(g->control, messages, sizeof messages);
	if (n > 0 && memchr(messages, END, (size_t)n))
		g->is_ending = true;
	else if (!n)
		g->is_orphan = true;
}

/* ---------------------------------------------------------------- synced */

static int sync_error; /* for nftw */

static int sync_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	int fd;

	(void)st;
	(void)at;
	if (type != FTW_F && type != FTW_DP)
		return 0;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0; /* removed meanwhile */
	if (fsync(fd) && errno != EINVAL && !sync_error)
		sync_error = -errno;
	close(fd);
	return 0;
}

/* Syncs files first, then the directories that name them. */
static int sync_tree(const char *path, struct diag *d)
{
	sync_error = 0;
	nftw(path, sync_one, DEEP, FTW_DEPTH | FTW_PHYS);
	return sync_error ? diag_fail(d, sync_error, "cannot force %s onto the disk: %s", path,
				      strerror(-sync_error))
			  : 0;
}

static void sync_trace_chunk(struct archiving *g, uint32_t number)
{
	struct diag d = { "" };
	char path[PATH_MAX];

	assert(number > 0);
	if (trace_chunks_path(path, sizeof path, g->t->path, number, &d) || sync_tree(path, &d))
		return note(g, &d);
	g->t->status->synced = number;
}

/* ---------------------------------------------------------------- compressed */

/* For nftw. */
static struct {
	struct archiving *g;
	size_t base;
	bool only_metadata;
} compressing;

static bool is_packable(const char *path, const char *name)
{
	const char *inside = path + compressing.base;

	return *name != '.' && !compressed_is_name(name) && !strstr(inside, "/.duet/") &&
	       !strstr(inside, "/index/") && !strcmp(name, "metadata") == compressing.only_metadata;
}

static int sync_file(int dir, const char *name)
{
	int fd = io_open_file(dir, name), err = fd < 0 ? fd : 0;

	if (fd >= 0 && fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Compresses NAME into .NAME.zst, renames that to NAME.zst, and removes NAME. */
static int pack_file(int dir, const char *name, uint64_t size)
{
	const struct trace_chunks_options *o = compressing.g->t->o;
	struct archiver_status *s = compressing.g->t->status;
	char hidden[NAME_MAX + 1], packed[NAME_MAX + 1];
	struct diag d = { "" };
	uint64_t out;
	int err;

	if (snprintf(hidden, sizeof hidden, ".%s" COMPRESSED_SUFFIX, name) >= (int)sizeof hidden)
		return 0; /* not a file that we wrote */
	strcpy(packed, hidden + 1);
	err = compressed_write(dir, name, hidden, o->pack_level, &out, &d);
	if (!err && (o->sync_trace_chunks || o->sync_ns) && (err = sync_file(dir, hidden)))
		diag_fail(&d, err, "cannot force %s onto the disk: %s", packed, strerror(-err));
	if (!err && renameat(dir, hidden, dir, packed))
		err = diag_errno(&d, "cannot name %s", packed);
	if (err) {
		unlinkat(dir, hidden, 0);
		note(compressing.g, &d);
		return err;
	}
	if ((o->sync_trace_chunks || o->sync_ns) &&
	    fsync(dir)) /* make the new name durable before the old one is removed */
		return 0;
	unlinkat(dir, name, 0);
	s->plain_bytes += size;
	s->compressed_bytes += out;
	return 0;
}

static int pack_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char parent[PATH_MAX];
	int dir, err;

	/*
	 * Checked for each file: if our collector has died, the next archiver waits for the lock
	 * and must not wait for the whole trace chunk.
	 */
	read_messages(compressing.g, 0);
	if (compressing.g->is_orphan)
		return 1;
	if (type != FTW_F || !is_packable(path, path + at->base) || at->base >= (int)sizeof parent)
		return 0;
	snprintf(parent, sizeof parent, "%.*s", at->base, path);
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	err = pack_file(dir, path + at->base, (uint64_t)st->st_size);
	close(dir);
	return err ? 1 : 0;
}

/*
 * Compresses the metadata first.  A reader that knows only plain files then sees no trace in a
 * half-compressed trace chunk, rather than a damaged one.
 */
static void pack_trace_chunk(struct archiving *g, uint32_t number)
{
	uint64_t cpu_ns = cpu_time_ns();
	char path[PATH_MAX];
	int stopped;

	assert(g->t->o->pack_level > 0);
	if (trace_chunks_path(path, sizeof path, g->t->path, number, NULL))
		return;
	compressing.g = g;
	compressing.base = strlen(path);
	compressing.only_metadata = true;
	stopped = nftw(path, pack_one, DEEP, FTW_PHYS);
	compressing.only_metadata = false;
	if (!stopped)
		stopped = nftw(path, pack_one, DEEP, FTW_PHYS);
	g->t->status->n_packed += !stopped;
	g->t->status->cpu_ns += cpu_time_ns() - cpu_ns;
}

/* ---------------------------------------------------------------- removed */

/*
 * How many exceed the limits.  If retention is wanted at all, finished trace chunks get three quarters
 * of the disk budget: the rest is for one that is written and one that is just finished (rotate.c).
 */
static int count_old(const struct archiving *g, const struct trace_chunk *p, int n, int *for_disk)
{
	struct trace_chunks_options o = *g->t->o;
	uint64_t limit = disk_limit_now(g->t->disk);
	int old = trace_chunks_count_old(&o, p, n), all;

	if (limit == UINT64_MAX || !trace_chunks_are_removed(&o))
		return old;
	limit -= limit / 4;
	if (!o.keep_bytes || limit < o.keep_bytes)
		o.keep_bytes = limit ? limit : 1;
	all = trace_chunks_count_old(&o, p, n);
	if (!all && n && disk_is_over(g->t->disk))
		all = 1; /* the rest of the recording is larger than that */
	*for_disk = all - old;
	return all;
}

/* Of trace chunks [first, n). */
static void publish(const struct archiving *g, const struct trace_chunk *p, int first, int n)
{
	uint64_t bytes = 0;

	if (!g->t->disk)
		return;
	for (int i = first; i < n; i++)
		bytes += p[i].bytes;
	disk_publish(g->t->disk, bytes, n ? p[n - 1].number : disk_archived(g->t->disk).number);
}

static int remove_old(struct archiving *g, const struct trace_chunk *p, int n)
{
	const struct trace_chunks_options *o = g->t->o;
	struct archiver_status *s = g->t->status;
	int for_disk = 0, old = count_old(g, p, n, &for_disk), i, err = 0;
	struct diag d = { "" };

	for (i = 0; i < old && !err; i++) {
		if (o->n_arrived && p[i].number > load_acquire(o->n_arrived))
			break;
		err = trace_chunks_remove(g->t->path, p[i].number);
		if (err) {
			diag_fail(&d, err, "cannot remove trace chunk %u: %s", p[i].number,
				  strerror(-err));
			note(g, &d);
			break;
		}
		s->n_removed++;
		if (g->t->disk && i >= old - for_disk)
			store(&g->t->disk->n_removed, g->t->disk->n_removed + 1);
		s->removed_bytes += p[i].bytes;
	}
	s->n_held = err ? 0 : (uint32_t)(old - i);
	return i;
}

/* ---------------------------------------------------------------- the process */

/*
 * One step: removes old trace chunks, then compresses or syncs one.  Returns whether there may be
 * more work.
 */
static bool do_one_step(struct archiving *g)
{
	const struct trace_chunks_options *o = g->t->o;
	struct archiver_status *s = g->t->status;
	struct trace_chunk *p;
	int n = trace_chunks_list(g->t->path, &p), first, chosen = -1;
	uint32_t waiting = 0;

	if (n <= 0) {
		publish(g, p, 0, 0);
		return false;
	}
	first = remove_old(g, p, n);
	publish(g, p, first, n);
	for (int i = n; i-- > first;) {
		if (o->pack_level && !p[i].is_packed) {
			waiting++;
			chosen = i;
		} else if (!o->pack_level && o->sync_trace_chunks && p[i].number > s->synced) {
			chosen = i;
		}
	}
	s->n_waiting = waiting;
	if (chosen >= 0 && o->pack_level)
		pack_trace_chunk(g, p[chosen].number);
	if (chosen >= 0 && o->sync_trace_chunks && !g->has_failed)
		sync_trace_chunk(g, p[chosen].number);
	free(p);
	return chosen >= 0;
}

static void sync_now(struct archiving *g)
{
	uint64_t now_ns = monotonic_ns();
	struct diag d = { "" };

	if (!g->t->o->sync_ns || (now_ns < g->sync_due_ns && !g->is_ending))
		return;
	if (sync_tree(g->t->path, &d))
		note(g, &d);
	g->sync_due_ns = monotonic_ns() + g->t->o->sync_ns;
}

static int timeout_ms(const struct archiving *g)
{
	const struct trace_chunks_options *o = g->t->o;
	uint64_t ns = g->has_failed ? RETRY_MS * MS : UINT64_MAX, now_ns = monotonic_ns();

	if (o->keep_ns && o->keep_ns / 16 < ns)
		ns = o->keep_ns / 16;
	/* The share shrinks when others write. */
	if ((g->t->status->n_held || (g->t->disk && g->t->disk->rule.shares)) && RETRY_MS * MS < ns)
		ns = RETRY_MS * MS;
	if (o->sync_ns && (g->sync_due_ns > now_ns ? g->sync_due_ns - now_ns : 0) < ns)
		ns = g->sync_due_ns > now_ns ? g->sync_due_ns - now_ns : 0;
	return ns == UINT64_MAX ? -1 : ns / MS > 60000 ? 60000 : (int)(ns / MS) + 1;
}

static void run(struct archiving *g)
{
	bool more;

	trace_chunks_sweep(g->t->path);
	do {
		g->has_failed = false;
		while (do_one_step(g) && !g->has_failed && !g->is_orphan) {
			read_messages(g, 0);
			sync_now(g);
		}
		sync_now(g);
		more = !g->is_ending && !g->is_orphan;
		if (more)
			read_messages(g, timeout_ms(g));
		/* the final message follows the last trace chunk */
	} while (more && !g->is_orphan);
}

static void run_archiver(void *arg, int control)
{
	struct archiving g = { .t = arg, .control = control };
	char path[PATH_MAX];
	int lock;

	snprintf(path, sizeof path, "%s/.duet", g.t->path);
	mkdir(path, 0777);
	strcat(path, "/tidy");
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	/* A predecessor's archiver ends after its current file and then releases the lock. */
	while (lock >= 0 && flock(lock, LOCK_EX) && errno == EINTR)
		;
	run(&g);
}

/* ---------------------------------------------------------------- the collector's side */

bool archiver_is_needed(const struct trace_chunks_options *o)
{
	return o->remove_all || o->keep_bytes || o->keep_ns || o->keep_count || o->pack_level ||
	       o->sync_trace_chunks || o->sync_ns;
}

int archiver_start(struct archiver *t, struct diag *d)
{
	const struct background_options o = {
		.nice = 19, .kept = t->directory, .is_silent = true, .run = run_archiver, .arg = t
	};
	int err = background_start(&o, &t->pid, &t->wake);

	return err ? diag_fail(d, err, "cannot start the archiver of trace chunks: %s",
			       strerror(-err))
		   : 0;
}

static void send_message(struct archiver *t, char what)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction old;

	assert(t->wake >= 0);
	sigaction(SIGPIPE, &ignore, &old);
	(void)!write(t->wake, &what, 1);
	sigaction(SIGPIPE, &old, NULL);
}

void archiver_poll(struct archiver *t)
{
	if (!t || t->pid <= 0 || waitpid(t->pid, NULL, WNOHANG) != t->pid)
		return;
	close(t->wake);
	t->pid = 0;
	archiver_start(t, NULL);
}

void archiver_wake(struct archiver *t)
{
	archiver_poll(t);
	if (t && t->pid > 0)
		send_message(t, WAKE);
}

void archiver_leave(struct archiver *t)
{
	background_end(&t->pid, &t->wake);
}

void archiver_end(struct archiver *t)
{
	archiver_poll(t);
	if (t->pid > 0)
		send_message(t, END);
	archiver_leave(t);
}
