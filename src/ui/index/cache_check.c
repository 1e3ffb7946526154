/* SPDX-License-Identifier: MIT */
/*
 * ui/index/cache_check.c - a cached index is checked, and its tracks are put onto the map: see cache.h.
 *
 * Every place and number is compared with what the file has before it is used.  Times are kept so
 * small that sums of a few of them do not overflow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ui/index/cache.h"

#define TIME_MOST ((int64_t)1 << 60)
#define BEGIN_MOST ((int64_t)1 << 62)
enum { DEEPEST = 8 };

struct file {
	const char *bytes;
	uint64_t size;
	const struct cache_header *header;
};

/* Whether @n elements of @size bytes lie at @at, aligned. */
static bool has(const struct file *f, uint64_t at, uint64_t n, uint64_t size)
{
	return !(at & 7) && at <= f->size && n <= (f->size - at) / size;
}

static bool is_time(int64_t ns)
{
	return ns >= -TIME_MOST && ns <= TIME_MOST;
}

static uint64_t checksum_of(const struct file *f)
{
	const size_t at = offsetof(struct cache_header, checksum);
	static const char zeroes[8];
	uint64_t h = 0xcbf29ce484222325ull;

	for (uint64_t i = 0; i < f->header->tables_end; i++) {
		char byte = i >= at && i < at + sizeof zeroes ? 0 : f->bytes[i];

		h = (h ^ (uint8_t)byte) * 0x100000001b3ull;
	}
	return h;
}

static const char *check_header(struct ui_index *x, const struct file *f)
{
	const struct cache_header *h = f->header;

	if (f->size < sizeof *h || memcmp(h->magic, "duetuix", 8) != 0 ||
	    h->version != CACHE_VERSION || h->header_bytes != sizeof *h)
		return "it was made by another version";
	if (memcmp(h->fingerprint, x->fingerprint, sizeof h->fingerprint) != 0)
		return "the recording has changed";
	if (h->file_bytes != f->size || h->tables_end > f->size || h->tables_end < sizeof *h ||
	    checksum_of(f) != h->checksum)
		return "it is damaged";
	if (!has(f, h->rows_at, h->n_rows, sizeof(struct cache_row)) ||
	    !has(f, h->row_tracks_at, h->n_row_tracks, 4) ||
	    !has(f, h->tracks_at, h->n_tracks, sizeof(struct cache_track)) ||
	    !has(f, h->names_at, h->n_names, 4) || !has(f, h->texts_at, h->text_bytes, 1) ||
	    !has(f, h->gaps_at, h->n_gaps, sizeof(struct ui_gap)) ||
	    !has(f, h->wakes_at, h->n_wakes, sizeof(struct ui_wake)) || h->n_rows > ROWS_MOST ||
	    h->n_names > NAMES_MOST || !is_time(h->known_ns) || !is_time(h->status.end_ns) ||
	    h->status.end_ns < 0 || h->status.begin_ns < 0 || h->status.begin_ns > BEGIN_MOST)
		return "it is damaged";
	return NULL;
}

/* ---------------------------------------------------------------- tables */

static bool take_names(struct ui_index *x, const struct file *f)
{
	const struct cache_header *h = f->header;
	const uint32_t *at = (const uint32_t *)(f->bytes + h->names_at);
	const char *texts = f->bytes + h->texts_at;

	x->names = calloc(h->n_names + (size_t)1, sizeof *x->names);
	if (!x->names || (h->text_bytes && texts[h->text_bytes - 1]))
		return false;
	for (x->n_names = 0; x->n_names < h->n_names; x->n_names++) {
		if (at[x->n_names] >= h->text_bytes)
			return false;
		x->names[x->n_names] = (char *)texts + at[x->n_names];
	}
	return true;
}

/* Parents end: a chain of them is short. */
static bool has_end(const struct cache_row *rows, uint32_t n, uint32_t i)
{
	for (int depth = 0; depth < DEEPEST; depth++) {
		if (!rows[i].parent)
			return true;
		i = rows[i].parent - 1;
		if (i >= n)
			return false;
	}
	return false;
}

static bool take_row(struct ui_index *x, const struct file *f, const struct cache_row *c)
{
	const struct cache_header *h = f->header;
	uint32_t *tracks = (uint32_t *)(f->bytes + h->row_tracks_at) + c->first_track;

	if (c->kind > UI_ROW_COUNTER || c->name >= h->n_names || c->first_track > h->n_row_tracks ||
	    c->n_tracks > h->n_row_tracks - c->first_track || !is_time(c->first_ns) ||
	    !is_time(c->last_ns))
		return false;
	for (uint32_t i = 0; i < c->n_tracks; i++)
		if (tracks[i] >= h->n_tracks)
			return false;
	x->rows[x->n_rows++] = (struct row){ .tracks = tracks,
					     .n_tracks = c->n_tracks,
					     .public = { .kind = (uint8_t)c->kind,
							 .parent = c->parent,
							 .name = x->names[c->name],
							 .pid = c->pid,
							 .tid = c->tid,
							 .cpu = c->cpu,
							 .recording = c->recording,
							 .first_ns = c->first_ns,
							 .last_ns = c->last_ns,
							 .is_partial = c->is_partial,
							 .n_tracks = c->n_tracks } };
	return true;
}

static bool take_rows(struct ui_index *x, const struct file *f)
{
	const struct cache_header *h = f->header;
	const struct cache_row *rows = (const struct cache_row *)(f->bytes + h->rows_at);

	x->rows = calloc(h->n_rows + (size_t)1, sizeof *x->rows);
	for (uint32_t i = 0; x->rows && i < h->n_rows; i++)
		if (!has_end(rows, h->n_rows, i) || !take_row(x, f, &rows[i]))
			return false;
	return x->rows;
}

static bool take_gaps(struct ui_index *x, const struct file *f)
{
	const struct cache_header *h = f->header;

	x->gaps = (struct ui_gap *)(f->bytes + h->gaps_at);
	x->n_gaps = h->n_gaps;
	for (uint32_t i = 0; i < x->n_gaps; i++)
		if (!is_time(x->gaps[i].begin_ns) || !is_time(x->gaps[i].end_ns))
			return false;
	x->wakes.at = (struct ui_wake *)(f->bytes + h->wakes_at);
	x->wakes.n = h->n_wakes;
	return true;
}

/* ---------------------------------------------------------------- tracks */

static void *column(const struct file *f, uint64_t at, uint64_t n)
{
	return n ? (void *)(f->bytes + at) : NULL;
}

static bool take_track(struct track *t, const struct file *f, const struct cache_track *c)
{
	const struct ui_track_info info = { c->row, c->kind, c->depth };
	bool has_lengths;

	if (c->kind > UI_TRACK_COUNTER || c->row >= f->header->n_rows || !is_time(c->open_ns) ||
	    (c->n && !is_time(c->last_ns)))
		return false;
	track_init(t, &info);
	has_lengths = track_has_lengths(t);
	if (!has(f, c->begins_at, c->n, 4) || !has(f, c->lengths_at, has_lengths ? c->n : 0, 4) ||
	    !has(f, c->what_at, c->n, t->what_bytes) ||
	    !has(f, c->aux_at, t->aux_bytes ? c->n : 0, t->aux_bytes + !t->aux_bytes) ||
	    !has(f, c->blocks_at, c->n_blocks, sizeof *t->blocks) ||
	    !has(f, c->sums_at, (uint64_t)c->n_blocks * t->n_sums, sizeof *t->sums) ||
	    !has(f, c->longs_at, c->n_longs, sizeof *t->longs))
		return false;
	t->n = c->n;
	t->n_blocks = c->n_blocks;
	t->n_longs = c->n_longs;
	t->begins = column(f, c->begins_at, c->n);
	t->lengths = has_lengths ? column(f, c->lengths_at, c->n) : NULL;
	t->what = column(f, c->what_at, c->n);
	t->aux = t->aux_bytes ? column(f, c->aux_at, c->n) : NULL;
	t->blocks = column(f, c->blocks_at, c->n_blocks);
	t->sums = column(f, c->sums_at, (uint64_t)c->n_blocks * t->n_sums);
	t->longs = column(f, c->longs_at, c->n_longs);
	t->is_mapped = true;
	t->last_ns = c->last_ns;
	memcpy(t->now, c->now, sizeof t->now);
	t->has_open = c->has_open;
	t->open_ns = c->open_ns;
	t->open_what = c->open_what;
	return track_is_sound(t);
}

static bool take_tracks(struct ui_index *x, const struct file *f)
{
	const struct cache_track *c = (const struct cache_track *)(f->bytes + f->header->tracks_at);

	x->tracks = calloc(f->header->n_tracks + (size_t)1, sizeof *x->tracks);
	for (x->n_tracks = 0; x->tracks && x->n_tracks < f->header->n_tracks; x->n_tracks++)
		if (!take_track(&x->tracks[x->n_tracks], f, &c[x->n_tracks]))
			return false;
	return x->tracks;
}

static void take_status(struct ui_index *x, const struct file *f)
{
	struct ui_index_status *s = &x->status;

	*s = f->header->status;
	s->is_done = true;
	s->ready_ns = s->end_ns;
	s->progress = 1;
	s->failure[sizeof s->failure - 1] = s->damage[sizeof s->damage - 1] = 0;
	x->known_ns = f->header->known_ns;
}

static void forget(struct ui_index *x)
{
	free(x->names);
	free(x->rows);
	free(x->tracks);
	x->names = NULL;
	x->rows = NULL;
	x->tracks = NULL;
	x->gaps = NULL;
	x->wakes.at = NULL;
	x->n_names = x->n_rows = x->n_tracks = x->n_gaps = x->wakes.n = 0;
}

const char *cache_check(struct ui_index *x, const void *map, uint64_t size)
{
	const struct file f = { map, size, map };
	const char *wrong = check_header(x, &f);

	if (wrong)
		return wrong;
	if (!take_names(x, &f) || !take_rows(x, &f) || !take_tracks(x, &f) || !take_gaps(x, &f)) {
		forget(x);
		return "it is damaged";
	}
	take_status(x, &f);
	x->map = (void *)map;
	x->map_bytes = size;
	return NULL;
}
