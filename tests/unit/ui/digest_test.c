/* SPDX-License-Identifier: MIT */
/* unit/ui/digest_test.c - sums and distributions by name, over any span, are those of a plain list. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "ui/digest/digest.h"
#include "ui/index/internal.h"

enum { TRACKS = 3, NAMES = 40, MANY = 150000, FEW = 9000, SLOW = 50 };

struct plain {
	int64_t begin, end, aux;
	uint32_t what;
};

static struct plain *items[TRACKS];
static uint32_t n_items;
static struct ui_index index_;
static uint32_t tracks[TRACKS];
static uint64_t seed = 1;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void fill_track(int number)
{
	const struct ui_row row = { .kind = UI_ROW_THREAD, .name = "t" };
	int64_t now = 1000, t;

	is(index_add_row(&index_, &row), number);
	t = index_add_track(&index_, (uint32_t)number, UI_TRACK_SYSCALLS, 0);
	tracks[number] = (uint32_t)t;
	items[number] = calloc(n_items, sizeof *items[number]);
	for (uint32_t i = 0; i < n_items; i++) {
		struct plain *p = &items[number][i];

		now += dice(4) ? (int64_t)dice(100) : 0;
		p->begin = now;
		now += (int64_t)dice(1ull << dice(30));
		p->end = now;
		p->what = (uint32_t)(dice(NAMES) * dice(2));
		p->aux = dice(10) ? 5 : -(int64_t)dice(5000);
		is(track_add(&index_.tracks[t], p->begin, p->end, p->what, p->aux), 0);
	}
}

/* An index made by hand: complete, without a builder. */
static void open_index(uint32_t n)
{
	index_ = (struct ui_index){ .status = { .is_done = true } };
	pthread_rwlock_init(&index_.lock, NULL);
	pthread_mutex_init(&index_.keeping, NULL);
	n_items = n;
	for (int i = 0; i < TRACKS; i++)
		fill_track(i);
	is(track_begin(&index_.tracks[tracks[0]], 1ll << 50, 1), 0);
	index_.status.ready_ns = 1ll << 51;
}

static void close_index(void)
{
	while (index_.n_kept--)
		index_.kept[index_.n_kept].destroy(index_.kept[index_.n_kept].what);
	for (int i = 0; i < TRACKS; i++) {
		track_fini(&index_.tracks[i]);
		free(index_.rows[i].tracks);
		free(items[i]);
	}
	for (uint32_t i = 0; i < index_.n_names; i++)
		free(index_.names[i]);
	free(index_.names);
	free(index_.by_name);
	free(index_.rows);
	free(index_.tracks);
	pthread_mutex_destroy(&index_.keeping);
	pthread_rwlock_destroy(&index_.lock);
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The lengths of @what that begin in the span, ascending; their number. */
static uint64_t lengths_of(uint32_t what, int64_t from, int64_t to, uint64_t *lengths,
			   uint64_t *errors)
{
	uint64_t n = 0;

	*errors = 0;
	for (int t = 0; t < TRACKS; t++)
		for (uint32_t i = 0; i < n_items; i++) {
			const struct plain *p = &items[t][i];

			if (p->what != what || p->begin < from || p->begin >= to)
				continue;
			lengths[n++] = (uint64_t)(p->end - p->begin);
			*errors += p->aux < 0 && p->aux > -4096;
		}
	qsort(lengths, n, sizeof *lengths, ascending);
	return n;
}

static void check_percentile(const struct ui_sum *s, const uint64_t *lengths, uint64_t n,
			     double percent)
{
	double exact = (double)n * percent / 100;
	uint64_t rank = (uint64_t)exact + ((double)(uint64_t)exact < exact);
	uint64_t want = lengths[(rank ? rank : 1) - 1], got = ui_sum_percentile(s, percent);

	if (ui_sum_is_exact(s))
		is(got, want);
	else
		ok((double)got >= (double)want * 0.984 - 1 &&
		   (double)got <= (double)want * 1.016 + 1);
}

static void check_sum(struct ui_digest *g, uint32_t what, uint64_t *lengths)
{
	struct ui_slow slow[SLOW];
	uint64_t errors, sum = 0, n = lengths_of(what, g->from, g->to, lengths, &errors);
	const struct ui_sum *s = ui_digest_get(g, what);
	uint32_t n_slow;

	ok(!n == !s);
	if (!s)
		return;
	for (uint64_t i = 0; i < n; i++)
		sum += lengths[i];
	is(s->n, n);
	is(s->errors, errors);
	is(s->sum, sum);
	is(s->min, lengths[0]);
	is(s->max, lengths[n - 1]);
	is(items[s->max_track][s->max_i].end - items[s->max_track][s->max_i].begin, s->max);
	is(items[s->max_track][s->max_i].what, what);
	check_percentile(s, lengths, n, 50);
	check_percentile(s, lengths, n, 99);
	check_percentile(s, lengths, n, 0.001);
	n_slow = ui_digest_slowest(g, tracks, TRACKS, what, slow, SLOW);
	is(n_slow, n < SLOW ? n : SLOW);
	for (uint32_t i = 0; i < n_slow; i++) {
		const struct plain *p = &items[slow[i].track][slow[i].i];

		is(slow[i].ns, lengths[n - 1 - i]);
		ok(p->what == what && p->begin == slow[i].begin_ns);
		is(p->end - p->begin, slow[i].ns);
	}
}

static void check_spans(int n_spans, bool has_values)
{
	uint64_t *lengths = calloc((size_t)TRACKS * n_items, sizeof *lengths);

	for (int q = 0; q < n_spans; q++) {
		const struct plain *a = &items[dice(TRACKS)][dice(n_items)];
		const struct plain *b = &items[dice(TRACKS)][dice(n_items)];
		int64_t from = q ? a->begin + (int64_t)dice(3) - 1 : 0;
		int64_t to = q ? b->end + (int64_t)dice(3) - 1 : INT64_MAX;
		struct ui_digest g;

		is(ui_digest_init(&g, &index_, from, to, NULL), 0);
		ui_digest_tracks(&g, tracks, TRACKS);
		for (uint32_t i = 0; i < g.n_sums; i++)
			ui_digest_spread(&g, &g.sums[i]);
		ui_digest_fill(&g, tracks, TRACKS);
		ok(q || g.has_values == has_values);
		for (uint32_t what = 0; what < 3; what++)
			check_sum(&g, what, lengths);
		ok(!g.has_failed);
		ui_digest_fini(&g);
	}
	free(lengths);
}

static void few_intervals_are_exact(void)
{
	open_index(FEW);
	check_spans(30, true);
	close_index();
}

static void many_intervals_are_exact_but_for_percentiles(void)
{
	open_index(MANY);
	check_spans(8, false);
	ui_digest_warm(&index_);
	check_spans(8, false); /* chunks are kept now, or are being made */
	close_index();
}

static void a_span_that_ends_before_it_begins_is_empty(void)
{
	struct ui_digest g;

	open_index(FEW);
	is(ui_digest_init(&g, &index_, 5000, 4000, NULL), 0);
	ui_digest_tracks(&g, tracks, TRACKS);
	is(g.n, 0);
	ui_digest_fini(&g);
	close_index();
}

static void what_was_cancelled_ends_early(void)
{
	const uint32_t is_cancelled = 1;
	struct ui_digest g;

	open_index(MANY);
	is(ui_digest_init(&g, &index_, 0, INT64_MAX, &is_cancelled), 0);
	ui_digest_tracks(&g, tracks, TRACKS);
	ok(g.n < (uint64_t)TRACKS * MANY / 2);
	ui_digest_fini(&g);
	close_index();
}

static void bins_adjoin(void)
{
	for (uint32_t b = 0; b + 1 < UI_BINS; b++) {
		is(ui_bin_of(ui_bin_begin(b)), b);
		is(ui_bin_of(ui_bin_begin(b + 1) - 1), b);
	}
	is(ui_bin_of(UINT64_MAX), UI_BINS - 1);
}

/* As a damaged file of a cached index may have them. */
static void numbers_that_no_name_has_are_left_out(void)
{
	struct ui_digest g;

	open_index(FEW);
	is(ui_digest_init(&g, &index_, 0, 1, NULL), 0);
	ok(!ui_digest_touch(&g, 0xf0000000u));
	ok(!ui_digest_touch(&g, UINT32_MAX));
	ok(!g.has_failed && !g.n_sums);
	ui_digest_fini(&g);
	close_index();
}

int main(void)
{
	run(bins_adjoin);
	run(few_intervals_are_exact);
	run(many_intervals_are_exact_but_for_percentiles);
	run(a_span_that_ends_before_it_begins_is_empty);
	run(what_was_cancelled_ends_early);
	run(numbers_that_no_name_has_are_left_out);
	return test_status();
}
