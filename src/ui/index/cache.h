/* SPDX-License-Identifier: MIT */
/*
 * ui/index/cache.h - an index in a file, so that a recording opens at once the next time.
 *
 * The file lies in the recording's directory `.duet`, or, where that cannot be written, in the user's
 * cache directory.  It belongs to the recording's files as they were: their sizes, times and numbers are
 * in its fingerprint.  It is mapped, and read where a picture needs it.
 *
 * Invariants:
 *   (1) a file that another user may write, or that was made for other files, another version or other
 *       options, is not used
 *   (2) whatever the file holds, readers stay within the map: all tables and blocks are checked before
 *       the index is used; values in columns are not, and every one of them is allowed
 *   (3) a file appears whole or not at all
 */
#ifndef UI_INDEX_CACHE_H
#define UI_INDEX_CACHE_H

#include "trace/public.h"
#include "ui/index/internal.h"

enum { CACHE_VERSION = 3 };

/* cache_fingerprint - a number for the files of @t and the options of the index. */
void cache_fingerprint(struct ui_index *x, const struct trace *t);

/* cache_write - write @x, which is complete.  Without a place for it nothing happens. */
void cache_write(struct ui_index *x);

/* cache_read - use the file of an earlier cache_write().  False: there is none that fits; then @x is
 * unchanged but for status.note. */
bool cache_read(struct ui_index *x);

/* The layout: a header, tables, columns; each begins at a multiple of eight bytes. */
struct cache_header {
	char magic[8];
	uint32_t version, header_bytes;
	uint64_t fingerprint[2];
	uint64_t file_bytes;
	uint64_t checksum; /* of the header with 0 here, and of the tables */
	uint64_t tables_end;
	uint64_t rows_at, row_tracks_at, tracks_at, names_at, texts_at, gaps_at, wakes_at;
	uint64_t text_bytes;
	uint32_t n_rows, n_row_tracks, n_tracks, n_names, n_gaps, n_wakes;
	int64_t known_ns;
	struct ui_index_status status;
};

struct cache_row {
	int64_t pid, tid, first_ns, last_ns;
	uint32_t parent, name, recording, first_track, n_tracks;
	int32_t cpu;
	uint32_t kind, is_partial;
};

struct cache_track {
	uint32_t row, n, n_blocks, n_longs, open_what;
	uint8_t kind, depth, has_open, reserved;
	int64_t last_ns, open_ns;
	uint64_t now[UI_STATES];
	uint64_t begins_at, lengths_at, what_at, aux_at, blocks_at, sums_at, longs_at;
};

/* cache_check - cache_read() of @size bytes at @map, 8-byte aligned: for tests too.  Returns NULL and fills
 * @x, or what is wrong. */
const char *cache_check(struct ui_index *x, const void *map, uint64_t size);

#endif
