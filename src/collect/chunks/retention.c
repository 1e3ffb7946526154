/* SPDX-License-Identifier: MIT */
/*
 * collect/chunks/retention.c - the relay's retention process: scan the output directory, find what
 * exceeds the limits, and remove it.
 */
#include "collect/chunks/retention.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/chunks/background.h"
#include "collect/drain/files.h"

/*
 * Scans use at most 1/SCAN_SHARE of a CPU.  The priority is low but not the lowest, because the
 * disk would fill.
 */
enum { SCAN_MS = 1000, SCAN_SHARE = 20, NICE = 10 };

/* A trace chunk, or with number 0 a whole recording. */
struct unit {
	char *path; /* of the recording */
	struct trace_chunk trace_chunk;
};

struct scan {
	struct unit *units;
	size_t n, capacity;
};

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---------------------------------------------------------------- scanning */

/* The time of arrival here, because clocks of hosts differ. */
static uint64_t changed_ns(const char *path)
{
	struct stat st;

	return stat(path, &st)
		       ? 0
		       : (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

static void add(struct scan *l, const char *path, struct trace_chunk p)
{
	struct unit *grown;

	if (l->n == l->capacity) {
		grown = reallocarray(l->units, l->capacity ? 2 * l->capacity : 64, sizeof *grown);
		if (!grown)
			return; /* the next scan finds it */
		l->units = grown;
		l->capacity = l->capacity ? 2 * l->capacity : 64;
	}
	l->units[l->n] = (struct unit){ strdup(path), p };
	l->n += l->units[l->n].path != NULL;
}

static uint64_t bytes_below; /* for nftw */

static int add_bytes(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	(void)type;
	(void)at;
	bytes_below += (uint64_t)st->st_blocks * 512;
	return 0;
}

/* Whether the relay's file ends with the line "complete". */
static bool is_complete(const char *path)
{
	static const char complete[] = "complete\n";
	char file[PATH_MAX], end[sizeof complete] = "";
	int fd = snprintf(file, sizeof file, "%s/.duet/relay", path) < (int)sizeof file
			 ? open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;
	bool is_so = fd >= 0 && lseek(fd, -(off_t)strlen(complete), SEEK_END) >= 0 &&
		     io_read(fd, end, strlen(complete)) == (ssize_t)strlen(complete) &&
		     !strcmp(end, complete);

	if (fd >= 0)
		close(fd);
	return is_so;
}

/*
 * The lowest number of a trace chunk that is being received, else UINT32_MAX.  The file that finishes
 * it is created when it is announced, and is written last.
 */
static uint32_t first_unfinished(const char *path)
{
	uint32_t first = UINT32_MAX, n;
	char file[PATH_MAX + 32];
	DIR *dir = opendir(path);
	struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir))) {
		n = trace_chunks_number(e->d_name);
		if (!n || n >= first)
			continue;
		snprintf(file, sizeof file, "%s/piece-%06u/.duet/finished", path, n);
		if (stat(file, &st) || !st.st_size)
			first = n;
	}
	if (dir)
		closedir(dir);
	return first;
}

/*
 * Trace chunks sent together arrive in any order: none counts as older than one with a lower
 * number.
 */
static void age_trace_chunks(const char *path, struct trace_chunk *p, int n)
{
	char file[PATH_MAX + 32];

	for (int i = 0; i < n; i++) {
		snprintf(file, sizeof file, "%s/piece-%06u/.duet/finished", path, p[i].number);
		p[i].end_ns = changed_ns(file);
		if (i && p[i].end_ns < p[i - 1].end_ns)
			p[i].end_ns = p[i - 1].end_ns;
	}
}

/*
 * While a recording is received, a trace chunk is a unit only once those with lower numbers are
 * finished: after its removal the sender's next connection is told that none of them is wanted.
 */
static void add_recording(struct scan *l, const char *path)
{
	char file[PATH_MAX + 32];
	struct trace_chunk *p;
	bool has_ended = is_complete(path);
	uint32_t end;
	int n;

	snprintf(file, sizeof file, "%s/.duet/relay", path);
	if (access(file, F_OK))
		return;					       /* not received by a relay */
	trace_chunks_sweep(path);			       /* left by a killed predecessor */
	end = has_ended ? UINT32_MAX : first_unfinished(path); /* before they are listed */
	n = trace_chunks_list(path, &p);
	age_trace_chunks(path, p, n);
	for (int i = 0; i < n && p[i].number < end; i++)
		add(l, path, p[i]);
	free(p); /* NULL if there are none */
	if (n || !has_ended)
		return;
	bytes_below = 0;
	nftw(path, add_bytes, 16, FTW_PHYS);
	add(l, path, (struct trace_chunk){ .bytes = bytes_below, .end_ns = changed_ns(file) });
}

/* Scans OUTPUT/HOST/RECORDING.  A hidden name is an interrupted removal. */
static void scan_below(struct scan *l, const char *path, int depth)
{
	DIR *dir = opendir(path);
	char below[PATH_MAX];
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    snprintf(below, sizeof below, "%s/%s", path, e->d_name) >= (int)sizeof below)
			continue;
		if (!depth && *e->d_name != '.')
			scan_below(l, below, 1);
		else if (depth && !strncmp(e->d_name, ".removed-", 9))
			files_remove_trace(below);
		else if (depth && *e->d_name != '.')
			add_recording(l, below);
	}
	if (dir)
		closedir(dir);
}

static int by_age(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->trace_chunk.end_ns != y->trace_chunk.end_ns)
		return x->trace_chunk.end_ns < y->trace_chunk.end_ns ? -1 : 1;
	return x->trace_chunk.number < y->trace_chunk.number
		       ? -1
		       : x->trace_chunk.number > y->trace_chunk.number;
}

/* ---------------------------------------------------------------- removal */

/*
 * Records that trace chunks up to @n are removed.  One with a lower number may have been finished
 * later.
 */
static int note_removed(const char *path, uint32_t n)
{
	char file[PATH_MAX], fresh[PATH_MAX], text[32];
	int fd, err;

	if (snprintf(file, sizeof file, "%s/.duet/relay-removed", path) >= (int)sizeof file ||
	    snprintf(fresh, sizeof fresh, "%s/.duet/.relay-removed", path) >= (int)sizeof fresh)
		return -ENAMETOOLONG;
	if (io_read_file(file, text, sizeof text) >= 0 && strtoul(text, NULL, 10) >= n)
		return 0;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	err = io_write(fd, text, (size_t)snprintf(text, sizeof text, "%u\n", n));
	close(fd);
	if (!err && rename(fresh, file))
		err = -errno;
	return err;
}

/* Renames it first, and only if no process receives or follows it. */
static void remove_whole(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char hidden[PATH_MAX];
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir >= 0 && !flock(dir, LOCK_EX | LOCK_NB) && is_complete(path) &&
	    snprintf(hidden, sizeof hidden, "%.*s.removed-%s", (int)(name - path), path, name) <
		    (int)sizeof hidden &&
	    !rename(path, hidden)) {
		close(dir); /* a process that waited for the lock finds it gone */
		files_remove_trace(hidden);
	} else if (dir >= 0) {
		close(dir);
	}
}

static void remove_unit(const struct unit *u)
{
	if (!u->trace_chunk.number)
		remove_whole(u->path);
	else if (!note_removed(u->path, u->trace_chunk.number))
		(void)trace_chunks_remove(u->path,
					  u->trace_chunk.number); /* retried in the next scan */
}

static void remove_old(const struct retention *r, const struct scan *l)
{
	struct trace_chunk *trace_chunks = reallocarray(NULL, l->n + 1, sizeof *trace_chunks);
	int n = trace_chunks ? (int)l->n : 0;

	assert(l->n <= l->capacity);
	for (int i = 0; i < n; i++)
		trace_chunks[i] = l->units[i].trace_chunk;
	n = n ? trace_chunks_count_old(&r->o, trace_chunks, n) : 0;
	free(trace_chunks);
	for (int i = 0; i < n; i++)
		remove_unit(&l->units[i]);
}

static void scan(const struct retention *r)
{
	struct scan l = { .n = 0 };

	scan_below(&l, r->output, 0);
	if (l.n)
		qsort(l.units, l.n, sizeof *l.units, by_age);
	remove_old(r, &l);
	for (size_t i = 0; i < l.n; i++)
		free(l.units[i].path);
	free(l.units);
}

/* ---------------------------------------------------------------- the process */

static void run_retention(void *arg, int alive)
{
	const struct retention *r = arg;
	struct pollfd p = { .fd = alive, .events = POLLIN };
	uint64_t begin_ms, took_ms = 0;

	do {
		begin_ms = cpu_ms();
		scan(r);
		took_ms = cpu_ms() - begin_ms;
	} while (!poll(&p, 1,
		       took_ms * SCAN_SHARE > SCAN_MS ? (int)(took_ms * SCAN_SHARE) : SCAN_MS));
}

void retention_poll(struct retention *r)
{
	const struct background_options o = { .nice = NICE, .run = run_retention, .arg = r };

	if (!(r->o.keep_bytes || r->o.keep_ns || r->o.keep_count) ||
	    (r->pid && waitpid(r->pid, NULL, WNOHANG) != r->pid))
		return;
	retention_end(r);
	(void)background_start(&o, &r->pid, &r->alive); /* if it fails, the next call tries again */
}

void retention_end(struct retention *r)
{
	background_end(&r->pid, &r->alive);
}
