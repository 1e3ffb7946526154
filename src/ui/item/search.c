/* SPDX-License-Identifier: MIT */
/*
 * ui/item/search.c - /api/search: rows and names that have a text, and the nearest items of them.
 *
 * Items are looked for from the wanted time outwards, track by track, with a limit of entries that are
 * looked at: `more` says that it was reached.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "ui/item/instances.h"
#include "ui/query/answer.h"

enum {
	LIMIT_MOST = 200,
	TEXT_MOST = 256,
	ENTRIES_AT_ONCE = 512,
	ENTRIES_MOST = 4000000, /* that are looked at */
	NO_MATCH = 4,
};

struct hit { /* a row or a name */
	uint32_t number;
	int rank; /* 0 is best */
	uint64_t n;
};

struct near {
	uint32_t track, index, name;
	int64_t begin_ns, end_ns;
	uint64_t distance;
};

struct search {
	const struct ui_request *q;
	struct ui_index *x;
	struct ui_instances *instances;
	const char *text;
	size_t size;
	int64_t at;
	uint32_t limit;
	struct hit rows[LIMIT_MOST], names[LIMIT_MOST];
	uint32_t n_rows, n_names;
	struct near *near; /* limit of them, and twice as many from one track */
	uint32_t n_near;
	uint32_t n_looked;
	bool has_more;
};

/* ---------------------------------------------------------------- rank */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (unsigned char)c >= 0x80;
}

/* How well @name has the text: equal, at its begin, at the begin of a word, anywhere. */
static int rank_of(const struct search *s, const char *name)
{
	int rank = NO_MATCH;

	for (const char *p = name; *p; p++) {
		if (strncasecmp(p, s->text, s->size) != 0)
			continue;
		if (p == name)
			return p[s->size] ? 1 : 0;
		if (!is_word(p[-1]))
			return 2;
		rank = 3;
	}
	return rank;
}

static bool is_better(const struct hit *a, const struct hit *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->n != b->n ? a->n > b->n : a->number < b->number;
}

/* Keeps the best, in their order. */
static void note_hit(struct search *s, struct hit *hits, uint32_t *n, struct hit hit)
{
	uint32_t i;

	if (*n == s->limit) {
		s->has_more = true;
		if (!is_better(&hit, &hits[*n - 1]))
			return;
		--*n;
	}
	for (i = (*n)++; i && is_better(&hit, &hits[i - 1]); i--)
		hits[i] = hits[i - 1];
	hits[i] = hit;
}

static void search_rows(struct search *s)
{
	uint32_t n = ui_index_n_rows(s->x);
	struct ui_row row;

	for (uint32_t i = 0; i < n && ui_index_row(s->x, i, &row); i++) {
		struct hit hit = { i, rank_of(s, row.name), 0 };
		char pid[24], tid[24];

		snprintf(pid, sizeof pid, "%" PRId64, row.pid);
		snprintf(tid, sizeof tid, "%" PRId64, row.tid);
		if ((row.tid >= 0 && !strcmp(tid, s->text)) ||
		    (row.kind == UI_ROW_PROCESS && row.pid >= 0 && !strcmp(pid, s->text)))
			hit.rank = 0;
		if (hit.rank < NO_MATCH)
			note_hit(s, s->rows, &s->n_rows, hit);
	}
}

static void search_names(struct search *s)
{
	uint32_t n = ui_index_n_names(s->x);

	for (uint32_t i = 0; i < n; i++) {
		struct hit hit = { i, NO_MATCH, ui_instances_of(s->instances, i) };

		if (hit.n)
			hit.rank = rank_of(s, ui_index_name(s->x, i));
		if (hit.rank < NO_MATCH)
			note_hit(s, s->names, &s->n_names, hit);
	}
}

/* ---------------------------------------------------------------- items */

static int nearest_first(const void *a, const void *b)
{
	const struct near *m = a, *n = b;

	if (m->distance != n->distance)
		return m->distance < n->distance ? -1 : 1;
	return m->begin_ns < n->begin_ns ? -1 : m->begin_ns > n->begin_ns;
}

static int earliest_first(const void *a, const void *b)
{
	const struct near *m = a, *n = b;

	if (m->begin_ns != n->begin_ns)
		return m->begin_ns < n->begin_ns ? -1 : 1;
	return m->track < n->track ? -1 : m->track > n->track;
}

static bool is_found(const struct search *s, uint32_t name)
{
	for (uint32_t i = 0; i < s->n_names; i++)
		if (s->names[i].number == name)
			return true;
	return false;
}

static void note_near(struct search *s, uint32_t track, uint32_t i, const struct ui_interval *v)
{
	uint64_t distance = v->begin_ns > s->at ? (uint64_t)(v->begin_ns - s->at)
			    : v->end_ns < s->at ? (uint64_t)(s->at - v->end_ns)
						: 0;

	s->near[s->n_near++] = (struct near){ track, i, v->what, v->begin_ns, v->end_ns, distance };
}

/* Up to `limit` items of @track from entry @i on, or before it. */
static void search_side(struct search *s, uint32_t track, uint32_t i, bool is_back)
{
	struct ui_interval v[ENTRIES_AT_ONCE];
	uint32_t found = 0, got = 1;

	while (got && found < s->limit && s->n_looked < ENTRIES_MOST && !ui_is_cancelled(s->q)) {
		uint32_t n = is_back && i < ENTRIES_AT_ONCE ? i : ENTRIES_AT_ONCE;

		got = n ? ui_track_read(s->x, track, is_back ? i - n : i, v, n) : 0;
		for (uint32_t k = 0; k < got && found < s->limit; k++) {
			uint32_t at = is_back ? got - 1 - k : k;

			if (is_found(s, v[at].what)) {
				note_near(s, track, is_back ? i - n + at : i + at, &v[at]);
				found++;
			}
		}
		i = is_back ? i - n : i + got;
		s->n_looked += got;
	}
	s->has_more |= found == s->limit || s->n_looked >= ENTRIES_MOST;
}

static void search_items(struct search *s)
{
	uint32_t n = ui_instances_n_tracks(s->instances);

	for (uint32_t track = 0; track < n && !ui_is_cancelled(s->q); track++) {
		bool has = false;
		uint32_t i;

		for (uint32_t k = 0; k < s->n_names && !has; k++)
			has = ui_instances_on(s->instances, track, s->names[k].number);
		if (!has)
			continue;
		i = ui_track_find(s->x, track, s->at);
		search_side(s, track, i, false);
		search_side(s, track, i, true);
		qsort(s->near, s->n_near, sizeof *s->near, nearest_first);
		s->has_more |= s->n_near > s->limit;
		if (s->n_near > s->limit)
			s->n_near = s->limit;
	}
	qsort(s->near, s->n_near, sizeof *s->near, earliest_first);
}

/* ---------------------------------------------------------------- the answer */

static void add_rows(const struct search *s, struct text *t)
{
	struct ui_row row;

	ui_add_key(t, "rows");
	add(t, "[");
	for (uint32_t i = 0; i < s->n_rows && ui_index_row(s->x, s->rows[i].number, &row); i++) {
		add(t, i ? ",{" : "{");
		ui_add_member(t, "row", s->rows[i].number);
		ui_add_string(t, "name", row.name);
		ui_add_string(t, "kind", ui_row_kinds[row.kind]);
		add(t, "}");
	}
	add(t, "]");
}

static void add_names(const struct search *s, struct text *t)
{
	ui_add_key(t, "names");
	add(t, "[");
	for (uint32_t i = 0; i < s->n_names; i++) {
		add(t, i ? ",{" : "{");
		ui_add_member(t, "name", s->names[i].number);
		ui_add_string(t, "text", ui_index_name(s->x, s->names[i].number));
		ui_add_member(t, "n", (int64_t)s->names[i].n);
		add(t, "}");
	}
	add(t, "]");
}

static void add_items(const struct search *s, struct text *t)
{
	struct ui_track_info info;

	ui_add_key(t, "items");
	add(t, "[");
	for (uint32_t i = 0; i < s->n_near; i++) {
		const struct near *n = &s->near[i];

		if (!ui_track_info(s->x, n->track, &info))
			continue;
		add(t, i ? ",{" : "{");
		ui_add_key(t, "id");
		ui_add_id(t, n->track, n->index);
		ui_add_member(t, "row", info.row);
		ui_add_string(t, "kind", ui_track_kinds[info.kind]);
		ui_add_member(t, "name", n->name);
		ui_add_member(t, "from", n->begin_ns);
		ui_add_member(t, "to", n->end_ns);
		add(t, "}");
	}
	add(t, "]");
}

static void answer_search(struct search *s, struct ui_answer *a)
{
	s->near = malloc((size_t)s->limit * 3 * sizeof *s->near);
	s->instances = s->near ? ui_instances_take(s->x, s->q) : NULL;
	if (!s->instances) {
		ui_refuse(a, 500, "%s: no memory, or nobody waits any more", s->q->path);
		return;
	}
	if (s->size) {
		search_rows(s);
		search_names(s);
		search_items(s);
	}
	ui_instances_give(s->instances);
	add(&a->body, "{");
	add_rows(s, &a->body);
	add_names(s, &a->body);
	add_items(s, &a->body);
	add(&a->body, s->has_more ? ",\"more\":true}" : ",\"more\":false}");
}

void ui_query_search(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct search search = { .q = q, .x = s->index };
	int64_t limit;

	if (!ui_has_recording(s, a) || !ui_param_text(q, a, "text", &search.text) ||
	    !ui_param_int(q, a, "at", -(1ll << 60), 1ll << 60, 0, &search.at) ||
	    !ui_param_int(q, a, "limit", 1, LIMIT_MOST, 20, &limit))
		return;
	search.text = search.text ? search.text : "";
	search.size = strlen(search.text);
	search.limit = (uint32_t)limit;
	if (search.size > TEXT_MOST)
		ui_refuse(a, 400, "%s: parameter text has more than %d bytes", q->path, TEXT_MOST);
	else
		answer_search(&search, a);
	free(search.near);
}
