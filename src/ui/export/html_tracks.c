/* SPDX-License-Identifier: MIT */
/*
 * ui/export/html_tracks.c - the tracks of one file.
 *
 * They may have 60 % of the room, CPUs and states first, small ones before large ones of a kind.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/public.h"
#include "ui/export/making.h"

enum { TRACKS_PERCENT = 60 };

/* In the order in which they are wanted; and a word for their intervals. */
static const struct {
	uint8_t kind;
	const char *word;
} order[] = {
	{ UI_TRACK_RUNNING, "turns on CPUs" }, { UI_TRACK_STATES, "states of threads" },
	{ UI_TRACK_SPANS, "spans" },	       { UI_TRACK_SYSCALLS, "system calls" },
	{ UI_TRACK_BUSY, "device intervals" }, { UI_TRACK_COUNTER, "values of counters" },
	{ UI_TRACK_CALLS, "function calls" },  { UI_TRACK_EVENTS, "points of events" },
	{ UI_TRACK_SAMPLES, "samples" },
};
enum { N_KINDS = sizeof order / sizeof *order };

static int rank_of(uint8_t kind)
{
	int i = 0;

	while (i < N_KINDS - 1 && order[i].kind != kind)
		i++;
	return i;
}

/* As in pictures: digits of 5 bits, the lowest first. */
static void add_number(struct text *t, uint64_t v)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char out[16];
	size_t n = 0;

	do {
		out[n++] = digits[(v & 31) | (v > 31 ? 32 : 0)];
		v >>= 5;
	} while (v);
	text_add(t, out, n);
}

static void add_signed(struct text *t, int64_t v)
{
	add_number(t, v < 0 ? ((uint64_t)~v << 1) | 1 : (uint64_t)v << 1);
}

static bool is_point(uint8_t kind)
{
	return kind == UI_TRACK_EVENTS || kind == UI_TRACK_SAMPLES || kind == UI_TRACK_COUNTER;
}

/* The bytes of a name in the file, at most. */
static size_t name_bytes(const struct html_making *m, uint32_t name)
{
	const char *text = ui_index_name(m->s->index, name);

	return 6 * strlen(text ? text : "") + 16; /* all escaped, with its number */
}

static void take_name(struct html_making *m, uint32_t name)
{
	if (pass_grow(&m->fresh, &m->n_fresh_rooms, m->n_fresh, sizeof *m->fresh)) {
		m->t->failed = true;
		return;
	}
	m->fresh[m->n_fresh++] = name;
	m->has_name[name] = true;
	m->names_bytes += name_bytes(m, name);
}

/* The newest track is left out, and so are the names that it alone has. */
static void drop_names(struct html_making *m)
{
	for (uint32_t i = 0; i < m->n_fresh; i++) {
		m->has_name[m->fresh[i]] = false;
		m->names_bytes -= name_bytes(m, m->fresh[i]);
	}
}

/* Begin since the end before, length, what, value: those that this kind has. */
static void add_interval(struct html_making *m, struct text *t, uint8_t kind,
			 const struct ui_interval *v, int64_t *at)
{
	int64_t begin = v->begin_ns > *at ? v->begin_ns : *at,
		end = v->end_ns > begin ? v->end_ns : begin;

	add_number(t, (uint64_t)(begin - *at));
	if (!is_point(kind))
		add_number(t, (uint64_t)(end - begin));
	add_number(t, v->what);
	if (kind == UI_TRACK_COUNTER || kind == UI_TRACK_SYSCALLS)
		add_signed(t, v->aux);
	*at = is_point(kind) ? begin : end;
	if (kind != UI_TRACK_STATES && kind != UI_TRACK_RUNNING && v->what < m->n_names &&
	    !m->has_name[v->what])
		take_name(m, v->what);
}

static void make_track(struct html_making *m, const struct html_track *c, struct text *t)
{
	struct ui_interval v = { 0 };
	int64_t at = 0;

	text_addf(t,
		  "{\"id\":%" PRIu32 ",\"row\":%" PRIu32 ",\"kind\":\"%s\",\"depth\":%d,"
		  "\"first\":%" PRIu32 ",\"n\":%" PRIu32 ",\"data\":\"",
		  c->track, c->row, ui_track_kinds[c->info.kind], c->info.depth, c->from,
		  c->to - c->from);
	for (uint32_t i = c->from; i < c->to; i++)
		if (ui_track_get(m->s->index, c->track, i, &v))
			add_interval(m, t, c->info.kind, &v, &at);
	text_addf(t, "\",\"open\":%s}", c->to > c->from && v.is_open ? "true" : "false");
}

static int compare_tracks(const void *a, const void *b)
{
	const struct html_track *x = a, *y = b;
	int p = rank_of(x->info.kind), q = rank_of(y->info.kind);

	if (p != q)
		return p - q;
	if (x->info.depth != y->info.depth)
		return x->info.depth - y->info.depth;
	return x->to - x->from < y->to - y->from ? -1 : x->to - x->from > y->to - y->from;
}

int html_find_tracks(struct html_making *m)
{
	uint32_t room = 0;

	for (uint32_t row = 0; row < m->n_rows; row++) {
		struct ui_row r;

		if (!m->has_row[row] || !ui_index_row(m->s->index, row, &r))
			continue;
		for (uint32_t i = 0; i < r.n_tracks; i++) {
			struct html_track c = { .track = ui_row_track(m->s->index, row, i),
						.row = row };

			if (m->n_tracks == room) {
				struct html_track *more =
					realloc(m->tracks, (room = 2 * room + 64) * sizeof *more);

				if (!more)
					return -ENOMEM;
				m->tracks = more;
			}
			if (!ui_track_info(m->s->index, c.track, &c.info))
				continue;
			c.from = ui_track_find(m->s->index, c.track, m->o->from);
			c.to = ui_track_find(
				m->s->index, c.track,
				m->o->to + (is_point(c.info.kind) && m->o->to >= m->status.end_ns));
			/* the interval at the end, unless it begins there */
			if (!is_point(c.info.kind) && c.to < ui_track_n(m->s->index, c.track)) {
				struct ui_interval v;

				c.to += ui_track_get(m->s->index, c.track, c.to, &v) &&
					v.begin_ns < m->o->to;
			}
			/* a counter has its last value before */
			if (c.info.kind == UI_TRACK_COUNTER && c.from)
				c.from--;
			if (c.to > c.from)
				m->tracks[m->n_tracks++] = c;
		}
	}
	if (m->n_tracks)
		qsort(m->tracks, m->n_tracks, sizeof *m->tracks, compare_tracks);
	return 0;
}

int html_add_tracks(struct html_making *m)
{
	size_t limit = m->most / 100 * TRACKS_PERCENT, spare;
	const char *separator = "";

	add(m->t, ",\"tracks\":[");
	for (uint32_t i = 0; i < m->n_tracks; i++) {
		const struct html_track *c = &m->tracks[i];
		struct text piece = { 0 };

		if (html_is_cancelled(m))
			return -ECANCELED;
		m->n_fresh = 0;
		add(&piece, separator);
		/* intervals have at least four characters, points two */
		if (m->t->size + (uint64_t)(c->to - c->from) * (is_point(c->info.kind) ? 2 : 4) <
		    limit)
			make_track(m, c, &piece);
		else
			piece.size = 0;
		spare = m->rows.size + m->names_bytes + HTML_REST_BYTES;
		if (spare < m->most - limit)
			spare = m->most - limit;
		if (piece.size && html_put(m, &piece, spare)) {
			separator = ",";
		} else {
			m->left_out[c->info.kind] += c->to - c->from;
			drop_names(m);
		}
		text_fini(&piece);
	}
	add(m->t, "]");
	return 0;
}

void html_report_tracks(struct html_making *m)
{
	struct text t = { 0 };

	for (int i = 0; i < N_KINDS; i++)
		if (m->left_out[order[i].kind])
			text_addf(&t, "%s%" PRIu64 " %s", t.size ? ", " : "",
				  m->left_out[order[i].kind], order[i].word);
	if (t.size) {
		add(&t, " are left out: choose a shorter time (--from, --to), fewer rows (--rows), "
			"or a larger file (--size).");
		html_leave_out(m, t.bytes);
	}
	text_fini(&t);
}
