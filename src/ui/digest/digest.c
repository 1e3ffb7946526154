/* SPDX-License-Identifier: MIT */
/* ui/digest/digest.c - sums over any span, put together from chunks: see digest.h. */
#include "ui/digest/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

/* Names and rows are fewer: only a damaged file of a cached index has larger numbers. */
enum { SPREADS_MOST = 256, WHAT_MOST = 1 << 24 };

/* ---------------------------------------------------------------- spans */

/* Callbacks for a whole chunk and for single intervals. */
struct visit {
	struct ui_digest *g;
	uint32_t track;
	void (*chunk)(const struct visit *v, const struct chunk *c, uint32_t number);
	void (*interval)(const struct visit *v, const struct ui_interval *i, uint32_t number);
	void *context;
};

/* The first interval of @track that begins at @ns or later. */
static uint32_t first_from(const struct ui_digest *g, uint32_t track, int64_t ns)
{
	uint32_t i = ui_track_find(g->x, track, ns);
	struct ui_interval v;

	while (i && ui_track_get(g->x, track, i - 1, &v) && v.begin_ns >= ns)
		i--; /* it has no length */
	while (ui_track_get(g->x, track, i, &v) && v.begin_ns < ns)
		i++;
	return i;
}

static void visit_each(const struct visit *v, uint32_t first, uint32_t end)
{
	struct digest_scratch *s = v->g->scratch;

	while (first < end) {
		uint32_t most = end - first < CHUNK ? end - first : CHUNK;
		uint32_t n = ui_track_read(v->g->x, v->track, first, s->read, most);

		for (uint32_t i = 0; i < n; i++)
			if (!s->read[i].is_open && !s->read[i].is_cut)
				v->interval(v, &s->read[i], first + i);
		if (!n)
			return;
		first += n;
	}
}

/* A whole chunk, or the last one of a track that will not grow. */
static void visit_chunk(const struct visit *v, uint32_t number)
{
	struct ui_digest *g = v->g;
	const struct chunk *kept = chunk_find(g->kept, v->track, number);
	struct chunk *made;
	uint32_t n;

	if (kept) {
		v->chunk(v, kept, number);
		return;
	}
	n = ui_track_read(g->x, v->track, number * CHUNK, g->scratch->read, CHUNK);
	n -= n && g->scratch->read[n - 1].is_open;
	made = n == CHUNK || (n && g->is_done) ? chunk_make(g->scratch, number * CHUNK, n) : NULL;
	if (!made) {
		visit_each(v, number * CHUNK, (number + 1) * CHUNK);
		return;
	}
	if (chunk_keep(g->kept, v->track, number, made)) {
		v->chunk(v, made, number);
		return;
	}
	v->chunk(v, made, number);
	free(made);
}

static bool is_cancelled(const struct ui_digest *g)
{
	return g->has_failed || (g->is_cancelled && load(g->is_cancelled));
}

static void visit_track(const struct visit *v)
{
	uint32_t first = first_from(v->g, v->track, v->g->from);
	uint32_t end = first_from(v->g, v->track, v->g->to);
	uint32_t chunk = (first + CHUNK - 1) / CHUNK, last = end / CHUNK;

	if (v->g->is_done && end % CHUNK && end == ui_track_n(v->g->x, v->track))
		last++;
	if (chunk >= last) {
		visit_each(v, first, end);
		return;
	}
	visit_each(v, first, chunk * CHUNK);
	for (; chunk < last && !is_cancelled(v->g); chunk++)
		visit_chunk(v, chunk);
	if (last * CHUNK < end)
		visit_each(v, last * CHUNK, end);
}

/* ---------------------------------------------------------------- sums */

int ui_digest_init(struct ui_digest *g, struct ui_index *x, int64_t from, int64_t to,
		   const uint32_t *cancelled)
{
	struct ui_index_status status;

	*g = (struct ui_digest){ .x = x, .from = from, .to = to, .is_cancelled = cancelled };
	ui_index_status(x, &status);
	g->is_done = status.is_done;
	g->kept = digests_of(x);
	g->scratch = malloc(sizeof *g->scratch);
	if (!g->kept || !g->scratch)
		return -ENOMEM;
	memset(g->scratch->counts, 0, sizeof g->scratch->counts);
	return 0;
}

void ui_digest_fini(struct ui_digest *g)
{
	for (uint32_t i = 0; i < g->n_sums; i++) {
		free(g->sums[i].values);
		free(g->sums[i].bins);
	}
	free(g->sums);
	free(g->of);
	free(g->scratch);
	*g = (struct ui_digest){ 0 };
}

struct ui_sum *ui_digest_get(struct ui_digest *g, uint32_t what)
{
	return what < g->n_of && g->of[what] ? &g->sums[g->of[what] - 1] : NULL;
}

static bool grow(void *array, uint32_t *room, uint32_t n, size_t size)
{
	uint32_t more = n + n / 2 + 256;
	char *bigger;

	if (n < *room)
		return true;
	bigger = reallocarray(*(void **)array, more, size);
	if (!bigger)
		return false;
	memset(bigger + *room * size, 0, (more - *room) * size);
	*(void **)array = bigger;
	*room = more;
	return true;
}

struct ui_sum *ui_digest_touch(struct ui_digest *g, uint32_t what)
{
	if (what >= WHAT_MOST)
		return NULL;
	if (!grow(&g->of, &g->n_of, what, sizeof *g->of) ||
	    !grow(&g->sums, &g->room, g->n_sums, sizeof *g->sums)) {
		g->has_failed = true;
		return NULL;
	}
	if (!g->of[what]) {
		struct ui_sum *s = &g->sums[g->n_sums];

		*s = (struct ui_sum){ .what = what, .min = UINT64_MAX };
		if (g->n_spread < g->spreads_most) {
			s->bins = calloc(UI_BINS, sizeof *s->bins);
			s->is_filled = s->bins;
			g->n_spread++;
		}
		g->of[what] = ++g->n_sums;
	}
	return &g->sums[g->of[what] - 1];
}

void ui_digest_order(struct ui_digest *g, int (*compare)(const void *, const void *))
{
	if (g->n_sums)
		qsort(g->sums, g->n_sums, sizeof *g->sums, compare);
	for (uint32_t i = 0; i < g->n_sums; i++)
		g->of[g->sums[i].what] = i + 1;
}

static void add_part(struct ui_digest *g, uint32_t track, const struct part *p,
		     const struct bin *bins)
{
	struct ui_sum *s = ui_digest_touch(g, p->what);

	if (!s)
		return;
	if (!s->n || p->max > s->max) {
		s->max = p->max;
		s->max_track = track;
		s->max_i = p->max_i;
	}
	if (p->min < s->min)
		s->min = p->min;
	s->n += p->n;
	s->errors += p->errors;
	s->sum += p->sum;
	g->n += p->n;
	for (uint32_t i = 0; s->is_filled && i < p->n_bins; i++)
		s->bins[bins[i].bin] += bins[i].n;
}

static void sum_chunk(const struct visit *v, const struct chunk *c, uint32_t number)
{
	(void)number;
	for (uint32_t i = 0; i < c->n_parts; i++)
		add_part(v->g, v->track, &c->parts[i], &c->bins[c->parts[i].first_bin]);
}

static void sum_interval(const struct visit *v, const struct ui_interval *i, uint32_t number)
{
	struct ui_digest *g = v->g;
	bool is_known = i->what < g->n_of && g->of[i->what];
	struct ui_sum *s = is_known ? &g->sums[g->of[i->what] - 1] : ui_digest_touch(g, i->what);
	uint64_t ns = length_of(i);

	if (!s)
		return;
	if (!s->n || ns > s->max) {
		s->max = ns;
		s->max_track = v->track;
		s->max_i = number;
	}
	if (ns < s->min)
		s->min = ns;
	s->n++;
	s->errors += is_error(i);
	s->sum += ns;
	g->n++;
	if (s->is_filled)
		s->bins[ui_bin_of(ns)]++;
}

void ui_digest_tracks(struct ui_digest *g, const uint32_t *tracks, uint32_t n)
{
	uint64_t expected = 0;

	for (uint32_t i = 0; i < n && expected <= UI_DIGEST_VALUES_MOST; i++)
		expected += first_from(g, tracks[i], g->to) - first_from(g, tracks[i], g->from);
	g->has_values = expected <= UI_DIGEST_VALUES_MOST;
	/* Where names are few their bins are filled on the way. */
	g->spreads_most = g->has_values || g->is_plain ? 0 : SPREADS_MOST;
	for (uint32_t i = 0; i < n && !is_cancelled(g); i++)
		visit_track(&(struct visit){ g, tracks[i], sum_chunk, sum_interval, NULL });
}

/* ---------------------------------------------------------------- distributions */

void ui_digest_spread(struct ui_digest *g, struct ui_sum *s)
{
	if (s->bins || s->values)
		return;
	if (g->has_values)
		s->values = malloc((s->n + 1) * sizeof *s->values);
	else
		s->bins = calloc(UI_BINS, sizeof *s->bins);
	g->has_failed |= !s->values && !s->bins;
}

static void add_value(struct ui_sum *s, uint64_t ns)
{
	if (s && s->bins && !s->is_filled)
		s->bins[ui_bin_of(ns)]++;
	else if (s && s->values && s->n_values < s->n) /* more may have begun since */
		s->values[s->n_values++] = ns;
}

static void fill_interval(const struct visit *v, const struct ui_interval *i, uint32_t number)
{
	(void)number;
	add_value(ui_digest_get(v->g, i->what), length_of(i));
}

static void fill_chunk(const struct visit *v, const struct chunk *c, uint32_t number)
{
	(void)number;
	for (uint32_t i = 0; i < c->n_parts; i++) {
		const struct part *p = &c->parts[i];
		struct ui_sum *s = ui_digest_get(v->g, p->what);

		for (uint32_t b = 0; s && s->bins && !s->is_filled && b < p->n_bins; b++)
			s->bins[c->bins[p->first_bin + b].bin] += c->bins[p->first_bin + b].n;
	}
}

static int by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Whether a wanted distribution is not there yet. */
static bool lacks_any(const struct ui_digest *g)
{
	for (uint32_t i = 0; i < g->n_sums; i++)
		if ((g->sums[i].bins || g->sums[i].values) && !g->sums[i].is_filled)
			return true;
	return false;
}

void ui_digest_fill(struct ui_digest *g, const uint32_t *tracks, uint32_t n)
{
	if (!lacks_any(g))
		return;
	for (uint32_t i = 0; i < n && !is_cancelled(g); i++) {
		struct visit v = { g, tracks[i], fill_chunk, fill_interval, NULL };

		if (g->has_values)
			visit_each(&v, first_from(g, tracks[i], g->from),
				   first_from(g, tracks[i], g->to));
		else
			visit_track(&v);
	}
	for (uint32_t i = 0; i < g->n_sums; i++) {
		if (g->sums[i].values)
			qsort(g->sums[i].values, g->sums[i].n_values, sizeof *g->sums[i].values,
			      by_length);
		g->sums[i].is_filled = true;
	}
}

uint64_t ui_sum_percentile(const struct ui_sum *s, double percent)
{
	uint64_t n = s->n_values, rank;
	double exact;

	for (uint32_t b = 0; s->bins && b < UI_BINS; b++)
		n += s->bins[b];
	exact = (double)n * percent / 100;
	rank = (uint64_t)exact;
	rank += (double)rank < exact;
	rank = rank < 1 ? 1 : rank > n ? n : rank;
	if (!n || !s->bins)
		return n ? s->values[rank - 1] : 0;
	for (uint32_t b = 0; b < UI_BINS; b++) {
		uint64_t middle = (ui_bin_begin(b) + ui_bin_begin(b + 1)) / 2;

		if (rank <= s->bins[b])
			return middle < s->min ? s->min : middle > s->max ? s->max : middle;
		rank -= s->bins[b];
	}
	return s->max;
}

/* ---------------------------------------------------------------- the slowest */

struct slow_chunk {
	uint64_t max;
	uint32_t track, number;
};

struct slow_search {
	struct ui_slow *slow; /* longest first */
	uint32_t n, most, what;
	struct slow_chunk *chunks;
	uint32_t n_chunks, room;
};

static void offer(struct slow_search *f, const struct ui_slow *one)
{
	uint32_t i = f->n;

	if (i == f->most) {
		if (!i || one->ns <= f->slow[i - 1].ns)
			return;
		i--;
	} else {
		f->n++;
	}
	for (; i && f->slow[i - 1].ns < one->ns; i--)
		f->slow[i] = f->slow[i - 1];
	f->slow[i] = *one;
}

static void slow_interval(const struct visit *v, const struct ui_interval *i, uint32_t number)
{
	struct slow_search *f = v->context;

	if (i->what == f->what)
		offer(f, &(struct ui_slow){ length_of(i), i->begin_ns, v->track, number });
}

static void slow_chunk(const struct visit *v, const struct chunk *c, uint32_t number)
{
	struct slow_search *f = v->context;

	for (uint32_t i = 0; i < c->n_parts; i++) {
		if (c->parts[i].what != f->what)
			continue;
		if (grow(&f->chunks, &f->room, f->n_chunks, sizeof *f->chunks))
			f->chunks[f->n_chunks++] =
				(struct slow_chunk){ c->parts[i].max, v->track, number };
		else
			v->g->has_failed = true;
	}
}

static int longest_first(const void *a, const void *b)
{
	const struct slow_chunk *x = a, *y = b;

	if (x->max != y->max)
		return x->max < y->max ? 1 : -1;
	return x->track != y->track ? (x->track < y->track ? -1 : 1)
				    : (x->number < y->number ? -1 : x->number > y->number);
}

uint32_t ui_digest_slowest(struct ui_digest *g, const uint32_t *tracks, uint32_t n_tracks,
			   uint32_t what, struct ui_slow *slow, uint32_t most)
{
	struct slow_search f = { .slow = slow, .most = most, .what = what };
	struct visit v = { g, 0, slow_chunk, slow_interval, &f };

	for (uint32_t i = 0; i < n_tracks; i++) {
		v.track = tracks[i];
		visit_track(&v);
	}
	if (f.n_chunks)
		qsort(f.chunks, f.n_chunks, sizeof *f.chunks, longest_first);
	for (uint32_t i = 0; i < f.n_chunks && !is_cancelled(g); i++) {
		if (f.n == most && f.chunks[i].max <= slow[most - 1].ns)
			break;
		v.track = f.chunks[i].track;
		visit_each(&v, f.chunks[i].number * CHUNK, (f.chunks[i].number + 1) * CHUNK);
	}
	free(f.chunks);
	return f.n;
}
