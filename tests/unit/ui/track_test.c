/* SPDX-License-Identifier: MIT */
/* unit/ui/track_test.c - sums and look-ups of a track equal those of a plain list. */
#include "test.h"

#include <limits.h>

#include "ui/index/scan.h"
#include "ui/index/track.h"

enum { ENTRIES = 5000, QUESTIONS = 20000 };

static int64_t begins[ENTRIES], ends[ENTRIES];
static uint32_t what[ENTRIES];
static uint64_t seed = 1;

static uint64_t dice(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* Short and long intervals, side by side and far apart. */
static void fill(struct track *t, uint8_t kind)
{
	const struct ui_track_info info = { .kind = kind };
	int64_t now = 1000;

	track_init(t, &info);
	for (int i = 0; i < ENTRIES; i++) {
		now += dice(3) ? 0 : (int64_t)dice(dice(50) ? 1000 : 6000000000);
		begins[i] = now;
		now += (int64_t)dice(dice(40) ? 500 : 9000000000);
		ends[i] = kind >= UI_TRACK_EVENTS ? begins[i] : now;
		what[i] = (uint32_t)dice(UI_STATES);
		is(track_add(t, begins[i], ends[i], what[i], 0), 0);
	}
}

static int64_t moment(void)
{
	return (int64_t)dice(10) ? begins[dice(ENTRIES)] + (int64_t)dice(600) - 300
				 : ends[dice(ENTRIES)] + (int64_t)dice(20000000000) - 10000000000;
}

static void sums_of_any_span_are_exact(void)
{
	struct track t;

	fill(&t, UI_TRACK_STATES);
	for (int q = 0; q < QUESTIONS / 100; q++) {
		int64_t from = moment(), to = moment();
		struct ui_sums got, want = { 0 };

		for (int i = 0; i < ENTRIES; i++) {
			int64_t begin = begins[i] > from ? begins[i] : from;
			int64_t end = ends[i] < to ? ends[i] : to;

			if (end > begin)
				want.ns[what[i]] += (uint64_t)(end - begin);
			want.n += begins[i] >= from && begins[i] < to;
		}
		track_sums(&t, from, to, INT64_MAX, &got);
		for (int k = 0; k < UI_STATES; k++)
			is(got.ns[k], to > from ? want.ns[k] : 0);
		is(got.n, to > from ? want.n : 0);
	}
	ok(track_is_sound(&t));
	track_fini(&t);
}

static void every_entry_is_found_by_its_time(void)
{
	static const uint8_t kinds[] = { UI_TRACK_STATES, UI_TRACK_EVENTS };

	for (int k = 0; k < 2; k++) {
		struct track t;

		fill(&t, kinds[k]);
		for (int q = 0; q < QUESTIONS; q++) {
			int64_t at = moment();
			uint32_t got = track_find(&t, at);
			struct ui_interval v;

			if (got) {
				ok(track_get(&t, got - 1, INT64_MAX, &v));
				ok(k ? v.begin_ns < at : v.end_ns <= at);
			}
			if (got < ENTRIES) {
				ok(track_get(&t, got, INT64_MAX, &v));
				ok(k ? v.begin_ns >= at : v.end_ns > at);
				is(v.begin_ns, begins[got]);
				is(v.end_ns, ends[got]);
				is(v.what, what[got]);
			}
		}
		ok(!track_get(&t, ENTRIES, INT64_MAX, &(struct ui_interval){ 0 }));
		track_fini(&t);
	}
}

static void entries_read_together_are_those_read_one_by_one(void)
{
	static struct ui_interval got[ENTRIES + 2];
	struct track t;

	fill(&t, UI_TRACK_STATES);
	is(track_begin(&t, INT64_MAX - 10, UI_USER), 0);
	for (int q = 0; q < 200; q++) {
		uint32_t first = (uint32_t)dice(ENTRIES + 3), most = (uint32_t)dice(300);
		uint32_t n = track_read(&t, first, INT64_MAX, got, most);
		uint32_t rest = first > ENTRIES ? 0 : ENTRIES + 1 - first;

		is(n, rest < most ? rest : most);
		for (uint32_t i = 0; i < n; i++) {
			struct ui_interval v;

			ok(track_get(&t, first + i, INT64_MAX, &v));
			is(got[i].begin_ns, v.begin_ns);
			is(got[i].end_ns, v.end_ns);
			is(got[i].what, v.what);
			is(got[i].is_open, v.is_open);
		}
	}
	track_fini(&t);
}

static void an_open_interval_counts_and_keeps_its_number(void)
{
	const struct ui_track_info info = { .kind = UI_TRACK_STATES };
	struct ui_interval v;
	struct ui_sums s;
	struct track t;

	track_init(&t, &info);
	is(track_begin(&t, 100, UI_USER), 0);
	is(track_n(&t), 1);
	ok(track_get(&t, 0, 150, &v) && v.is_open && v.end_ns == 150);
	track_sums(&t, 0, 1000, 150, &s);
	is(s.ns[UI_USER], 50);
	is(track_begin(&t, 200, UI_BLOCKED), 0);
	is(track_end(&t, 300, 0), 0);
	ok(track_get(&t, 0, 400, &v) && !v.is_open && v.end_ns == 200 && v.what == UI_USER);
	ok(track_get(&t, 1, 400, &v) && v.begin_ns == 200 && v.end_ns == 300);
	track_sums(&t, 150, 250, 400, &s);
	is(s.ns[UI_USER], 50);
	is(s.ns[UI_BLOCKED], 50);
	track_fini(&t);
}

static void entries_that_overlap_are_cut(void)
{
	const struct ui_track_info info = { .kind = UI_TRACK_BUSY };
	struct ui_interval v;
	struct track t;

	track_init(&t, &info);
	is(track_add(&t, 100, 200, 1, 0), 0);
	is(track_add(&t, 150, 250, 2, 0), 0);
	is(track_add(&t, 120, 130, 3, 0), 0);
	ok(track_get(&t, 1, 0, &v) && v.begin_ns == 200 && v.end_ns == 250);
	ok(track_get(&t, 2, 0, &v) && v.begin_ns == 250 && v.end_ns == 250);
	track_fini(&t);
}

/* As a damaged file of a cached index may have it: an interval goes on at each boundary, and the open one
 * begins before the last of them ends. */
static void items_of_a_damaged_track_have_room(void)
{
	const struct ui_track_info info = { .kind = UI_TRACK_BUSY };
	struct ui_scan s = { .from_ns = 0, .to_ns = 40, .width = 4, .least_ns = 1 };
	struct track t;

	track_init(&t, &info);
	for (int64_t ns = -5; ns < 40; ns += 10)
		is(track_add(&t, ns, ns + 10, 1, 0), 0);
	is(track_begin(&t, 45, 1), 0);
	t.open_ns = 38;
	is(scan_make_room(&s), 0);
	track_scan(&t, 50, &s);
	is(s.n_items, 6);
	ui_scan_fini(&s);
	track_fini(&t);
}

int main(void)
{
	run(sums_of_any_span_are_exact);
	run(every_entry_is_found_by_its_time);
	run(entries_read_together_are_those_read_one_by_one);
	run(an_open_interval_counts_and_keeps_its_number);
	run(entries_that_overlap_are_cut);
	run(items_of_a_damaged_track_have_room);
	return test_status();
}
