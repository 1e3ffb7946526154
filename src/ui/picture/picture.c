/* SPDX-License-Identifier: MIT */
/*
 * ui/picture/picture.c - /api/picture: rows as pixels, in at most 120 KB.
 *
 * Each track is read in cells of one pixel, unless it has so many entries that the answer has no room
 * for them: then in cells of several.  If all texts together are still too long, those above a common
 * limit are written again, shorter (lanes.h).  The limit is the largest with which all fit, so quiet rows
 * stay exact beside busy ones.  What then lacks room is named, never dropped in silence.
 */
#include <errno.h>
#include <stdlib.h>

#include "ui/picture/internal.h"
#include "ui/picture/lanes.h"

enum {
	ANSWER_BYTES = 120000,
	FRAME_BYTES = 400, /* the head, the last members, and numbers of rows left out */
	ROW_BYTES = 32,	   /* {"row":N,"tracks":[]}, */
	ROWS_MOST = 1000,
	WIDTH_MOST = 20000,
	WIDTH_LEAST = 64,
	PIXELS_MOST = 1 << 22, /* of all tracks together: the memory that a request takes */
};

struct picture {
	const struct ui_subject *s;
	const struct ui_request *q;
	int64_t from_ns, to_ns;
	uint32_t width;
	uint32_t *rows;
	int n_rows;
	struct lane *lanes;
	uint32_t n_lanes, room;
	struct ui_scan scans[LANE_LEVELS]; /* with cells of 1 << i pixels */
	struct lane_work work;
};

/* A row that is asked for twice is answered once. */
static int drop_repeated(uint32_t *rows, int n)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		int k = 0;

		while (k < kept && rows[k] != rows[i])
			k++;
		if (k == kept)
			rows[kept++] = rows[i];
	}
	return kept;
}

/* ---------------------------------------------------------------- reading */

static uint32_t count_tracks(const struct picture *p)
{
	struct ui_row row;
	uint32_t n = 0;

	for (int i = 0; i < p->n_rows; i++)
		if (ui_index_row(p->s->index, p->rows[i], &row))
			n += row.n_tracks;
	return n;
}

/* Lists the tracks with about the bytes that each has in cells of a pixel. */
static void list_tracks(struct picture *p)
{
	for (int i = 0; i < p->n_rows; i++) {
		uint32_t track;

		for (uint32_t k = 0; p->n_lanes < p->room; k++) {
			struct lane *l = &p->lanes[p->n_lanes];

			track = ui_row_track(p->s->index, p->rows[i], k);
			if (track == UINT32_MAX)
				break;
			l->track = track;
			l->text.size =
				lane_estimate(p->s->index, track, p->from_ns, p->to_ns, p->width);
			p->n_lanes++;
		}
	}
}

/* The largest limit with which all lanes together have at most @most bytes. */
static size_t common_limit(const struct picture *p, size_t most)
{
	size_t low = 0, high = most, sum = 0;

	for (uint32_t i = 0; i < p->n_lanes; i++)
		sum += p->lanes[i].text.size;
	if (sum <= most)
		return SIZE_MAX;
	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		sum = 0;
		for (uint32_t i = 0; i < p->n_lanes; i++)
			sum += p->lanes[i].text.size < middle ? p->lanes[i].text.size : middle;
		if (sum <= most)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* A lane of about @size bytes, read so that it has some more than @limit: that is cut exactly then. */
static int read_lane(struct picture *p, struct lane *l, size_t limit)
{
	size_t size = l->text.size;
	uint32_t track = l->track;
	struct ui_scan *scan;
	int base = 0, err;

	*l = (struct lane){ 0 };
	while (size / 2 > limit && base < LANE_LEVELS - 1 && p->width >> base > 1) {
		size /= 2;
		base++;
	}
	scan = &p->scans[base];
	scan->from_ns = p->from_ns;
	scan->to_ns = p->to_ns;
	scan->width = p->width;
	err = lane_read(l, p->s->index, track, base, scan);
	return err ? err : lane_fit(l, &p->work, SIZE_MAX);
}

/* @most bytes for all.  0; -ECANCELED; -ENOMEM */
static int read_lanes(struct picture *p, size_t most)
{
	size_t limit;
	int err = 0;

	list_tracks(p);
	limit = common_limit(p, most);
	for (uint32_t i = 0; i < p->n_lanes && !err; i++) {
		err = ui_is_cancelled(p->q) ? -ECANCELED : read_lane(p, &p->lanes[i], limit);
		/* The common limit is never less than the mean. */
		if (p->lanes[i].text.size < most / p->n_lanes)
			lane_settle(&p->lanes[i]);
	}
	return err;
}

/* ---------------------------------------------------------------- fitting */

static size_t sum_of(const struct picture *p)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < p->n_lanes; i++)
		sum += p->lanes[i].text.size;
	return sum;
}

static int fit_lanes(struct picture *p, size_t most)
{
	size_t limit = sum_of(p) <= most ? SIZE_MAX : common_limit(p, most);
	int err = 0;

	for (uint32_t i = 0; i < p->n_lanes && !err; i++)
		err = ui_is_cancelled(p->q) ? -ECANCELED : lane_fit(&p->lanes[i], &p->work, limit);
	return err;
}

/* ---------------------------------------------------------------- writing */

/* The lanes of a row, which are side by side from @lane on.  Returns the first one behind them. */
static uint32_t add_row(struct picture *p, struct text *t, uint32_t row, uint32_t lane)
{
	uint32_t end = lane;
	size_t size = ROW_BYTES;

	while (end < p->n_lanes && p->lanes[end].info.row == row)
		size += p->lanes[end++].text.size + 1;
	if (t->size + size > ANSWER_BYTES - FRAME_BYTES)
		return end;
	add(t, t->bytes[t->size - 1] == '[' ? "{" : ",{");
	ui_add_member(t, "row", row);
	add(t, ",\"tracks\":[");
	for (; lane < end; lane++) {
		text_add(t, p->lanes[lane].text.bytes, p->lanes[lane].text.size);
		add(t, lane + 1 < end ? "," : "");
	}
	add(t, "]}");
	return end;
}

static void add_rows(struct picture *p, struct text *t)
{
	uint32_t lane = 0, n_merged = 0, n_left_out = 0;

	for (uint32_t i = 0; i < p->n_lanes; i++)
		n_merged += p->lanes[i].level + p->lanes[i].base > 0;
	ui_add_member(t, "merged", n_merged);
	ui_add_key(t, "rows");
	add(t, "[");
	for (int i = 0; i < p->n_rows; i++) {
		size_t before = t->size;

		lane = add_row(p, t, p->rows[i], lane);
		n_left_out += t->size == before;
	}
	add(t, "]");
	if (n_left_out)
		ui_add_member(t, "rows_left_out", n_left_out);
}

static int make_picture(struct picture *p, struct ui_answer *a)
{
	struct text *t = &a->body;
	struct ui_index_status status;
	size_t most;
	int err;

	ui_index_status(p->s->index, &status);
	add(t, "{");
	ui_add_member(t, "from", p->from_ns);
	ui_add_member(t, "to", p->to_ns);
	ui_add_member(t, "width", p->width);
	ui_add_member(t, "ready", status.ready_ns);
	ui_add_gaps(t, p->s->index, p->from_ns, p->to_ns);
	most = ANSWER_BYTES - FRAME_BYTES - t->size;
	if ((size_t)p->n_rows * ROW_BYTES + p->room < most)
		most -= (size_t)p->n_rows * ROW_BYTES + p->room; /* and a comma for each lane */
	err = read_lanes(p, most);
	if (!err)
		err = fit_lanes(p, most);
	if (!err)
		add_rows(p, t);
	add(t, "}");
	return err || !t->failed ? err : -ENOMEM;
}

/* ---------------------------------------------------------------- the request */

static bool read_request(struct picture *p, struct ui_answer *a)
{
	int64_t width;

	if (!ui_has_recording(p->s, a) || !ui_param_range(p->s, p->q, a, &p->from_ns, &p->to_ns) ||
	    !ui_param_int(p->q, a, "width", 1, WIDTH_MOST, 1000, &width))
		return false;
	p->n_rows = ui_param_rows(p->s, p->q, a, p->rows, ROWS_MOST);
	if (p->n_rows < 0)
		return false;
	p->n_rows = drop_repeated(p->rows, p->n_rows);
	if (p->from_ns == p->to_ns)
		p->to_ns++;
	if (width > p->to_ns - p->from_ns)
		width = p->to_ns - p->from_ns;
	p->room = count_tracks(p);
	while (width > WIDTH_LEAST && p->room * (uint64_t)width > PIXELS_MOST)
		width /= 2;
	p->width = (uint32_t)width;
	return true;
}

void ui_query_picture(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct picture p = { .s = s, .q = q };
	int err;

	p.rows = malloc(ROWS_MOST * sizeof *p.rows);
	if (!p.rows) {
		ui_refuse(a, 500, "no memory for a picture");
		return;
	}
	if (read_request(&p, a)) {
		p.lanes = calloc(p.room + (size_t)1, sizeof *p.lanes);
		err = p.lanes ? lane_work_init(&p.work, p.width) : -ENOMEM;
		if (!err)
			err = make_picture(&p, a);
		if (err == -ECANCELED)
			ui_refuse(a, 500, "nobody waits for this picture any more");
		else if (err)
			ui_refuse(a, 500, "no memory for a picture: ask for fewer rows");
	}
	for (uint32_t i = 0; i < p.n_lanes; i++)
		lane_fini(&p.lanes[i]);
	for (int i = 0; i < LANE_LEVELS; i++)
		ui_scan_fini(&p.scans[i]);
	lane_work_fini(&p.work);
	free(p.lanes);
	free(p.rows);
}
