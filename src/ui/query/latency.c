/* SPDX-License-Identifier: MIT */
/*
 * ui/query/latency.c - /api/latency: how long all instances of a name took, and the slowest of them.
 *
 * The histogram has four bins to a doubling, the distributions of ui/digest 32, whose bounds are among
 * theirs: so bins are exact, also where percentiles are not.
 */
#include <stdlib.h>

#include "ui/digest/digest.h"
#include "ui/query/answers.h"

enum { SLOWEST_MOST = 200, COARSE = 4, COARSE_BINS = 256, NO_BIN = UINT32_MAX };

struct latency {
	const struct ui_subject *s;
	const struct ui_request *q;
	struct text *t;
	struct ui_row_set set;
	struct ui_digest g;
	struct ui_sum *sum; /* NULL: nothing has the name */
	uint32_t *tracks;
	int64_t n_tracks;
	int64_t from, until, limit;
	const char *name;
	uint32_t what;
	uint8_t kind;
	int64_t item_track, item; /* -1: none */
	bool has_failed;	  /* no memory */
};

/* In the order in which they are tried. */
static const uint8_t kinds[] = { UI_TRACK_SPANS, UI_TRACK_SYSCALLS, UI_TRACK_CALLS, UI_TRACK_BUSY };

/* ---------------------------------------------------------------- bins */

static uint32_t coarse_of(uint64_t ns)
{
	uint32_t power;

	if (ns < COARSE)
		return (uint32_t)ns;
	power = 63 - (uint32_t)__builtin_clzll(ns);
	return (power - 1) * COARSE + (uint32_t)(ns >> (power - 2) & (COARSE - 1));
}

static uint64_t coarse_begin(uint32_t bin)
{
	return bin < 2 * COARSE ? bin : (uint64_t)(COARSE + bin % COARSE) << (bin / COARSE - 1);
}

static void add_bins(struct latency *l)
{
	uint64_t counts[COARSE_BINS] = { 0 };
	uint32_t first = coarse_of(l->sum->min), last = coarse_of(l->sum->max);

	for (uint64_t i = 0; i < l->sum->n_values; i++)
		counts[coarse_of(l->sum->values[i])]++;
	for (uint32_t b = 0; l->sum->bins && b < UI_BINS; b++)
		counts[coarse_of(ui_bin_begin(b))] += l->sum->bins[b];
	ui_add_key(l->t, "bins");
	add(l->t, "[");
	for (uint32_t b = first; b <= last; b++) {
		add(l->t, b > first ? ",[" : "[");
		ui_add_int(l->t, (int64_t)coarse_begin(b));
		add(l->t, ",");
		ui_add_int(l->t, (int64_t)coarse_begin(b + 1));
		add(l->t, ",");
		ui_add_int(l->t, (int64_t)counts[b]);
		add(l->t, "]");
	}
	add(l->t, "]");
}

/* ---------------------------------------------------------------- instances */

/* How many took longer than @ns, and 1. */
static uint64_t rank_of(const struct ui_sum *s, uint64_t ns)
{
	uint64_t low = 0, high = s->n_values, n = 1;

	for (uint32_t b = ui_bin_of(ns) + 1; s->bins && b < UI_BINS; b++)
		n += s->bins[b];
	while (low < high) { /* the first that took longer */
		uint64_t middle = low + (high - low) / 2;

		if (s->values[middle] > ns)
			high = middle;
		else
			low = middle + 1;
	}
	return n + (s->n_values - low);
}

static bool is_among(const struct latency *l, const struct ui_interval *v)
{
	for (int64_t i = 0; i < l->n_tracks; i++)
		if (l->tracks[i] == (uint32_t)l->item_track)
			return !v->is_open && !v->is_cut && v->begin_ns >= l->from &&
			       v->begin_ns < l->until;
	return false;
}

static void add_item(struct latency *l)
{
	struct ui_track_info info;
	struct ui_interval v;
	uint64_t ns;
	bool is_in;

	if (l->item_track < 0 || !ui_track_info(l->s->index, (uint32_t)l->item_track, &info) ||
	    info.kind != l->kind ||
	    !ui_track_get(l->s->index, (uint32_t)l->item_track, (uint32_t)l->item, &v) ||
	    v.what != l->what)
		return;
	ns = (uint64_t)(v.end_ns - v.begin_ns);
	is_in = l->sum && is_among(l, &v);
	ui_add_key(l->t, "item");
	add(l->t, "{\"id\":");
	ui_add_id(l->t, (uint32_t)l->item_track, (uint32_t)l->item);
	ui_add_member(l->t, "duration", (int64_t)ns);
	ui_add_member(l->t, "bin", is_in ? (int64_t)coarse_of(ns) - coarse_of(l->sum->min) : -1);
	ui_add_member(l->t, "rank", is_in ? (int64_t)rank_of(l->sum, ns) : 0);
	add(l->t, "}");
}

static void add_slowest(struct latency *l)
{
	struct ui_slow slow[SLOWEST_MOST];
	uint32_t n = ui_digest_slowest(&l->g, l->tracks, (uint32_t)l->n_tracks, l->what, slow,
				       (uint32_t)l->limit);

	ui_add_key(l->t, "slowest");
	add(l->t, "[");
	for (uint32_t i = 0; i < n; i++) {
		struct ui_track_info info = { 0 };

		(void)ui_track_info(l->s->index, slow[i].track, &info);
		add(l->t, i ? ",{\"id\":" : "{\"id\":");
		ui_add_id(l->t, slow[i].track, slow[i].i);
		ui_add_member(l->t, "row", info.row);
		ui_add_member(l->t, "from", slow[i].begin_ns);
		ui_add_member(l->t, "to", slow[i].begin_ns + (int64_t)slow[i].ns);
		add(l->t, "}");
	}
	add(l->t, "]");
}

static void add_sum(struct latency *l)
{
	const struct ui_sum *s = l->sum;

	ui_add_member(l->t, "n", s ? (int64_t)s->n : 0);
	if (!s)
		return;
	ui_add_member(l->t, "sum", (int64_t)s->sum);
	ui_add_member(l->t, "mean", (int64_t)(s->sum / s->n));
	ui_add_member(l->t, "min", (int64_t)s->min);
	ui_add_member(l->t, "p50", (int64_t)ui_sum_percentile(s, 50));
	ui_add_member(l->t, "p90", (int64_t)ui_sum_percentile(s, 90));
	ui_add_member(l->t, "p99", (int64_t)ui_sum_percentile(s, 99));
	ui_add_member(l->t, "max", (int64_t)s->max);
	ui_add_key(l->t, "is_exact");
	add(l->t, ui_sum_is_exact(s) ? "true" : "false");
	add_bins(l);
	add_slowest(l);
}

/* ---------------------------------------------------------------- the name */

static bool find_name(struct latency *l)
{
	uint32_t n = ui_index_n_names(l->s->index);

	for (l->what = 0; l->what < n; l->what++)
		if (!strcmp(ui_index_name(l->s->index, l->what), l->name))
			return true;
	return false;
}

/* Sums of the tracks of @kind; the others of the same kind only bound what is kept exactly. */
static bool read_kind(struct latency *l, uint8_t kind)
{
	ui_digest_fini(&l->g);
	free(l->tracks);
	l->kind = kind;
	l->n_tracks = ui_tracks_of(l->s->index, &l->set, kind, &l->tracks);
	if (l->n_tracks < 0 ||
	    ui_digest_init(&l->g, l->s->index, l->from, l->until, l->q->is_cancelled)) {
		l->has_failed = true;
		return false;
	}
	ui_digest_tracks(&l->g, l->tracks, (uint32_t)l->n_tracks);
	l->sum = ui_digest_get(&l->g, l->what);
	if (!l->sum)
		return false;
	ui_digest_spread(&l->g, l->sum);
	ui_digest_fill(&l->g, l->tracks, (uint32_t)l->n_tracks);
	return true;
}

static void read_kinds(struct latency *l, const char *kind)
{
	if (!find_name(l))
		return;
	for (size_t i = 0; i < sizeof kinds && !l->has_failed; i++)
		if ((!kind || !strcmp(kind, ui_track_kinds[kinds[i]])) && read_kind(l, kinds[i]))
			return;
}

static bool read_item(struct latency *l, struct ui_answer *a)
{
	const char *text;
	char *end;

	if (!ui_param_text(l->q, a, "item", &text))
		return false;
	l->item_track = -1;
	if (!text)
		return true;
	if (*text >= '0' && *text <= '9') {
		l->item_track = strtol(text, &end, 10);
		if (*end == '.' && end[1] >= '0' && end[1] <= '9' && l->item_track < UINT32_MAX) {
			l->item = strtol(end + 1, &end, 10);
			if (!*end && l->item < UINT32_MAX)
				return true;
		}
	}
	ui_refuse(a, 400, "%s: parameter item is no item, as in 3.14", l->q->path);
	return false;
}

static bool read_params(struct latency *l, struct ui_answer *a, const char **kind)
{
	struct ui_index_status status;
	bool is_kind = false;

	if (!ui_param_text(l->q, a, "name", &l->name) || !ui_param_text(l->q, a, "kind", kind) ||
	    !ui_param_range(l->s, l->q, a, &l->from, &l->until) ||
	    !ui_param_int(l->q, a, "limit", 1, SLOWEST_MOST, 20, &l->limit) || !read_item(l, a))
		return false;
	if (!l->name) {
		ui_refuse(a, 400, "%s: parameter name is missing: that of a span, call or function",
			  l->q->path);
		return false;
	}
	for (size_t i = 0; *kind && i < sizeof kinds; i++)
		is_kind |= !strcmp(*kind, ui_track_kinds[kinds[i]]);
	if (*kind && !is_kind) {
		ui_refuse(a, 400, "%s: parameter kind is spans, syscalls, calls or busy",
			  l->q->path);
		return false;
	}
	ui_index_status(l->s->index, &status);
	l->until += l->until >= status.end_ns; /* what begins at the very end counts, too */
	return ui_row_set_read(l->s, l->q, a, &l->set);
}

void ui_query_latency(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct latency l = { .s = s, .q = q, .t = &a->body };
	const char *kind;

	if (!ui_has_recording(s, a) || !read_params(&l, a, &kind))
		return;
	read_kinds(&l, kind);
	add(l.t, "{");
	ui_add_string(l.t, "name", l.name);
	if (l.sum)
		ui_add_string(l.t, "kind", ui_track_kinds[l.kind]);
	add_sum(&l);
	add_item(&l);
	add(l.t, "}");
	if (l.has_failed || l.g.has_failed)
		ui_refuse(a, 500, "%s: no memory for so many rows: ask for fewer", q->path);
	ui_digest_fini(&l.g);
	free(l.tracks);
	ui_row_set_fini(&l.set);
}
