/* SPDX-License-Identifier: MIT */
/*
 * ui/picture/overview.c - /api/overview: use of CPUs and events over the whole recording.
 *
 * All tracks are scanned.  A machine with thousands of threads gets fewer pixels, so that the cost
 * has a limit.
 */
#include <errno.h>
#include <stdlib.h>

#include "ui/picture/internal.h"

enum { WIDTH_MOST = 4000, WIDTH_LEAST = 100, PIXELS_MOST = 1 << 23 };

struct overview {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct ui_scan scan;
	uint64_t *events;
	uint64_t *used_ns; /* by all CPUs together */
	uint32_t n_cpus;
};

static bool has_events(const struct ui_track_info *info)
{
	return info->kind != UI_TRACK_STATES && info->kind != UI_TRACK_RUNNING;
}

static int add_track(struct overview *o, uint32_t track)
{
	struct ui_track_info info;
	bool counts, uses;
	int err;

	if (!ui_track_info(o->s->index, track, &info))
		return 0;
	counts = has_events(&info);
	uses = info.kind == UI_TRACK_RUNNING;
	o->n_cpus += uses;
	if ((!counts && !uses) || !ui_track_n(o->s->index, track))
		return 0;
	err = ui_track_scan(o->s->index, track, &o->scan);
	for (uint32_t x = 0; x < o->scan.n_cells && !err && counts; x++)
		o->events[x] += o->scan.before[x + 1] - o->scan.before[x];
	for (uint32_t x = 0; x < o->scan.n_cells && !err && uses; x++)
		o->used_ns[x] += o->scan.covered[x + 1] - o->scan.covered[x];
	return err;
}

/* Tracks are numbered from 0 on. */
static uint32_t count_tracks(struct ui_index *x)
{
	struct ui_track_info info;
	uint32_t low = 0, high = UINT32_MAX;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ui_track_info(x, middle, &info))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_use(struct overview *o, struct text *t)
{
	ui_add_key(t, "cpu");
	add(t, "[");
	/* without an entry yet nothing was scanned */
	for (uint32_t x = 0; x < o->scan.width && o->n_cpus && o->scan.at; x++) {
		uint64_t all = (uint64_t)(o->scan.at[x + 1] - o->scan.at[x]) * o->n_cpus;
		uint64_t used = o->used_ns[x] < all ? o->used_ns[x] : all;

		add(t, x ? "," : "");
		ui_add_int(t, all ? (int64_t)((double)used / (double)all * 255 + 0.5) : 0);
	}
	add(t, "]");
}

static void add_events(struct overview *o, struct text *t)
{
	ui_add_key(t, "events");
	add(t, "[");
	for (uint32_t x = 0; x < o->scan.width; x++) {
		add(t, x ? "," : "");
		ui_add_int(t, (int64_t)o->events[x]);
	}
	add(t, "]");
}

static int make_overview(struct overview *o, uint32_t n_tracks, struct text *t)
{
	int err = 0;

	o->events = calloc(o->scan.width, sizeof *o->events);
	o->used_ns = calloc(o->scan.width, sizeof *o->used_ns);
	if (!o->events || !o->used_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_tracks && !err; i++)
		err = ui_is_cancelled(o->q) ? -ECANCELED : add_track(o, i);
	if (err)
		return err;
	add(t, "{\"from\":0");
	ui_add_member(t, "to", o->scan.to_ns);
	ui_add_member(t, "width", o->scan.width);
	add_use(o, t);
	add_events(o, t);
	ui_add_gaps(t, o->s->index, 0, o->scan.to_ns);
	add(t, "}");
	return t->failed ? -ENOMEM : 0;
}

void ui_query_overview(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct overview o = { .s = s, .q = q };
	struct ui_index_status status;
	int64_t width, n_tracks;
	int err;

	if (!ui_has_recording(s, a) || !ui_param_int(q, a, "width", 1, WIDTH_MOST, 1000, &width))
		return;
	ui_index_status(s->index, &status);
	n_tracks = count_tracks(s->index);
	o.scan.to_ns = status.end_ns > 0 ? status.end_ns : 1;
	o.scan.least_ns = INT64_MAX;
	width = width < o.scan.to_ns ? width : o.scan.to_ns;
	while (width > WIDTH_LEAST && width * n_tracks > PIXELS_MOST)
		width /= 2;
	o.scan.width = (uint32_t)width;
	err = make_overview(&o, (uint32_t)n_tracks, &a->body);
	if (err == -ECANCELED)
		ui_refuse(a, 500, "nobody waits for this overview any more");
	else if (err)
		ui_refuse(a, 500, "no memory for an overview");
	ui_scan_fini(&o.scan);
	free(o.events);
	free(o.used_ns);
}
