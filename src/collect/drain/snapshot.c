/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/snapshot.c - copy the pools and the kernel's pages at one moment, choose what fits
 * the limits, and write it in steps.
 *
 * --last and --max-size both become one time, and what ends before it is left out.  So application
 * data and kernel data reach back equally far, whichever is larger.
 *
 * A request carries an open directory, or none.  With a directory we write where the client's own
 * rights have led it and follow no path of the client.  Without one the snapshot goes below our own
 * output.
 */
#include "collect/drain/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/drain/files.h"
#include "collect/drain/maps.h"

enum { STEP_BYTES = 4 << 20 };

/* Everything that could be written, to compute the limits. */
struct held_chunks {
	struct held_chunk {
		uint64_t begin_ns, end_ns;
		size_t bytes;
	} * at;
	size_t n, capacity;
	bool failed;
};

static void add_held_chunk(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes)
{
	struct held_chunks *p = arg;

	if (p->n == p->capacity) {
		size_t capacity = p->capacity ? 2 * p->capacity : 256;
		struct held_chunk *at = realloc(p->at, capacity * sizeof *at);

		p->failed |= !at;
		if (!at)
			return;
		p->at = at;
		p->capacity = capacity;
	}
	p->at[p->n++] = (struct held_chunk){ begin_ns, end_ns, bytes };
}

static int compare_newest_first(const void *a, const void *b)
{
	const struct held_chunk *x = a, *y = b;

	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/* The time from which on the newest chunks take no more than @max_bytes. */
static uint64_t find_from_ns(struct held_chunks *p, uint64_t max_bytes)
{
	uint64_t bytes = 0;

	qsort(p->at, p->n, sizeof *p->at, compare_newest_first);
	for (size_t i = 0; i < p->n; i++) {
		bytes += p->at[i].bytes;
		if (bytes > max_bytes)
			return p->at[i].end_ns + 1;
	}
	return 0;
}

/* The first timestamp in the application data if the snapshot begins at @from_ns. */
static uint64_t first_time(const struct held_chunks *p, size_t n_applications, uint64_t from_ns,
			   uint64_t if_none_ns)
{
	uint64_t first_ns = if_none_ns;

	for (size_t i = 0; i < n_applications; i++)
		if (p->at[i].end_ns >= from_ns && p->at[i].begin_ns < first_ns)
			first_ns = p->at[i].begin_ns;
	return first_ns;
}

static int set_bounds(struct snapshot_maker *s, const struct drain_limits *l, struct diag *d)
{
	struct held_chunks p = { 0 }, all;
	uint64_t from_ns;
	size_t n;

	streams_each_copied(s->streams, add_held_chunk, &p);
	n = p.n;
	if (s->kernel)
		kernel_each_held(s->kernel, add_held_chunk, &p);
	for (size_t i = n; i < p.n; i++)
		if (p.at[i].end_ns == UINT64_MAX) /* it is being written */
			p.at[i].end_ns = s->cut_ns;
	all = p;
	all.at = p.failed ? NULL : malloc((p.n + 1) * sizeof *all.at);
	if (!all.at) {
		free(p.at);
		return diag_fail(d, -ENOMEM, "no memory for a snapshot");
	}
	if (p.n)
		memcpy(all.at, p.at, p.n * sizeof *p.at);
	s->from_ns = l->last_ns < s->cut_ns ? s->cut_ns - l->last_ns : 0;
	from_ns = find_from_ns(&all, l->max_bytes);
	if (from_ns > s->from_ns)
		s->from_ns = from_ns;
	streams_names(s->streams, s->names, first_time(&p, n, s->from_ns, s->cut_ns));
	free(all.at);
	free(p.at);
	return 0;
}

/* ---------------------------------------------------------------- the directory */

static int select_own(struct snapshot_maker *s, struct diag *d)
{
	do {
		if (snprintf(s->path, sizeof s->path, "%s/snapshot-%u", s->output, ++s->number) >=
		    (int)sizeof s->path)
			return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", s->output);
	} while (mkdir(s->path, 0777) && errno == EEXIST);
	if (files_whole(s->path, s->shown) != s->shown)
		return diag_errno(d, "cannot make %s", s->path);
	return 0;
}

static int select_given(struct snapshot_maker *s, const struct json_line *request, struct diag *d)
{
	struct stat st;

	if (!json_line_text(request, "path", s->shown, sizeof s->shown))
		strcpy(s->shown, "the directory given");
	if (fstat(s->directory, &st) || !S_ISDIR(st.st_mode))
		return diag_fail(d, -ENOTDIR, "%s: not a directory", s->shown);
	snprintf(s->path, sizeof s->path, "/proc/self/fd/%d", s->directory);
	return files_are_none(s->path) ? 0 : diag_fail(d, -ENOTEMPTY, "%s is not empty", s->shown);
}

/* ---------------------------------------------------------------- the end */

/* Releases everything except the client's socket, which gets its answer last. */
static void release(struct snapshot_maker *s)
{
	if (s->is_kernel_open)
		kernel_snapshot_close(s->kernel, NULL);
	streams_close(s->streams);
	if (s->directory >= 0)
		close(s->directory);
	s->streams = NULL;
	s->is_kernel_open = false;
}

/* Replaces our path in a message by the one that the client gave. */
static void show_path(const struct snapshot_maker *s, struct diag *d)
{
	size_t n = strlen(s->path);
	struct diag shown;
	char *at = n ? strstr(d->text, s->path) : NULL;

	if (!at || snprintf(shown.text, sizeof shown.text, "%.*s%.800s%s", (int)(at - d->text),
			    d->text, s->shown, at + n) < 0)
		return;
	*d = shown;
}

/* Removes a snapshot that could not be written, so that a full disk gets its space back. */
static void fail(struct snapshot_maker *s, struct diag *d)
{
	show_path(s, d);
	if (*s->path)
		files_remove(s->path);
	if (*s->path && s->directory < 0)
		rmdir(s->path);
	release(s);
	if (s->asker < 0) {
		s->ended(s->ended_arg, NULL, d->text);
		return;
	}
	json_line_refuse(s->asker, false, d->text);
	close(s->asker);
}

static void succeed(struct snapshot_maker *s)
{
	struct text t = { 0 };

	text_addf(&t, "{\"ok\":true");
	json_line_add_text(&t, "path", s->shown);
	json_line_add_number(&t, "cut_ns", s->cut_ns + s->clock_offset_ns);
	json_line_add_number(&t, "app_bytes", streams_bytes(s->streams));
	json_line_add_number(&t, "kernel_bytes", s->kernel_bytes);
	release(s);
	if (s->asker >= 0) {
		json_line_send(s->asker, &t, -1);
		close(s->asker);
	} else {
		s->ended(s->ended_arg, s->shown, NULL);
	}
	text_fini(&t);
}

/* ---------------------------------------------------------------- the work */

static int copy_all(struct snapshot_maker *s, const struct drain_limits *limits, struct diag *d)
{
	const struct streams_options o = { .clock_offset_ns = s->clock_offset_ns,
					   .bounds = s->bounds };
	int err = files_open_application(&s->streams, s->session, s->path, 1, &o, d);

	/* A directory that a client gives is at the client's expense. */
	if (!err)
		streams_limit(s->streams, NULL, s->directory < 0 ? s->disk : NULL);
	if (!err)
		err = streams_copy(s->streams, limits, &s->cut_ns, d);
	if (!err && s->kernel)
		err = kernel_take(s->kernel, s->cut_ns, d);
	return err ? err : set_bounds(s, limits, d);
}

static int write_clock(const struct snapshot_maker *s, struct diag *d)
{
	FILE *f = files_open_clock(s->path, &s->session->clock);

	if (!f)
		return diag_errno(d, "cannot write %s/.duet/clock", s->path);
	files_add_clock(f, &s->session->clock, FILES_END);
	fclose(f);
	maps_copy(s->maps, s->path);
	if (s->keep)
		s->keep(s->keep_arg, s->path);
	/* Another file system needs its own copy. */
	if (s->kernel && kernel_has_addresses(s->kernel) &&
	    files_share_kallsyms(s->output, s->path) == -EXDEV)
		files_add_kallsyms(s->path, NULL);
	return 0;
}

static int open_kernel(struct snapshot_maker *s, struct diag *d)
{
	char path[PATH_MAX + 8];
	int err;

	if (!s->kernel)
		return 0;
	snprintf(path, sizeof path, "%s/kernel", s->path);
	err = kernel_snapshot_open(s->kernel, path, s->from_ns, s->directory < 0 ? s->disk : NULL,
				   d);
	s->is_kernel_open = !err;
	return err;
}

static int take_limit(const struct json_line *request, const char *key, uint64_t *limit,
		      struct diag *d)
{
	if (!json_line_has(request, key) || json_line_number(request, key, limit))
		return 0;
	return diag_fail(d, -EINVAL, "`%s` must be an integer, 0 or more", key);
}

void snapshot_begin(struct snapshot_maker *s, const struct json_line *request, int asker,
		    int directory)
{
	struct drain_limits limits = { UINT64_MAX, UINT64_MAX };
	struct diag d = { "" };
	int err;

	assert(!snapshot_is_open(s));
	assert(asker >= 0 || s->ended);
	s->asker = asker;
	s->directory = directory;
	s->path[0] = 0;
	s->kernel_bytes = 0;
	err = take_limit(request, "last_ns", &limits.last_ns, &d);
	if (!err)
		err = take_limit(request, "max_size", &limits.max_bytes, &d);
	if (!err)
		err = directory < 0 ? select_own(s, &d) : select_given(s, request, &d);
	if (err)
		s->path[0] = 0; /* nothing in that directory is ours to remove */
	if (!err)
		err = copy_all(s, &limits, &d);
	if (!err)
		err = write_clock(s, &d);
	if (!err)
		err = open_kernel(s, &d);
	if (err)
		fail(s, &d);
}

/*
 * Writes application data first, then kernel data.  Returns 1 if there is more to do, 0 at the end,
 * or -errno.
 */
static int write_some(struct snapshot_maker *s, struct diag *d)
{
	int more = streams_write_copied(s->streams, s->from_ns, STEP_BYTES, d);
	struct kernel_counts c;

	if (!more && s->is_kernel_open)
		more = kernel_snapshot_step(s->kernel, d);
	if (more)
		return more;
	if (s->is_kernel_open) {
		kernel_snapshot_close(s->kernel, &c);
		s->is_kernel_open = false;
		s->kernel_bytes = c.bytes;
	}
	return streams_finish(s->streams, *s->lost_outside, d);
}

void snapshot_step(struct snapshot_maker *s)
{
	struct diag d = { "" };
	int more = write_some(s, &d);

	assert(snapshot_is_open(s));
	if (more < 0)
		fail(s, &d);
	else if (!more)
		succeed(s);
}
