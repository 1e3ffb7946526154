/* SPDX-License-Identifier: MIT */
/*
 * ui/item/next.c - /api/next: from item to item of a row or a track.
 *
 * Items are in order of their begin; of one time, in the order of the row's tracks, then of their
 * numbers.  With `id` each item is met once, also where many begin at once.
 */
#include <stdlib.h>

#include "ui/query/answer.h"

struct walk {
	struct ui_index *x;
	int64_t at;
	int direction;
	bool has_id;
	uint32_t track, index; /* of the id */
	bool has_best;
	uint32_t best_track, best_index;
	struct ui_interval best;
};

static bool is_point(uint8_t kind)
{
	return kind >= UI_TRACK_EVENTS;
}

/* The first entry of @track that begins at @ns or later. */
static uint32_t first_from(struct ui_index *x, uint32_t track, int64_t ns)
{
	uint32_t i = ui_track_find(x, track, ns);
	struct ui_interval v;

	/* That which goes on at @ns began before; one that ends there may be empty. */
	while (i && ui_track_get(x, track, i - 1, &v) && v.begin_ns >= ns)
		i--;
	while (ui_track_get(x, track, i, &v) && v.begin_ns < ns)
		i++;
	return i;
}

static void offer(struct walk *w, uint32_t track, uint32_t index)
{
	struct ui_interval v;

	if (!ui_track_get(w->x, track, index, &v))
		return;
	if (w->has_best &&
	    (w->direction > 0 ? v.begin_ns >= w->best.begin_ns : v.begin_ns < w->best.begin_ns))
		return;
	w->has_best = true;
	w->best = v;
	w->best_track = track;
	w->best_index = index;
}

/* @is_later: the track comes behind that of the id, so its items at the same time do too. */
static void walk_track(struct walk *w, uint32_t track, bool is_later)
{
	uint32_t i;

	if (w->has_id && track == w->track) {
		if (w->direction > 0 || w->index)
			offer(w, track, w->index + (uint32_t)w->direction);
		return;
	}
	if (w->direction > 0) {
		offer(w, track, first_from(w->x, track, w->at + !(w->has_id && is_later)));
		return;
	}
	i = first_from(w->x, track, w->at + (w->has_id && !is_later));
	if (i)
		offer(w, track, i - 1);
}

static void walk_row(struct walk *w, uint32_t row)
{
	struct ui_track_info info;
	bool is_later = false;
	uint32_t track;

	for (uint32_t i = 0; (track = ui_row_track(w->x, row, i)) != UINT32_MAX; i++) {
		if (!ui_track_info(w->x, track, &info))
			continue;
		if (info.kind != UI_TRACK_STATES || (w->has_id && track == w->track))
			walk_track(w, track, is_later);
		is_later |= w->has_id && track == w->track;
	}
}

/* The interval of @track that covers the time; the nearest point. */
static void take_at(struct walk *w, uint32_t track)
{
	uint32_t i = ui_track_find(w->x, track, w->at);
	struct ui_track_info info;
	struct ui_interval before, after;
	bool has_before, has_after;

	if (!ui_track_info(w->x, track, &info))
		return;
	has_after = ui_track_get(w->x, track, i, &after);
	has_before = i && ui_track_get(w->x, track, i - 1, &before);
	if (!is_point(info.kind)) {
		if (has_after && after.begin_ns <= w->at)
			offer(w, track, i);
		else if (has_before && before.begin_ns == w->at)
			offer(w, track, i - 1);
	} else if (has_before && (!has_after || w->at - before.begin_ns < after.begin_ns - w->at)) {
		offer(w, track, i - 1);
	} else if (has_after) {
		offer(w, track, i);
	}
}

/* The item where the walk begins, if it is given by its id. */
static bool read_id(struct walk *w, const struct ui_subject *s, const struct ui_request *q,
		    struct ui_answer *a)
{
	struct ui_interval v;

	w->has_id = ui_param(q, "id");
	if (!w->has_id)
		return true;
	if (!ui_param_id(s, q, a, &w->track, &w->index) ||
	    !ui_track_get(w->x, w->track, w->index, &v))
		return false;
	w->at = v.begin_ns;
	return true;
}

static bool read_track(const struct ui_request *q, struct ui_answer *a, struct ui_index *x,
		       int64_t *track)
{
	struct ui_track_info info;

	if (!ui_param_int(q, a, "track", 0, UINT32_MAX - 1, -1, track))
		return false;
	if (*track < 0 || ui_track_info(x, (uint32_t)*track, &info))
		return true;
	ui_refuse(a, 400, "%s: parameter track: there is no track %s", q->path,
		  ui_param(q, "track"));
	return false;
}

void ui_query_next(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct walk w = { .x = s->index };
	int64_t track, direction;
	uint32_t row;

	if (!ui_has_recording(s, a) ||
	    !ui_param_int(q, a, "at", -(1ll << 60), 1ll << 60, 0, &w.at) ||
	    !ui_param_int(q, a, "direction", -1, 1, 1, &direction) ||
	    !read_track(q, a, s->index, &track) || !read_id(&w, s, q, a))
		return;
	w.direction = (int)direction;
	if (track < 0 && !direction) {
		ui_refuse(a, 400, "%s: direction 0 needs the parameter track", q->path);
		return;
	}
	if (track < 0 && !ui_param_row(s, q, a, "row", &row))
		return;
	if (track < 0)
		walk_row(&w, row);
	else if (!direction)
		take_at(&w, (uint32_t)track);
	else
		walk_track(&w, (uint32_t)track, false);
	if (w.has_best)
		ui_add_item(&a->body, w.x, w.best_track, w.best_index);
	else
		add(&a->body, "{}");
}
