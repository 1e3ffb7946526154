/* SPDX-License-Identifier: MIT */
/*
 * ui/index/track.h - one track: intervals or points in columns, with sums at the begin of each block.
 *
 * A block has at most 64 entries and the time of its first one; times in it are 32-bit differences.
 * An interval of more than 4 s keeps its length in a table of its own.  States follow each other
 * without gaps, mostly: their lengths are the distances of their begins, and the table has those of
 * states before a gap or a new block.  Columns are as wide as the kind of track needs: a state is 5
 * bytes, a point 6.
 *
 * Invariants:
 *   (1) begins ascend; an interval ends before the next one begins
 *   (2) block[i].sums are those of all entries before block[i].first
 *       (counters: the least and the greatest value in the block)
 *   (3) the open interval, if any, follows all entries and gets their next index when it is closed
 *
 * The caller locks.
 */
#ifndef UI_INDEX_TRACK_H
#define UI_INDEX_TRACK_H

#include <stddef.h>

#include "ui/index/index.h"

enum { TRACK_BLOCK = 64, TRACK_LONG = UINT32_MAX };
/* In the byte of a state: its length is in the table. */
enum { TRACK_IN_TABLE = 0x80 };

struct track_block {
	int64_t base_ns;
	uint32_t first; /* entry */
	uint32_t sums;	/* index of its first sum */
};

struct track_long {
	uint32_t entry;
	int64_t ns;
};

struct track {
	struct ui_track_info info;
	uint32_t n;
	uint32_t *begins;  /* since the base of the block */
	uint32_t *lengths; /* NULL: points, and states */
	void *what;	   /* of what_bytes each */
	void *aux;	   /* of aux_bytes each; NULL: none */
	uint8_t what_bytes, aux_bytes, n_sums;
	struct track_block *blocks;
	uint64_t *sums;
	struct track_long *longs;
	uint32_t n_blocks, n_longs;
	uint32_t room, block_room, long_room;
	bool is_mapped;		 /* columns lie in a mapped file, and nothing is appended */
	int64_t last_ns;	 /* end of the last entry */
	uint64_t now[UI_STATES]; /* sums of all entries */
	bool has_open;
	int64_t open_ns;
	uint32_t open_what;
};

/* track_init - an empty track; its columns by its kind. */
void track_init(struct track *t, const struct ui_track_info *info);
void track_fini(struct track *t);
static inline bool track_is_points(const struct track *t)
{
	return t->info.kind >= UI_TRACK_EVENTS;
}
static inline bool track_has_lengths(const struct track *t)
{
	return !track_is_points(t) && t->info.kind != UI_TRACK_STATES;
}

/* ---------------------------------------------------------------- entries */

static inline uint64_t track_take(const void *column, uint32_t bytes, uint32_t i)
{
	switch (bytes) {
	case 1:
		return ((const uint8_t *)column)[i];
	case 2:
		return ((const uint16_t *)column)[i];
	case 4:
		return ((const uint32_t *)column)[i];
	case 8:
		return ((const uint64_t *)column)[i];
	}
	return 0;
}

/* A state of a mapped track may be anything. */
static inline uint32_t track_what(const struct track *t, uint32_t i)
{
	uint32_t what = (uint32_t)track_take(t->what, t->what_bytes, i);

	if (t->info.kind != UI_TRACK_STATES)
		return what;
	what &= ~(uint32_t)TRACK_IN_TABLE;
	return what < UI_STATES ? what : UI_UNKNOWN;
}

/* Whether the length of interval @i is in the table. */
static inline bool track_is_in_table(const struct track *t, uint32_t i)
{
	return t->lengths ? t->lengths[i] == TRACK_LONG
			  : t->info.kind == UI_TRACK_STATES &&
				    (((const uint8_t *)t->what)[i] & TRACK_IN_TABLE);
}

int64_t track_long_length(const struct track *t, uint32_t i);
int64_t track_last_length(const struct track *t);
static inline int64_t track_length(const struct track *t, uint32_t i)
{
	if (t->lengths)
		return t->lengths[i] != TRACK_LONG ? t->lengths[i] : track_long_length(t, i);
	if (t->info.kind != UI_TRACK_STATES)
		return 0;
	if (((const uint8_t *)t->what)[i] & TRACK_IN_TABLE)
		return track_long_length(t, i);
	return i + 1 < t->n ? t->begins[i + 1] - t->begins[i] : track_last_length(t);
}

/* The index of the sum to which an entry of @what belongs. */
static inline uint32_t track_sum_of(const struct track *t, uint32_t what)
{
	return t->n_sums == 1 || what >= t->n_sums ? 0 : what;
}

static inline uint32_t track_block_end(const struct track *t, uint32_t block)
{
	return block + 1 < t->n_blocks ? t->blocks[block + 1].first : t->n;
}

/* track_add - append [@begin, @end), cut to begin behind the last one.  0 or -ENOMEM, -EFBIG: the
 * track has as many entries as it can. */
int track_add(struct track *t, int64_t begin_ns, int64_t end_ns, uint32_t what, int64_t aux);
struct track_entry {
	int64_t begin_ns, end_ns, aux;
	uint32_t what;
};
/* track_append - the same for @n entries in their order. */
int track_append(struct track *t, const struct track_entry *e, uint32_t n);
/* track_begin, track_end - an interval that is open in between.  track_begin ends an open one. */
int track_begin(struct track *t, int64_t ns, uint32_t what);
int track_end(struct track *t, int64_t ns, int64_t aux);
/* track_drop - the open interval never was. */
void track_drop(struct track *t);

/* With the open interval, which ends at @ready_ns. */
uint32_t track_n(const struct track *t);
bool track_get(const struct track *t, uint32_t i, int64_t ready_ns, struct ui_interval *v);
uint32_t track_read(const struct track *t, uint32_t i, int64_t ready_ns, struct ui_interval *v,
		    uint32_t most);
uint32_t track_find(const struct track *t, int64_t ns);
void track_sums(const struct track *t, int64_t from, int64_t to, int64_t ready_ns,
		struct ui_sums *s);
/* track_bytes - the memory it has taken. */
size_t track_bytes(const struct track *t);
/* track_is_sound - whether columns that came from a file keep (1) and (2) as far as memory safety
 * needs it. */
bool track_is_sound(const struct track *t);

#endif
