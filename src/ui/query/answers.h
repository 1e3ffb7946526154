/* SPDX-License-Identifier: MIT */
/* ui/query/answers.h - what events, area, latency and why share: rows with all below them, and an end
 * of work that takes too long. */
#ifndef UI_QUERY_ANSWERS_H
#define UI_QUERY_ANSWERS_H

#include "ui/query/internal.h"

enum { UI_ROWS_ASKED_MOST = 4096 };

/* Rows that a request is about, and all rows below them. */
struct ui_row_set {
	bool *has; /* by row; NULL: all rows */
	uint32_t n_rows;
};

/* ui_row_set_read - from parameter "rows".  False after it answered what is wrong. */
bool ui_row_set_read(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		     struct ui_row_set *set);
void ui_row_set_fini(struct ui_row_set *set);
static inline bool ui_row_set_has(const struct ui_row_set *set, uint32_t row)
{
	return !set->has || (row < set->n_rows && set->has[row]);
}

/* ui_tracks_of - the tracks of @kind of the rows in @set.  Returns their number, *@tracks to be freed; -1:
 * no memory. */
int64_t ui_tracks_of(struct ui_index *x, const struct ui_row_set *set, uint8_t kind,
		     uint32_t **tracks);

/* ui_clock_ns, ui_work_ns - clocks for bounds of work: time that passes, also for a disk; processor time of
 * this thread, which other load does not change. */
int64_t ui_clock_ns(void);
int64_t ui_work_ns(void);

#endif
