/* SPDX-License-Identifier: MIT */
/*
 * ui/digest/digest.h - intervals of tracks summed by name, over any span: number, errors, sum, shortest,
 * longest, and how they are distributed.
 *
 * An interval counts if it begins in the span and its end was recorded.  4096 intervals of a track make a chunk.
 * Intervals never change, so the sums of a chunk are made once, at the first question, and kept; a span
 * costs two chunks read in part and one look at each between them.
 *
 * Invariants:
 *   (1) numbers, sums, shortest and longest are exact
 *   (2) a distribution is all values of a name, or, of many, the number in each of UI_BINS bins: those
 *       are 32 to a doubling, so a value read from one is at most 1.6 % off
 *   (3) kept chunks take at most 64 MiB; without room or memory a chunk is read again
 */
#ifndef UI_DIGEST_DIGEST_H
#define UI_DIGEST_DIGEST_H

#include "ui/index/index.h"

enum { UI_BINS = 1920, UI_DIGEST_VALUES_MOST = 1 << 18 };

struct ui_sum {
	uint32_t what; /* a name; of UI_TRACK_RUNNING a row */
	uint64_t n, errors, sum, min, max;
	uint32_t max_track, max_i; /* the longest; the first of them */
	uint64_t *values;	   /* n_values of n, ascending after ui_digest_finish() */
	uint64_t n_values;
	uint32_t *bins; /* or UI_BINS of these */
	bool is_filled;
};

struct ui_digest {
	struct ui_index *x;
	int64_t from, to; /* without @to */
	const uint32_t *is_cancelled;
	bool is_plain;	     /* set by the caller: no distributions are wanted */
	struct ui_sum *sums; /* of each name once */
	uint32_t n_sums;
	uint64_t n;	 /* of all */
	bool has_values; /* so few that all their values are kept */
	/* private to digest.c */
	uint32_t room, *of, n_of;	 /* by what: its sum, plus 1 */
	uint32_t n_spread, spreads_most; /* sums that get their bins when they are made */
	struct digests *kept;
	struct digest_scratch *scratch;
	bool is_done;	 /* the index will not grow */
	bool has_failed; /* no memory */
};

struct ui_slow { /* a long one */
	uint64_t ns;
	int64_t begin_ns;
	uint32_t track, i;
};

/* ui_digest_init - sums over [@from, @to) of @x; empty.  0 or -ENOMEM. */
int ui_digest_init(struct ui_digest *g, struct ui_index *x, int64_t from, int64_t to,
		   const uint32_t *is_cancelled);
void ui_digest_fini(struct ui_digest *g);

/* ui_digest_tracks - add the intervals of @tracks. */
void ui_digest_tracks(struct ui_digest *g, const uint32_t *tracks, uint32_t n);
/* ui_digest_get - the sum of @what; NULL: nothing has this name.  Valid until the next call. */
struct ui_sum *ui_digest_get(struct ui_digest *g, uint32_t what);
/* ui_digest_touch - the same, made if there is none; NULL: no memory, or
 * there is no such number. */
struct ui_sum *ui_digest_touch(struct ui_digest *g, uint32_t what);
/* ui_digest_order - sort `sums`. */
void ui_digest_order(struct ui_digest *g, int (*compare)(const void *, const void *));

/*
 * ui_digest_spread - want the distribution of @s; ui_digest_fill - make those that are wanted, of the
 * same tracks as before.
 *
 * All values, if all sums have at most UI_DIGEST_VALUES_MOST together.
 */
void ui_digest_spread(struct ui_digest *g, struct ui_sum *s);
void ui_digest_fill(struct ui_digest *g, const uint32_t *tracks, uint32_t n);

/* ui_digest_warm - once the index is complete, make the chunks of all its tracks, in a thread of its own.
 * Any number of calls. */

void ui_digest_warm(struct ui_index *x);

/* ui_sum_percentile - nearest rank, 0 < @percent <= 100.  ui_sum_is_exact - whether that is exact. */
uint64_t ui_sum_percentile(const struct ui_sum *s, double percent);
static inline bool ui_sum_is_exact(const struct ui_sum *s)
{
	return !s->bins;
}

/* ui_digest_slowest - the longest of @what in @tracks, @most of them, the longest first.  Returns their
 * number. */
uint32_t ui_digest_slowest(struct ui_digest *g, const uint32_t *tracks, uint32_t n_tracks,
			   uint32_t what, struct ui_slow *slow, uint32_t most);

/* Bin of a duration, and its first duration. */
uint32_t ui_bin_of(uint64_t ns);
uint64_t ui_bin_begin(uint32_t bin);

#endif
