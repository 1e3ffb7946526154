/* SPDX-License-Identifier: MIT */
/*
 * ui/export/html_data.c - rows, tracks, events and prepared answers as JSON: docs/formats/ui.md, "One
 * file".
 *
 * Tracks may have 60 % of the room, CPUs and states first, small ones before large ones of a kind;
 * then come wakeups, flame graphs, and the events as text with all that is left.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/public.h"
#include "base/atomic.h"
#include "ui/export/internal.h"
#include "ui/query/answer.h"

enum { WAKES_MOST = 4096, GAPS_MOST = 1000, TRACKS_PERCENT = 60, REST_BYTES = 4096 };

struct chosen {			       /* a track */
	uint32_t track, row, from, to; /* its intervals */
	struct ui_track_info info;
};

struct making {
	const struct ui_subject *s;
	const struct html_options *o;
	struct html_result *result;
	struct diag *d;
	struct text *t;
	size_t most; /* of *t */
	struct ui_index_status status;
	bool *has_row, *has_name;
	uint32_t n_rows, n_names;
	struct text rows;   /* made first, so that there is room for them */
	size_t names_bytes; /* room for all names so far */
	uint32_t *fresh;    /* names that only the newest track has */
	uint32_t n_fresh, n_fresh_rooms;
	struct chosen *tracks;
	uint32_t n_tracks;
	uint64_t left_out[UI_TRACK_COUNTER + 1]; /* intervals, by kind of track */
};

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

static bool is_cancelled(const struct making *m)
{
	return m->o->is_cancelled && load(m->o->is_cancelled);
}

/* Adds the JSON @piece if it fits, and @spare bytes with it. */
static bool put(struct making *m, const struct text *piece, size_t spare)
{
	size_t before = m->t->size;

	if (piece->failed) {
		m->t->failed = true;
		return false;
	}
	html_escape(m->t, piece->bytes, piece->size);
	if (m->t->failed || m->t->size + spare <= m->most)
		return true;
	m->t->size = before;
	return false;
}

static void leave_out(struct making *m, const char *sentence)
{
	char *to = m->result->left_out;
	size_t n = strlen(to);

	snprintf(to + n, sizeof m->result->left_out - n, "%s%s", n ? "\n" : "", sentence);
}

/* ---------------------------------------------------------------- rows */

/* With all rows above @row. */
static void take_row(struct making *m, uint32_t row)
{
	struct ui_row r;

	while (row < m->n_rows && !m->has_row[row] && ui_index_row(m->s->index, row, &r)) {
		m->has_row[row] = true;
		row = r.parent - 1;
	}
}

/* Whether one of the rows above @row was asked for. */
static bool is_below_chosen(const struct making *m, uint32_t row)
{
	struct ui_row r;

	for (int depth = 0; depth < 8 && ui_index_row(m->s->index, row, &r); depth++) {
		for (int i = 0; i < m->o->n_rows; i++)
			if (m->o->rows[i] == row)
				return true;
		if (!r.parent)
			return false;
		row = r.parent - 1;
	}
	return false;
}

static int choose_rows(struct making *m)
{
	m->n_rows = ui_index_n_rows(m->s->index);
	m->n_names = ui_index_n_names(m->s->index);
	m->has_row = calloc(m->n_rows + (size_t)1, sizeof *m->has_row);
	m->has_name = calloc(m->n_names + (size_t)1, sizeof *m->has_name);
	if (!m->has_row || !m->has_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (!m->o->n_rows || is_below_chosen(m, i))
			take_row(m, i);
	return 0;
}

/* ---------------------------------------------------------------- tracks */

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
static size_t name_bytes(const struct making *m, uint32_t name)
{
	const char *text = ui_index_name(m->s->index, name);

	return 6 * strlen(text ? text : "") + 16; /* all escaped, with its number */
}

static void take_name(struct making *m, uint32_t name)
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
static void drop_names(struct making *m)
{
	for (uint32_t i = 0; i < m->n_fresh; i++) {
		m->has_name[m->fresh[i]] = false;
		m->names_bytes -= name_bytes(m, m->fresh[i]);
	}
}

/* Begin since the end before, length, what, value: those that this kind has. */
static void add_interval(struct making *m, struct text *t, uint8_t kind,
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

static void make_track(struct making *m, const struct chosen *c, struct text *t)
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
	const struct chosen *x = a, *y = b;
	int p = rank_of(x->info.kind), q = rank_of(y->info.kind);

	if (p != q)
		return p - q;
	if (x->info.depth != y->info.depth)
		return x->info.depth - y->info.depth;
	return x->to - x->from < y->to - y->from ? -1 : x->to - x->from > y->to - y->from;
}

static int find_tracks(struct making *m)
{
	uint32_t room = 0;

	for (uint32_t row = 0; row < m->n_rows; row++) {
		struct ui_row r;

		if (!m->has_row[row] || !ui_index_row(m->s->index, row, &r))
			continue;
		for (uint32_t i = 0; i < r.n_tracks; i++) {
			struct chosen c = { .track = ui_row_track(m->s->index, row, i),
					    .row = row };

			if (m->n_tracks == room) {
				struct chosen *more =
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

static int add_tracks(struct making *m)
{
	size_t limit = m->most / 100 * TRACKS_PERCENT, spare;
	const char *separator = "";

	add(m->t, ",\"tracks\":[");
	for (uint32_t i = 0; i < m->n_tracks; i++) {
		const struct chosen *c = &m->tracks[i];
		struct text piece = { 0 };

		if (is_cancelled(m))
			return -ECANCELED;
		m->n_fresh = 0;
		add(&piece, separator);
		/* intervals have at least four characters, points two */
		if (m->t->size + (uint64_t)(c->to - c->from) * (is_point(c->info.kind) ? 2 : 4) <
		    limit)
			make_track(m, c, &piece);
		else
			piece.size = 0;
		spare = m->rows.size + m->names_bytes + REST_BYTES;
		if (spare < m->most - limit)
			spare = m->most - limit;
		if (piece.size && put(m, &piece, spare)) {
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

static void report_tracks(struct making *m)
{
	struct text t = { 0 };

	for (int i = 0; i < N_KINDS; i++)
		if (m->left_out[order[i].kind])
			text_addf(&t, "%s%" PRIu64 " %s", t.size ? ", " : "",
				  m->left_out[order[i].kind], order[i].word);
	if (t.size) {
		add(&t, " are left out: choose a shorter time (--from, --to), fewer rows (--rows), "
			"or a larger file (--size).");
		leave_out(m, t.bytes);
	}
	text_fini(&t);
}

/* ---------------------------------------------------------------- names, rows, wakeups, gaps */

static int make_rows(struct making *m)
{
	const char *separator = "";
	struct text t = { 0 };
	struct ui_row r;

	add(&t, ",\"rows\":[");
	for (uint32_t i = 0; i < m->n_rows; i++) {
		if (!m->has_row[i] || !ui_index_row(m->s->index, i, &r))
			continue;
		text_addf(&t,
			  "%s{\"id\":%" PRIu32 ",\"kind\":\"%s\",\"parent\":%" PRId64 ",\"name\":",
			  separator, i, ui_row_kinds[r.kind], (int64_t)r.parent - 1);
		ui_json_string(&t, r.name, strlen(r.name));
		text_addf(&t,
			  ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"cpu\":%" PRId32
			  ",\"first\":%" PRId64 ",\"last\":%" PRId64 "%s}",
			  r.pid, r.tid, r.cpu, r.first_ns, r.last_ns,
			  r.is_partial ? ",\"partial\":true" : "");
		separator = ",";
	}
	add(&t, "]");
	html_escape(&m->rows, t.bytes, t.size);
	m->rows.failed |= t.failed;
	text_fini(&t);
	if (m->rows.failed)
		return -ENOMEM;
	return m->rows.size + REST_BYTES < m->most
		       ? 0
		       : diag_fail(m->d, -EFBIG,
				   "the file has no room for %" PRIu32 " rows: choose fewer "
				   "(--rows), or a larger file (--size)",
				   m->n_rows);
}

static void add_rows(struct making *m)
{
	const char *separator = "";
	struct text t = { 0 };

	text_add(m->t, m->rows.bytes, m->rows.size);
	add(&t, ",\"names\":[");
	for (uint32_t i = 0; i < m->n_names; i++) {
		const char *name = m->has_name[i] ? ui_index_name(m->s->index, i) : NULL;

		if (!name)
			continue;
		text_addf(&t, "%s[%" PRIu32 ",", separator, i);
		ui_json_string(&t, name, strlen(name));
		add(&t, "]");
		separator = ",";
	}
	add(&t, "]");
	html_escape(m->t, t.bytes, t.size);
	m->t->failed |= t.failed;
	text_fini(&t);
}

static void add_wakes(struct making *m)
{
	struct ui_wake *wakes = calloc(WAKES_MOST, sizeof *wakes);
	struct text t = { 0 };
	const char *separator = "";

	add(&t, ",\"wakes\":[");
	for (uint32_t row = 0; wakes && row < m->n_rows; row++) {
		struct ui_row r;
		uint32_t n;

		if (!m->has_row[row] || !ui_index_row(m->s->index, row, &r) ||
		    r.kind != UI_ROW_THREAD)
			continue;
		n = ui_index_wakes(m->s->index, row, false, m->o->from, m->o->to, wakes,
				   WAKES_MOST);
		for (uint32_t i = 0; i < n; i++) {
			text_addf(&t, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu32 "]",
				  separator, wakes[i].time_ns, wakes[i].runs_ns,
				  (int64_t)wakes[i].waker - 1, wakes[i].woken);
			separator = ",";
		}
	}
	add(&t, "]");
	if (!put(m, &t, REST_BYTES)) {
		leave_out(m,
			  "Wakeups are left out: choose a shorter time or a larger file (--size).");
		add(m->t, ",\"wakes\":[]");
	}
	free(wakes);
	text_fini(&t);
}

static void add_gaps(struct making *m)
{
	struct ui_gap *gaps = calloc(GAPS_MOST, sizeof *gaps);
	uint32_t n = gaps ? ui_index_gaps(m->s->index, m->o->from, m->o->to, gaps, GAPS_MOST) : 0;

	add(m->t, ",\"gaps\":[");
	for (uint32_t i = 0; i < n; i++)
		text_addf(m->t, "%s[%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRId32 "]", i ? "," : "",
			  gaps[i].begin_ns, gaps[i].end_ns, gaps[i].lost, gaps[i].cpu);
	add(m->t, "]");
	free(gaps);
}

/* ---------------------------------------------------------------- answers of queries */

struct asking {
	struct ui_query_params params[8];
	struct ui_request q;
	char from[24], to[24];
	struct text rows;
	struct ui_answer a;
};

static void ask_param(struct asking *k, const char *name, const char *value)
{
	k->params[k->q.n_params++] = (struct ui_query_params){ name, value };
}

static void begin_asking(struct making *m, struct asking *k, const char *path)
{
	*k = (struct asking){ .a = { .status = 200, .body_fd = -1 } };
	k->q = (struct ui_request){ .method = "GET",
				    .path = path,
				    .params = k->params,
				    .body = "",
				    .is_cancelled = m->o->is_cancelled };
	snprintf(k->from, sizeof k->from, "%" PRId64, m->o->from);
	snprintf(k->to, sizeof k->to, "%" PRId64, m->o->to);
	for (int i = 0; i < m->o->n_rows; i++)
		text_addf(&k->rows, "%s%" PRIu32, i ? "," : "", m->o->rows[i]);
	ask_param(k, "from", k->from);
	ask_param(k, "to", k->to);
	if (k->rows.size)
		ask_param(k, "rows", k->rows.bytes);
}

static void end_asking(struct asking *k)
{
	text_fini(&k->a.body);
	text_fini(&k->rows);
}

/* The flame graphs of the whole time: of each source that there is. */
static void add_flames(struct making *m)
{
	static const struct {
		const char *kind, *source, *sign;
	} wanted[] = { { "on", "samples", "\"source\":\"samples\"" },
		       { "on", "calls", "\"source\":\"calls\"" },
		       { "off", "stacks", "\"source\":\"stacks\"" },
		       { "off", "calls", "\"source\":\"calls\"" } };
	const char *separator = "";

	add(m->t, ",\"flames\":[");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct text piece = { 0 };
		struct asking k;

		begin_asking(m, &k, "/api/flame");
		ask_param(&k, "kind", wanted[i].kind);
		ask_param(&k, "source", wanted[i].source);
		ask_param(&k, "limit", "2000");
		ui_query_flame(m->s, &k.q, &k.a);
		if (k.a.status == 200 && k.a.body.size && strstr(k.a.body.bytes, wanted[i].sign)) {
			add(&piece, separator);
			text_add(&piece, k.a.body.bytes, k.a.body.size);
			if (put(m, &piece, REST_BYTES))
				separator = ",";
		}
		text_fini(&piece);
		end_asking(&k);
	}
	add(m->t, "]");
}

/* One page of the event table behind position @after.  Returns false at the end. */
static bool add_event_page(struct making *m, char after[64], const char **separator, bool *is_full)
{
	static const char mark[] = "],\"earlier\":", begin[] = "{\"events\":[",
			  later[] = "\"later\":\"";
	const char *end, *next, *list;
	struct text piece = { 0 };
	struct asking k;
	bool goes_on = false;

	begin_asking(m, &k, "/api/events");
	ask_param(&k, "limit", "1000");
	if (*after)
		ask_param(&k, "after", after);
	ui_query_events(m->s, &k.q, &k.a);
	/* quotes inside of strings are escaped, so the mark is none of a string */
	end = k.a.status == 200 && k.a.body.size ? strstr(k.a.body.bytes, mark) : NULL;
	list = k.a.body.bytes ? k.a.body.bytes + sizeof begin - 1 : NULL;
	next = end ? strstr(end, later) : NULL;
	if (end && !strncmp(k.a.body.bytes, begin, sizeof begin - 1) && end > list) {
		add(&piece, *separator);
		text_add(&piece, list, (size_t)(end - list));
		*is_full = !put(m, &piece, REST_BYTES);
		*separator = ",";
	}
	if (next && !*is_full) {
		size_t n = strcspn(next + sizeof later - 1, "\"");

		goes_on = n && n < 64;
		snprintf(after, 64, "%.*s", (int)n, next + sizeof later - 1);
	}
	text_fini(&piece);
	end_asking(&k);
	return goes_on;
}

static void add_events(struct making *m)
{
	const char *separator = "";
	char after[64] = "", sentence[160];
	bool is_full = false;

	add(m->t, ",\"events\":[");
	while (add_event_page(m, after, &separator, &is_full) && !is_cancelled(m))
		;
	add(m->t, "]");
	if (!is_full)
		return;
	snprintf(sentence, sizeof sentence,
		 "The event table ends at %.6f s: choose a shorter time (--from, --to), fewer rows "
		 "(--rows), or a larger file (--size).",
		 (double)strtoll(*after ? after : "0", NULL, 10) / 1e9);
	leave_out(m, sentence);
}

/* ---------------------------------------------------------------- all of it */

static void add_head(struct making *m)
{
	const struct ui_index_status *s = &m->status;
	const char *path = m->s->n_paths ? m->s->paths[0] : "";
	size_t n = strlen(path), from;
	struct text t = { 0 };

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (from = n; from && path[from - 1] != '/'; from--)
		;
	add(&t, "{\"duet\":1,\"recording\":{\"name\":");
	ui_json_string(&t, path + from, n - from);
	text_addf(&t,
		  ",\"begin\":\"%" PRId64 "\",\"end\":%" PRId64 ",\"events\":%" PRIu64
		  ",\"lost\":%" PRIu64 ",\"lost_packets\":%" PRIu64,
		  s->begin_ns, s->end_ns, s->n_events, s->lost_events, s->lost_packets);
	ui_add_string(&t, "damage", s->damage);
	ui_add_string(&t, "failure", s->failure);
	text_addf(&t, "},\"from\":%" PRId64 ",\"to\":%" PRId64, m->o->from, m->o->to);
	if (!put(m, &t, REST_BYTES))
		m->t->failed = true;
	text_fini(&t);
}

static void add_left_out(struct making *m)
{
	struct text t = { 0 };
	const char *line = m->result->left_out;

	add(&t, ",\"left_out\":[");
	for (const char *separator = ""; *line; separator = ",") {
		size_t n = strcspn(line, "\n");

		add(&t, separator);
		ui_json_string(&t, line, n);
		line += n + (line[n] == '\n');
	}
	add(&t, "]}");
	html_escape(m->t, t.bytes, t.size);
	text_fini(&t);
}

static int make(struct making *m)
{
	int err = choose_rows(m);

	if (!err)
		err = find_tracks(m);
	if (err)
		return err;
	add_head(m);
	err = make_rows(m);
	if (!err)
		err = add_tracks(m);
	if (err)
		return err;
	report_tracks(m);
	add_gaps(m);
	add_rows(m);
	add_wakes(m);
	add_flames(m);
	add_events(m);
	add_left_out(m);
	return is_cancelled(m) ? -ECANCELED : m->t->failed ? -ENOMEM : 0;
}

int html_data(const struct ui_subject *s, const struct html_options *o, struct text *t, size_t most,
	      struct html_result *result, struct diag *d)
{
	struct making m = { .s = s, .o = o, .result = result, .d = d, .t = t, .most = most };
	int err;

	ui_index_status(s->index, &m.status);
	err = make(&m);
	free(m.has_row);
	free(m.has_name);
	free(m.tracks);
	free(m.fresh);
	text_fini(&m.rows);
	if (err == -ECANCELED)
		return diag_fail(d, err, "the request was dropped");
	return err == -EFBIG ? err : err ? diag_fail(d, err, "no memory for the page's data") : 0;
}
