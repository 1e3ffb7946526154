/* SPDX-License-Identifier: MIT */
/*
 * ui/picture/lanes.h - a lane: one track of a picture, as JSON of a size that is asked for.
 *
 * It is read once, in cells of one pixel or, where an answer has no room for more, of several.  Then it
 * may be written at any level: 0 has these cells, each one beyond joins more and is shorter.  Joining
 * adds up; it leaves nothing out.
 */
#ifndef UI_PICTURE_LANES_H
#define UI_PICTURE_LANES_H

#include "ui/query/answer.h"

enum {
	LANE_LEVELS = 16,
	LANE_ITEMS = 2000, /* at most in an answer */
	LANE_SHARES = 8,   /* of a cell: those of enum ui_state, and one unused */
	LANE_WHOLE = 32767,
};

struct lane {
	uint32_t track;
	struct ui_track_info info;
	uint32_t width;	   /* pixels */
	uint32_t n;	   /* cells */
	int base;	   /* of 1 << base pixels */
	const int64_t *at; /* boundaries of cells: the scan's, borrowed */
	double per_ns;	   /* cells */
	int16_t *shares;   /* states: LANE_SHARES a cell, of LANE_WHOLE */
	uint64_t *digits;  /* the same as they are written at level 0, a byte each */
	uint32_t *counts;  /* others: what begins in a cell and is no item at level 0 */
	uint64_t *ns;	   /* intervals: the time that these cover */
	struct ui_scan_item *items;
	uint32_t n_items;
	int64_t *values; /* counters: least, greatest and last; only where counts are not 0 */
	int level;	 /* of `text`; -1: none yet */
	uint32_t n_written;
	struct text text;
};

/* Memory for one lane at a time, for pictures of one width. */
struct lane_work {
	char *runs;
	uint32_t *counts; /* of cells */
	uint64_t *ns;
};
int lane_work_init(struct lane_work *w, uint32_t width); /* 0 or -ENOMEM */
void lane_work_fini(struct lane_work *w);

/* lane_estimate - about how many bytes the text of @track has with cells of a pixel. */
size_t lane_estimate(struct ui_index *x, uint32_t track, int64_t from, int64_t to, uint32_t width);
/* lane_read - @s: with the picture's time and width, and cells of 1 << @base pixels, which stay.  0 or
 * -ENOMEM. */
int lane_read(struct lane *l, struct ui_index *x, uint32_t track, int base, struct ui_scan *s);
/* lane_settle - its text stays as it is: the memory beside it is freed. */
void lane_settle(struct lane *l);
void lane_fini(struct lane *l);
/* lane_fit - its text at the first level at which it has at most @most bytes and LANE_ITEMS items; if
 * there is none, at the last.  0 or -ENOMEM. */
int lane_fit(struct lane *l, struct lane_work *w, size_t most);

#endif
