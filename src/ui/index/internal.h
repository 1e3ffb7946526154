/* SPDX-License-Identifier: MIT */
/*
 * ui/index/internal.h - the index in memory, shared by its builder and its readers.
 *
 * One lock guards everything in struct ui_index.  The builder alone changes it.  It reads without the
 * lock, and holds it for writing while it publishes some thousand events, or adds a row or a name.
 * Readers hold it for one look-up.  Names and texts never move or change.
 */
#ifndef UI_INDEX_INTERNAL_H
#define UI_INDEX_INTERNAL_H

#include <pthread.h>

#include "base/atomic.h"
#include "ui/index/track.h"

/* Columns of 16 bits hold names up to NAME_OTHER, which stands for all others there. */
enum { NAME_OTHER = UINT16_MAX, NAMES_MOST = 1 << 24, ROWS_MOST = 1 << 20, NO_ROW = UINT32_MAX };

struct row {
	struct ui_row public;
	uint32_t *tracks;
	uint32_t n_tracks;
};

struct wakes { /* in order of time_ns */
	struct ui_wake *at;
	uint32_t n, room;
};

/* See ui_index_keep(). */
enum { KEPT_MOST = 8 };
struct kept {
	const void *key;
	void *what;
	void (*destroy)(void *what);
};

struct ui_index {
	pthread_rwlock_t lock;
	pthread_t thread;
	bool has_thread;
	uint32_t stops; /* atomic: the builder ends soon */
	char **paths;
	int n_paths;
	struct ui_index_options options;
	uint64_t fingerprint[2]; /* of the recording's files */

	struct row *rows;
	uint32_t n_rows, row_room;
	struct track *tracks;
	uint32_t n_tracks, track_room;
	char **names;
	uint32_t n_names, name_room;
	uint32_t *by_name; /* a table of names by hash, plus 1; a power of two */
	uint32_t n_by_name;
	struct ui_gap *gaps; /* in order of begin_ns */
	uint32_t n_gaps, gap_room;
	struct wakes wakes;
	struct ui_index_status status;
	int64_t known_ns; /* of the last event: open intervals end there */
	size_t bytes;	  /* of all tracks, as last counted */
	void *map;	  /* a cached index: columns lie in it */
	size_t map_bytes;
	pthread_mutex_t keeping; /* of `kept` and n_kept */
	struct kept kept[KEPT_MOST];
	uint32_t n_kept;
};

/* rows.c; the caller holds the lock for writing.  A negative result is -ENOMEM. */
int64_t index_add_row(struct ui_index *x, const struct ui_row *row);
int64_t index_add_track(struct ui_index *x, uint32_t row, uint8_t kind, uint8_t depth);
/* The number of a name, added if it is new. */
int64_t index_name(struct ui_index *x, const char *name, size_t size);
/* The number of a name, -1 if it is new.  The builder needs no lock for it. */
int64_t index_find_name(const struct ui_index *x, const char *name, size_t size);
int index_set_row_name(struct ui_index *x, uint32_t row, const char *name, size_t size);
int index_add_gap(struct ui_index *x, const struct ui_gap *gap);
int index_add_wake(struct ui_index *x, const struct ui_wake *wake);
size_t index_count_bytes(struct ui_index *x);

/* build.c - the builder's thread: reads the recording to its end, or until x->stops. */
void *index_build(void *index);

#endif
