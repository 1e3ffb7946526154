/* SPDX-License-Identifier: MIT */
/*
 * ui/export/html_data.c - rows, tracks, events and prepared answers as JSON: docs/formats/ui.md, "One
 * file".
 *
 * First come tracks (html_tracks.c), then wakeups, flame graphs, and the events as text with all that is left.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/public.h"
#include "base/atomic.h"
#include "ui/export/making.h"

enum { WAKES_MOST = 4096, GAPS_MOST = 1000 };

bool html_is_cancelled(const struct html_making *m)
{
	return m->o->is_cancelled && load(m->o->is_cancelled);
}

bool html_put(struct html_making *m, const struct text *piece, size_t spare)
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

void html_leave_out(struct html_making *m, const char *sentence)
{
	char *to = m->result->left_out;
	size_t n = strlen(to);

	snprintf(to + n, sizeof m->result->left_out - n, "%s%s", n ? "\n" : "", sentence);
}

/* ---------------------------------------------------------------- rows */

/* With all rows above @row. */
static void take_row(struct html_making *m, uint32_t row)
{
	struct ui_row r;

	while (row < m->n_rows && !m->has_row[row] && ui_index_row(m->s->index, row, &r)) {
		m->has_row[row] = true;
		row = r.parent - 1;
	}
}

/* Whether one of the rows above @row was asked for. */
static bool is_below_chosen(const struct html_making *m, uint32_t row)
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

static int choose_rows(struct html_making *m)
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

/* ---------------------------------------------------------------- names, rows, wakeups, gaps */

static int make_rows(struct html_making *m)
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
	return m->rows.size + HTML_REST_BYTES < m->most
		       ? 0
		       : diag_fail(m->d, -EFBIG,
				   "the file has no room for %" PRIu32 " rows: choose fewer "
				   "(--rows), or a larger file (--size)",
				   m->n_rows);
}

static void add_rows(struct html_making *m)
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

static void add_wakes(struct html_making *m)
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
	if (!html_put(m, &t, HTML_REST_BYTES)) {
		html_leave_out(
			m,
			"Wakeups are left out: choose a shorter time or a larger file (--size).");
		add(m->t, ",\"wakes\":[]");
	}
	free(wakes);
	text_fini(&t);
}

static void add_gaps(struct html_making *m)
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

static void begin_asking(struct html_making *m, struct asking *k, const char *path)
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
static void add_flames(struct html_making *m)
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
			if (html_put(m, &piece, HTML_REST_BYTES))
				separator = ",";
		}
		text_fini(&piece);
		end_asking(&k);
	}
	add(m->t, "]");
}

/* One page of the event table behind position @after.  Returns false at the end. */
static bool add_event_page(struct html_making *m, char after[64], const char **separator,
			   bool *is_full)
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
		*is_full = !html_put(m, &piece, HTML_REST_BYTES);
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

static void add_events(struct html_making *m)
{
	const char *separator = "";
	char after[64] = "", sentence[160];
	bool is_full = false;

	add(m->t, ",\"events\":[");
	while (add_event_page(m, after, &separator, &is_full) && !html_is_cancelled(m))
		;
	add(m->t, "]");
	if (!is_full)
		return;
	snprintf(sentence, sizeof sentence,
		 "The event table ends at %.6f s: choose a shorter time (--from, --to), fewer rows "
		 "(--rows), or a larger file (--size).",
		 (double)strtoll(*after ? after : "0", NULL, 10) / 1e9);
	html_leave_out(m, sentence);
}

/* ---------------------------------------------------------------- all of it */

static void add_head(struct html_making *m)
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
	if (!html_put(m, &t, HTML_REST_BYTES))
		m->t->failed = true;
	text_fini(&t);
}

static void add_left_out(struct html_making *m)
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

static int make(struct html_making *m)
{
	int err = choose_rows(m);

	if (!err)
		err = html_find_tracks(m);
	if (err)
		return err;
	add_head(m);
	err = make_rows(m);
	if (!err)
		err = html_add_tracks(m);
	if (err)
		return err;
	html_report_tracks(m);
	add_gaps(m);
	add_rows(m);
	add_wakes(m);
	add_flames(m);
	add_events(m);
	add_left_out(m);
	return html_is_cancelled(m) ? -ECANCELED : m->t->failed ? -ENOMEM : 0;
}

int html_data(const struct ui_subject *s, const struct html_options *o, struct text *t, size_t most,
	      struct html_result *result, struct diag *d)
{
	struct html_making m = { .s = s, .o = o, .result = result, .d = d, .t = t, .most = most };
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
