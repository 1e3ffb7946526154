/* SPDX-License-Identifier: MIT */
/* ui/digest/chunks.c - 4096 intervals of a track summed by name, made once and kept: see digest.h. */
#include "ui/digest/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"

enum { KEPT_BYTES = 64 << 20 };

static const char digests_key;

/* ---------------------------------------------------------------- bins */

uint32_t ui_bin_of(uint64_t ns)
{
	uint32_t power;

	if (ns < 32)
		return (uint32_t)ns;
	power = 63 - (uint32_t)__builtin_clzll(ns);
	return (power - 4) * 32 + (uint32_t)(ns >> (power - 5) & 31);
}

uint64_t ui_bin_begin(uint32_t bin)
{
	return bin < 64 ? bin : (uint64_t)(32 + bin % 32) << (bin / 32 - 1);
}

/* ---------------------------------------------------------------- kept chunks */

static void *digests_make(void *context)
{
	struct digests *k = calloc(1, sizeof *k);

	if (!k)
		return NULL;
	pthread_mutex_init(&k->lock, NULL);
	k->x = context;
	return k;
}

static void digests_destroy(void *kept)
{
	struct digests *k = kept;

	store(&k->stops, 1);
	if (k->has_thread)
		pthread_join(k->thread, NULL);
	for (uint32_t i = 0; i < k->n_tracks; i++) {
		for (uint32_t c = 0; c < k->tracks[i].n; c++)
			free(k->tracks[i].chunks[c]);
		free(k->tracks[i].chunks);
	}
	free(k->tracks);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

const struct chunk *chunk_find(struct digests *k, uint32_t track, uint32_t chunk)
{
	const struct chunk *c = NULL;

	pthread_mutex_lock(&k->lock);
	if (track < k->n_tracks && chunk < k->tracks[track].n)
		c = k->tracks[track].chunks[chunk];
	pthread_mutex_unlock(&k->lock);
	return c;
}

static bool has_room(struct digests *k, uint32_t track, uint32_t chunk)
{
	uint32_t n = track + track / 2 + 64;

	if (track >= k->n_tracks) {
		void *bigger = reallocarray(k->tracks, n, sizeof *k->tracks);

		if (!bigger)
			return false;
		k->tracks = bigger;
		memset(k->tracks + k->n_tracks, 0, (n - k->n_tracks) * sizeof *k->tracks);
		k->n_tracks = n;
	}
	n = chunk + chunk / 2 + 4;
	if (chunk >= k->tracks[track].n) {
		struct chunk **bigger = reallocarray(k->tracks[track].chunks, n, sizeof *bigger);

		if (!bigger)
			return false;
		memset(bigger + k->tracks[track].n, 0, (n - k->tracks[track].n) * sizeof *bigger);
		k->tracks[track].chunks = bigger;
		k->tracks[track].n = n;
	}
	return true;
}

/* Another thread may have kept the same. */
bool chunk_keep(struct digests *k, uint32_t track, uint32_t chunk, struct chunk *c)
{
	size_t bytes = sizeof *c + c->n_parts * sizeof *c->parts + c->n_bins * sizeof *c->bins;
	bool is_kept = false;

	pthread_mutex_lock(&k->lock);
	if (k->bytes + bytes <= KEPT_BYTES && has_room(k, track, chunk) &&
	    !k->tracks[track].chunks[chunk]) {
		k->tracks[track].chunks[chunk] = c;
		k->bytes += bytes;
		is_kept = true;
	}
	pthread_mutex_unlock(&k->lock);
	return is_kept;
}

/* ---------------------------------------------------------------- a chunk is made */

static uint32_t part_of(struct digest_scratch *s, uint32_t what, uint32_t *n_parts)
{
	uint32_t h = (what * 0x9E3779B9u) >> 19;

	assert(h < TABLE);
	while (s->table[h] && s->parts[s->table[h] - 1].what != what)
		h = (h + 1) % TABLE;
	if (!s->table[h]) {
		s->parts[*n_parts] = (struct part){ .what = what, .min = UINT64_MAX };
		s->table[h] = ++*n_parts;
	}
	return s->table[h] - 1;
}

/* The bins of each part: its intervals are brought together first. */
static uint32_t make_bins(struct digest_scratch *s, uint32_t n, uint32_t n_parts)
{
	uint32_t begin = 0, n_bins = 0;

	for (uint32_t p = 0; p < n_parts; p++) {
		s->parts[p].first_bin = begin; /* of its intervals in `order`, for now */
		begin += s->parts[p].n;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!s->read[i].is_cut)
			s->order[s->parts[s->part_of[i]].first_bin++] = i;
	begin = 0;
	for (uint32_t p = 0; p < n_parts; p++) {
		uint32_t end = s->parts[p].first_bin;
		uint32_t low = ui_bin_of(s->parts[p].min), high = ui_bin_of(s->parts[p].max);

		s->parts[p].first_bin = n_bins;
		for (uint32_t k = begin; k < end; k++)
			s->counts[ui_bin_of(length_of(&s->read[s->order[k]]))]++;
		for (uint32_t b = low; b <= high; b++)
			if (s->counts[b]) {
				s->bins[n_bins++] = (struct bin){ (uint16_t)b, s->counts[b] };
				s->counts[b] = 0;
			}
		s->parts[p].n_bins = n_bins - s->parts[p].first_bin;
		begin = end;
	}
	return n_bins;
}

struct chunk *chunk_make(struct digest_scratch *s, uint32_t first, uint32_t n)
{
	uint32_t n_parts = 0, n_bins;
	struct chunk *c;

	memset(s->table, 0, sizeof s->table);
	for (uint32_t i = 0; i < n; i++) {
		if (s->read[i].is_cut)
			continue;
		s->part_of[i] = part_of(s, s->read[i].what, &n_parts);
		add_to_part(&s->parts[s->part_of[i]], &s->read[i], first + i);
	}
	n_bins = make_bins(s, n, n_parts);
	c = malloc(sizeof *c + n_parts * sizeof *c->parts + n_bins * sizeof *c->bins);
	if (!c)
		return NULL;
	c->n_parts = n_parts;
	c->n_bins = n_bins;
	c->bins = (struct bin *)&c->parts[n_parts];
	memcpy(c->parts, s->parts, n_parts * sizeof *c->parts);
	memcpy(c->bins, s->bins, n_bins * sizeof *c->bins);
	return c;
}

struct digests *digests_of(struct ui_index *x)
{
	return ui_index_keep(x, &digests_key, digests_make, x, digests_destroy);
}

/* ---------------------------------------------------------------- made before they are asked for */

/* False: there is no room for more. */
static bool warm_track(struct digests *k, struct digest_scratch *s, uint32_t track)
{
	uint32_t n = ui_track_n(k->x, track);

	for (uint32_t i = 0; i * (uint64_t)CHUNK < n && !load(&k->stops); i++) {
		uint32_t got = chunk_find(k, track, i)
				       ? 0
				       : ui_track_read(k->x, track, i * CHUNK, s->read, CHUNK);
		struct chunk *made;

		got -= got && s->read[got - 1].is_open;
		if (!got)
			continue;
		made = chunk_make(s, i * CHUNK, got);
		if (!made || chunk_keep(k, track, i, made))
			continue;
		free(made);
		if (!chunk_find(k, track, i))
			return false;
	}
	return true;
}

static bool has_names(uint8_t kind)
{
	return kind == UI_TRACK_RUNNING || kind == UI_TRACK_SPANS || kind == UI_TRACK_SYSCALLS ||
	       kind == UI_TRACK_CALLS || kind == UI_TRACK_EVENTS;
}

static void *warm_all(void *digests)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	struct digests *k = digests;
	struct digest_scratch *s = malloc(sizeof *s);
	struct ui_index_status status = { .is_done = false };
	struct ui_track_info info;
	bool has_room = s;

	for (ui_index_status(k->x, &status); !status.is_done && !load(&k->stops);
	     ui_index_status(k->x, &status))
		nanosleep(&pause, NULL);
	if (s)
		memset(s->counts, 0, sizeof s->counts);
	for (uint32_t i = 0; has_room && !load(&k->stops) && ui_track_info(k->x, i, &info); i++)
		if (has_names(info.kind))
			has_room = warm_track(k, s, i);
	free(s);
	return NULL;
}

void ui_digest_warm(struct ui_index *x)
{
	struct digests *k = digests_of(x);

	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	if (!k->has_thread)
		k->has_thread = !pthread_create(&k->thread, NULL, warm_all, k);
	pthread_mutex_unlock(&k->lock);
}
