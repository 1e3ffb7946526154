/* SPDX-License-Identifier: MIT */
/* ui/index/cache.c - where the file lies, and how it is written: see cache.h. */
#include "ui/index/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "ui/index/cache.h"

enum { PATH_BYTES = 4096, BUFFER_BYTES = 1 << 18 };

/* ---------------------------------------------------------------- which recording */

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size)
{
	return (hash ^ hash_bytes(bytes, size)) * 0x9E3779B97F4A7C15u;
}

/* The order in which files are found does not matter. */
static void add_file(struct ui_index *x, const char *path)
{
	struct stat st = { 0 };
	int64_t about[6];

	if (stat(path, &st))
		return;
	about[0] = (int64_t)st.st_dev;
	about[1] = (int64_t)st.st_ino;
	about[2] = st.st_size;
	about[3] = st.st_mtim.tv_sec;
	about[4] = st.st_mtim.tv_nsec;
	about[5] = (int64_t)hash_bytes(path, strlen(path));
	x->fingerprint[0] += hash_more(1, about, sizeof about);
	x->fingerprint[1] += hash_more(2, about, sizeof about);
}

void cache_fingerprint(struct ui_index *x, const struct trace *t)
{
	uint64_t about[] = { CACHE_VERSION, sizeof(struct ui_index_status), x->options.most_bytes };
	char path[PATH_BYTES];

	x->fingerprint[0] = hash_more(3, about, sizeof about);
	x->fingerprint[1] = hash_more(4, about, sizeof about);
	for (uint32_t i = 0; i < trace_n_streams(t); i++)
		add_file(x, trace_stream(t, i)->path);
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		snprintf(path, sizeof path, "%s/metadata", trace_source(t, i)->path);
		add_file(x, path);
	}
}

/* ---------------------------------------------------------------- where */

/* Several recordings seen together are another index than each of them. */
static void beside(const struct ui_index *x, char *path)
{
	uint64_t others = 0;

	for (int i = 1; i < x->n_paths; i++)
		others = hash_more(others, x->paths[i], strlen(x->paths[i]));
	if (others)
		snprintf(path, PATH_BYTES, "%s/.duet/ui-index-%016llx", x->paths[0],
			 (unsigned long long)others);
	else
		snprintf(path, PATH_BYTES, "%s/.duet/ui-index", x->paths[0]);
}

/* "" if the user has no cache directory. */
static void in_home(const struct ui_index *x, char *path)
{
	uint64_t key = 0;
	size_t n;

	for (int i = 0; i < x->n_paths; i++) {
		char *whole = realpath(x->paths[i], NULL);

		key = hash_more(key, whole ? whole : x->paths[i],
				strlen(whole ? whole : x->paths[i]));
		free(whole);
	}
	if (!io_cache_directory(path, PATH_BYTES)) {
		*path = 0;
		return;
	}
	n = strlen(path);
	snprintf(path + n, PATH_BYTES - n, "/ui-index-%016llx", (unsigned long long)key);
}

/* ---------------------------------------------------------------- writing */

struct out {
	int fd;
	uint64_t at;
	int err;
	size_t n;
	char buffer[BUFFER_BYTES];
};

static void flush(struct out *o)
{
	if (!o->err)
		o->err = io_write(o->fd, o->buffer, o->n);
	o->n = 0;
}

/* Writes @bytes and fills up to a multiple of eight. */
static void put(struct out *o, const void *bytes, uint64_t size)
{
	static const char zeroes[8];
	uint64_t rest = -size & 7;

	if (o->n + size + 8 > BUFFER_BYTES)
		flush(o);
	o->at += size + rest;
	if (size + 8 > BUFFER_BYTES) {
		if (!o->err)
			o->err = io_write(o->fd, bytes, size);
		size = 0;
	}
	if (size)
		memcpy(o->buffer + o->n, bytes, size);
	memcpy(o->buffer + o->n + size, zeroes, rest);
	o->n += size + rest;
}

static uint64_t place(uint64_t *at, uint64_t n, uint64_t size)
{
	uint64_t here = *at;

	*at += (n * size + 7) & ~7ull;
	return here;
}

static void describe_track(struct cache_track *c, const struct track *t, uint64_t *at)
{
	*c = (struct cache_track){ .row = t->info.row,
				   .n = t->n,
				   .n_blocks = t->n_blocks,
				   .n_longs = t->n_longs,
				   .open_what = t->open_what,
				   .kind = t->info.kind,
				   .depth = t->info.depth,
				   .has_open = t->has_open,
				   .last_ns = t->last_ns,
				   .open_ns = t->open_ns };
	memcpy(c->now, t->now, sizeof c->now);
	c->begins_at = place(at, t->n, 4);
	c->lengths_at = place(at, track_has_lengths(t) ? t->n : 0, 4);
	c->what_at = place(at, t->n, t->what_bytes);
	c->aux_at = place(at, t->n, t->aux_bytes);
	c->blocks_at = place(at, t->n_blocks, sizeof *t->blocks);
	c->sums_at = place(at, (uint64_t)t->n_blocks * t->n_sums, sizeof *t->sums);
	c->longs_at = place(at, t->n_longs, sizeof *t->longs);
}

static void put_track(struct out *o, const struct track *t)
{
	put(o, t->begins, (uint64_t)t->n * 4);
	put(o, t->lengths, track_has_lengths(t) ? (uint64_t)t->n * 4 : 0);
	put(o, t->what, (uint64_t)t->n * t->what_bytes);
	put(o, t->aux, (uint64_t)t->n * t->aux_bytes);
	put(o, t->blocks, t->n_blocks * sizeof *t->blocks);
	put(o, t->sums, (uint64_t)t->n_blocks * t->n_sums * sizeof *t->sums);
	put(o, t->longs, t->n_longs * sizeof *t->longs);
}

/* Header and tables in one piece. */
struct tables {
	char *bytes;
	struct cache_header *header;
};

static void place_tables(const struct ui_index *x, struct cache_header *h)
{
	uint64_t at = (sizeof *h + 7) & ~7ull;

	*h = (struct cache_header){ .magic = "duetuix",
				    .version = CACHE_VERSION,
				    .header_bytes = sizeof *h,
				    .n_rows = x->n_rows,
				    .n_tracks = x->n_tracks,
				    .n_names = x->n_names,
				    .n_gaps = x->n_gaps,
				    .n_wakes = x->wakes.n,
				    .known_ns = x->known_ns };
	memcpy(h->fingerprint, x->fingerprint, sizeof h->fingerprint);
	memcpy(&h->status, &x->status, sizeof h->status);
	for (uint32_t i = 0; i < x->n_rows; i++)
		h->n_row_tracks += x->rows[i].n_tracks;
	for (uint32_t i = 0; i < x->n_names; i++)
		h->text_bytes += strlen(x->names[i]) + 1;
	h->rows_at = place(&at, x->n_rows, sizeof(struct cache_row));
	h->row_tracks_at = place(&at, h->n_row_tracks, 4);
	h->tracks_at = place(&at, x->n_tracks, sizeof(struct cache_track));
	h->names_at = place(&at, x->n_names, 4);
	h->texts_at = place(&at, h->text_bytes, 1);
	h->gaps_at = place(&at, x->n_gaps, sizeof *x->gaps);
	h->tables_end = at;
	h->wakes_at = place(&at, x->wakes.n, sizeof *x->wakes.at);
	h->file_bytes = at;
}

static void fill_rows(const struct ui_index *x, const struct tables *t)
{
	struct cache_row *rows = (struct cache_row *)(t->bytes + t->header->rows_at);
	uint32_t *tracks = (uint32_t *)(t->bytes + t->header->row_tracks_at), n = 0;

	for (uint32_t i = 0; i < x->n_rows; i++) {
		const struct ui_row *r = &x->rows[i].public;
		int64_t name = index_find_name(x, r->name, strlen(r->name));

		rows[i] = (struct cache_row){ .pid = r->pid,
					      .tid = r->tid,
					      .first_ns = r->first_ns,
					      .last_ns = r->last_ns,
					      .parent = r->parent,
					      .name = (uint32_t)(name < 0 ? 0 : name),
					      .recording = r->recording,
					      .first_track = n,
					      .n_tracks = x->rows[i].n_tracks,
					      .cpu = r->cpu,
					      .kind = r->kind,
					      .is_partial = r->is_partial };
		if (x->rows[i].n_tracks)
			memcpy(tracks + n, x->rows[i].tracks, x->rows[i].n_tracks * sizeof *tracks);
		n += x->rows[i].n_tracks;
	}
}

static void fill_texts(const struct ui_index *x, const struct tables *t)
{
	uint32_t *names = (uint32_t *)(t->bytes + t->header->names_at), at = 0;
	char *texts = t->bytes + t->header->texts_at;

	for (uint32_t i = 0; i < x->n_names; i++) {
		size_t size = strlen(x->names[i]) + 1;

		names[i] = at;
		memcpy(texts + at, x->names[i], size);
		at += (uint32_t)size;
	}
	if (x->n_gaps)
		memcpy(t->bytes + t->header->gaps_at, x->gaps, x->n_gaps * sizeof *x->gaps);
}

/* Padding of structures is zero, so that equal indexes are equal files. */
static bool make_tables(const struct ui_index *x, struct tables *t)
{
	struct cache_header h;
	struct cache_track *tracks;

	place_tables(x, &h);
	if (h.text_bytes > UINT32_MAX)
		return false;
	t->bytes = calloc(1, h.tables_end);
	if (!t->bytes)
		return false;
	t->header = (struct cache_header *)t->bytes;
	*t->header = h;
	fill_rows(x, t);
	fill_texts(x, t);
	tracks = (struct cache_track *)(t->bytes + h.tracks_at);
	for (uint32_t i = 0; i < x->n_tracks; i++)
		describe_track(&tracks[i], &x->tracks[i], &t->header->file_bytes);
	t->header->checksum = hash_bytes(t->bytes, h.tables_end);
	return true;
}

static int write_file(const struct ui_index *x, const struct tables *t, int fd)
{
	struct out *o = malloc(sizeof *o);
	int err;

	if (!o)
		return -ENOMEM;
	o->fd = fd;
	o->at = o->n = 0;
	o->err = 0;
	put(o, t->bytes, t->header->tables_end);
	put(o, x->wakes.at, x->wakes.n * sizeof *x->wakes.at);
	for (uint32_t i = 0; i < x->n_tracks && !o->err && !load(&x->stops); i++)
		put_track(o, &x->tracks[i]);
	flush(o);
	err = o->err ? o->err : o->at == t->header->file_bytes ? 0 : -ECANCELED;
	free(o);
	/* A name that survives a crash has all its bytes. */
	return err ? err : fdatasync(fd) ? -errno : 0;
}

static bool write_to(const struct ui_index *x, const struct tables *t, const char *path)
{
	char other[PATH_BYTES + 32];
	int fd, err;

	snprintf(other, sizeof other, "%s.%d", path, (int)getpid());
	unlink(other);
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	err = write_file(x, t, fd);
	close(fd);
	if (!err && rename(other, path))
		err = -errno;
	if (err)
		unlink(other);
	return !err;
}

static void note(struct ui_index *x, const char *what, const char *path)
{
	pthread_rwlock_wrlock(&x->lock);
	snprintf(x->status.note, sizeof x->status.note, "%s%.200s", what, path);
	pthread_rwlock_unlock(&x->lock);
}

void cache_write(struct ui_index *x)
{
	struct tables t = { NULL, NULL };
	char path[PATH_BYTES];
	bool is_written;

	if (!make_tables(x, &t))
		return;
	beside(x, path);
	is_written = write_to(x, &t, path);
	if (!is_written && !load(&x->stops)) {
		in_home(x, path);
		is_written = *path && write_to(x, &t, path);
	}
	free(t.bytes);
	if (is_written)
		note(x, "the index was written to ", path);
	else
		note(x, "the index was not written: there is no place for the file", "");
}

/* ---------------------------------------------------------------- reading */

static bool read_from(struct ui_index *x, const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	const char *wrong = "it belongs to another user, or others may write it";
	struct stat st;
	void *map;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & 022) && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
		wrong = map == MAP_FAILED ? "it cannot be mapped"
					  : cache_check(x, map, (uint64_t)st.st_size);
		if (map != MAP_FAILED && wrong)
			munmap(map, (size_t)st.st_size);
	}
	close(fd);
	snprintf(x->status.note, sizeof x->status.note,
		 wrong ? "the index at %.120s was not used: %.80s"
		       : "the index was read from %.200s",
		 path, wrong ? wrong : "");
	return !wrong;
}

bool cache_read(struct ui_index *x)
{
	char path[PATH_BYTES];

	beside(x, path);
	if (read_from(x, path))
		return true;
	in_home(x, path);
	return *path && read_from(x, path);
}
