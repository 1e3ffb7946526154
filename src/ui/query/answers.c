/* SPDX-License-Identifier: MIT */
/* ui/query/answers.c - rows with all below them: see answers.h. */
#include "ui/query/answers.h"

#include <stdlib.h>
#include <time.h>

enum { DEEPEST = 8 }; /* host, group or process, thread: parents are fewer */

/* Whether @row or a parent of it was asked for. */
static bool is_below(struct ui_index *x, const bool *is_asked, uint32_t n_rows, uint32_t row)
{
	struct ui_row r;

	for (int i = 0; i < DEEPEST && row < n_rows; i++) {
		if (is_asked[row])
			return true;
		if (!ui_index_row(x, row, &r) || !r.parent)
			return false;
		row = r.parent - 1;
	}
	return false;
}

bool ui_row_set_read(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a,
		     struct ui_row_set *set)
{
	uint32_t *rows = malloc(UI_ROWS_ASKED_MOST * sizeof *rows);
	int n = rows ? ui_param_rows(s, q, a, rows, UI_ROWS_ASKED_MOST) : -1;
	bool *is_asked;

	*set = (struct ui_row_set){ .n_rows = ui_index_n_rows(s->index) };
	if (n > 0) {
		is_asked = calloc(set->n_rows, 1);
		set->has = is_asked ? calloc(set->n_rows, 1) : NULL;
		for (int i = 0; is_asked && i < n; i++)
			is_asked[rows[i]] = true;
		for (uint32_t i = 0; set->has && i < set->n_rows; i++)
			set->has[i] = is_below(s->index, is_asked, set->n_rows, i);
		free(is_asked);
	}
	if (!rows || (n > 0 && !set->has))
		ui_refuse(a, 500, "%s: no memory for %d rows: ask for fewer", q->path, n);
	n = rows && (n <= 0 || set->has) ? n : -1;
	free(rows);
	return n >= 0;
}

void ui_row_set_fini(struct ui_row_set *set)
{
	free(set->has);
	*set = (struct ui_row_set){ 0 };
}

int64_t ui_tracks_of(struct ui_index *x, const struct ui_row_set *set, uint8_t kind,
		     uint32_t **tracks)
{
	uint32_t n = 0, room = 0;
	struct ui_row row;

	*tracks = NULL;
	for (uint32_t r = 0; r < set->n_rows && ui_index_row(x, r, &row); r++) {
		for (uint32_t i = 0; ui_row_set_has(set, r) && i < row.n_tracks; i++) {
			uint32_t track = ui_row_track(x, r, i), *bigger;
			struct ui_track_info info;

			if (!ui_track_info(x, track, &info) || info.kind != kind)
				continue;
			if (n == room) {
				room = room * 2 + 64;
				bigger = reallocarray(*tracks, room, sizeof **tracks);
				if (!bigger) {
					free(*tracks);
					*tracks = NULL;
					return -1;
				}
				*tracks = bigger;
			}
			(*tracks)[n++] = track;
		}
	}
	return n;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t ui_clock_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t ui_work_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
