/* SPDX-License-Identifier: MIT */
/*
 * ui/query/rows.c - /api/recording: what is open, its rows and its names.
 *
 * A row or a name that is added while the answer is made may be in it or not: the version in the
 * answer is older then, and the page asks again.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ui/digest/digest.h"
#include "ui/query/internal.h"
#include "ui/reader/reader.h"

static void add_text_list(struct text *t, const char *name, const char *const *texts, int n)
{
	ui_add_key(t, name);
	add(t, "[");
	for (int i = 0; i < n; i++) {
		add(t, i ? "," : "");
		ui_json_string(t, texts[i], strlen(texts[i]));
	}
	add(t, "]");
}

/* The last part of the first path, and how many others there are. */
static void add_name(const struct ui_subject *s, struct text *t)
{
	const char *path = s->n_paths ? s->paths[0] : "", *slash;
	char name[256];
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	slash = memrchr(path, '/', size ? size - 1 : 0);
	if (slash) {
		size -= (size_t)(slash + 1 - path);
		path = slash + 1;
	}
	if (s->n_paths > 1)
		snprintf(name, sizeof name, "%.*s and %d more", (int)(size > 200 ? 200 : size),
			 path, s->n_paths - 1);
	else
		snprintf(name, sizeof name, "%.*s", (int)(size > 250 ? 250 : size), path);
	ui_add_string(t, "name", name);
}

static void add_bool(struct text *t, const char *name, bool value)
{
	ui_add_key(t, name);
	add(t, value ? "true" : "false");
}

static void add_status(const struct ui_subject *s, struct text *t, const struct ui_index_status *x)
{
	char begin[24];

	add_name(s, t);
	add_text_list(t, "paths", s->paths, s->n_paths);
	snprintf(begin, sizeof begin, "%" PRId64, x->begin_ns);
	ui_add_string(t, "begin", begin);
	ui_add_member(t, "end", x->end_ns);
	ui_add_member(t, "ready", x->ready_ns);
	add_bool(t, "done", x->is_done);
	add_bool(t, "cut", x->is_cut);
	ui_add_key(t, "progress");
	text_addf(t, "%.3f", x->progress > 1 ? 1 : x->progress < 0 ? 0 : x->progress);
	ui_add_member(t, "version", (int64_t)x->version);
	ui_add_member(t, "events", (int64_t)x->n_events);
	ui_add_member(t, "lost", (int64_t)x->lost_events);
	ui_add_member(t, "lost_packets", (int64_t)x->lost_packets);
	ui_add_member(t, "damages", (int64_t)x->n_damages);
	ui_add_string(t, "damage", x->damage);
	ui_add_string(t, "failure", x->failure);
	add_bool(t, "live", s->is_live && !x->is_done);
}

static void add_tracks(const struct ui_subject *s, struct text *t, uint32_t row, uint32_t n)
{
	ui_add_key(t, "tracks");
	add(t, "[");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t track = ui_row_track(s->index, row, i);
		struct ui_track_info info;

		if (!ui_track_info(s->index, track, &info))
			continue;
		add(t, i ? ",{" : "{");
		ui_add_member(t, "id", track);
		ui_add_string(t, "kind", ui_track_kinds[info.kind]);
		ui_add_member(t, "depth", info.depth);
		add(t, "}");
	}
	add(t, "]");
}

static void add_row(const struct ui_subject *s, struct text *t, uint32_t row)
{
	struct ui_row r;

	if (!ui_index_row(s->index, row, &r))
		return;
	add(t, row ? ",{" : "{");
	ui_add_member(t, "id", row);
	ui_add_string(t, "kind", ui_row_kinds[r.kind]);
	ui_add_member(t, "parent", (int64_t)r.parent - 1);
	ui_add_string(t, "name", r.name);
	ui_add_member(t, "pid", r.pid);
	ui_add_member(t, "tid", r.tid);
	ui_add_member(t, "cpu", r.cpu);
	ui_add_member(t, "recording", r.recording);
	ui_add_member(t, "first", r.first_ns);
	ui_add_member(t, "last", r.last_ns);
	if (r.is_partial)
		add_bool(t, "partial", true);
	add_tracks(s, t, row, r.n_tracks);
	add(t, "}");
}

const char *ui_item_name(struct ui_index *x, uint8_t kind, const struct ui_interval *v)
{
	struct ui_row row;

	switch (kind) {
	case UI_TRACK_STATES:
		return v->what < UI_STATES ? ui_state_names[v->what] : "?";
	case UI_TRACK_RUNNING:
		return ui_index_row(x, v->what, &row) ? row.name : "?";
	case UI_TRACK_SAMPLES:
		return "sample";
	case UI_TRACK_COUNTER:
		return "value";
	}
	return ui_index_name(x, v->what);
}

void ui_add_item(struct text *t, struct ui_index *x, uint32_t track, uint32_t index)
{
	struct ui_track_info info;
	struct ui_interval v;

	add(t, "{");
	if (ui_track_info(x, track, &info) && ui_track_get(x, track, index, &v)) {
		ui_add_key(t, "id");
		ui_add_id(t, track, index);
		ui_add_member(t, "from", v.begin_ns);
		ui_add_member(t, "to", v.end_ns);
		ui_add_member(t, "row", info.row);
		ui_add_string(t, "kind", ui_track_kinds[info.kind]);
		ui_add_string(t, "name", ui_item_name(x, info.kind, &v));
	}
	add(t, "}");
}

void ui_query_recording(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct ui_index_status status;
	struct text *t = &a->body;
	int64_t since;

	if (!ui_has_recording(s, a) || !ui_param_int(q, a, "since", 0, INT64_MAX, -1, &since))
		return;
	/* The page that shows it will ask for events and for an area. */
	ui_digest_warm(s->index);
	if (!s->is_live)
		ui_reader_warm(s->index, s->paths, s->n_paths);
	ui_index_status(s->index, &status);
	add(t, "{");
	add_status(s, t, &status);
	if (since < 0 || (uint64_t)since != status.version) {
		uint32_t n_rows = ui_index_n_rows(s->index);
		uint32_t n_names = ui_index_n_names(s->index);

		ui_add_key(t, "rows");
		add(t, "[");
		for (uint32_t i = 0; i < n_rows && !ui_is_cancelled(q); i++)
			add_row(s, t, i);
		add(t, "],\"names\":[");
		for (uint32_t i = 0; i < n_names; i++) {
			const char *name = ui_index_name(s->index, i);

			add(t, i ? "," : "");
			ui_json_string(t, name, strlen(name));
		}
		add(t, "]");
	}
	add(t, "}");
}
