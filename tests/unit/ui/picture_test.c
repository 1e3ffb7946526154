/* SPDX-License-Identifier: MIT */
/*
 * unit/ui/picture_test.c - pictures of made tracks agree with the tracks, at any zoom.
 *
 * An answer is decoded as docs/formats/ui.md specifies it, and every number in it is compared with the
 * sums of the track over the same pixels.
 */
#include "test.h"

#include "made_index.h"
#include "ui/index/track.h"

enum { ENTRIES = 3000, ROWS = 40, BYTES_MOST = 120000 };

static uint64_t seed = 7;

static int64_t dice(int64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (int64_t)((seed >> 33) % (uint64_t)n);
}

/* ---------------------------------------------------------------- decoding */

static uint32_t digit(const char **p)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = strchr(digits, **p);

	ok(**p && at);
	++*p;
	return at ? (uint32_t)(at - digits) : 0;
}

static uint64_t number(const char **p)
{
	uint64_t value = 0, unit = 1;
	uint32_t d;

	do {
		d = digit(p);
		value += (d & 31) * unit;
		unit *= 32;
	} while (d & 32 && **p && **p != '"');
	return value;
}

/* Behind "name": in @text; NULL. */
static const char *member(const char *text, const char *name)
{
	char key[32];
	const char *p;

	snprintf(key, sizeof key, "\"%s\":", name);
	p = text ? strstr(text, key) : NULL;
	return p ? p + strlen(key) : NULL;
}

static int64_t int_member(const char *text, const char *name)
{
	const char *p = member(text, name);

	return p ? strtoll(p, NULL, 10) : -1;
}

struct view {
	struct ui_index *x;
	int64_t from, to, width;
	uint32_t track;
	int64_t grain;
};

static int64_t boundary(const struct view *v, int64_t pixel)
{
	return v->from + (int64_t)((__int128)pixel * (v->to - v->from) / v->width);
}

/* ---------------------------------------------------------------- checks */

static void share_is(uint32_t got, uint64_t part, int64_t whole, const char *what)
{
	double want = whole ? (double)part * 63 / (double)whole : 0;
	bool is_right = part ? got >= 1 && ((double)got - want < 1.6 || got == 1) &&
					want - (double)got < 1.6
			     : !got;

	if (!is_right)
		printf("# %s: share %u, not %.2f\n", what, got, want);
	ok(is_right);
}

static void check_states(const struct view *v, const char *track)
{
	static const int members[] = { UI_USER,	     UI_KERNEL, UI_RUNNABLE, UI_BLOCKED,
				       UI_PREEMPTED, UI_IRQ,	UI_UNKNOWN };
	const char *p = member(track, "runs");
	int64_t x = 0, n;
	struct ui_sums sums;

	for (p = p ? p + 1 : "\""; *p && *p != '"'; x += n) {
		uint64_t set;
		int64_t from, to;

		n = (int64_t)number(&p);
		set = number(&p);
		from = boundary(v, x);
		to = boundary(v, x + n);
		ui_track_sums(v->x, v->track, from, to, &sums);
		for (int i = 0; i < 7; i++)
			share_is(set >> i & 1 ? digit(&p) : 0, sums.ns[members[i]], to - from,
				 "state");
	}
	ok(x <= v->width);
	ui_track_sums(v->x, v->track, boundary(v, x), v->to, &sums);
	for (int i = 0; i < UI_STATES; i++)
		is(sums.ns[i], 0);
}

struct shown {
	int64_t from, to;
	uint32_t index;
};
static struct shown shown[4096];
static int n_shown;

static void read_items(const struct view *v, const char *track, bool is_points)
{
	const char *p = member(track, "items");
	int64_t index = 0, end = v->from;
	char *next;

	for (n_shown = 0, p = p ? p + 1 : "]"; *p != ']' && n_shown < 4096; n_shown++) {
		struct ui_interval got;
		int64_t numbers[4];

		for (int i = 0; i < (is_points ? 3 : 4); i++) {
			numbers[i] = strtoll(p, &next, 10);
			p = next + (*next == ',');
		}
		index += numbers[0];
		ok(ui_track_get(v->x, v->track, (uint32_t)index, &got));
		is(end + numbers[1], got.begin_ns);
		end = got.end_ns;
		is(numbers[2], is_points ? got.what : got.end_ns - got.begin_ns);
		if (!is_points)
			is(numbers[3], got.what);
		ok(got.begin_ns < v->to && got.end_ns >= v->from);
		ok(is_points ||
		   got.end_ns - got.begin_ns >= (v->to - v->from) / v->width * v->grain);
		shown[n_shown] = (struct shown){ got.begin_ns, got.end_ns, (uint32_t)index };
	}
}

/* The rest of the sums of [@from, @to) without the items. */
static void without_items(struct ui_sums *sums, int64_t from, int64_t to)
{
	for (int i = 0; i < n_shown; i++) {
		int64_t begin = shown[i].from > from ? shown[i].from : from;
		int64_t end = shown[i].to < to ? shown[i].to : to;

		sums->n -= shown[i].from >= from && shown[i].from < to;
		if (end > begin)
			sums->ns[0] -= (uint64_t)(end - begin);
	}
}

static void check_cells(const struct view *v, const char *track, bool is_points)
{
	const char *p = member(track, "density");
	int64_t x = 0, n;
	struct ui_sums sums;

	read_items(v, track, is_points);
	for (p = p ? p + 1 : "\""; *p && *p != '"'; x += n) {
		int64_t count, from, to;

		n = (int64_t)number(&p);
		count = (int64_t)number(&p);
		from = boundary(v, x);
		to = boundary(v, x + n);
		ui_track_sums(v->x, v->track, from, to, &sums);
		without_items(&sums, from, to);
		is(count, sums.n);
		if (!is_points)
			share_is(digit(&p), sums.ns[0], to - from, "density");
	}
	ok(x <= v->width);
	ui_track_sums(v->x, v->track, boundary(v, x), v->to, &sums);
	without_items(&sums, boundary(v, x), v->to);
	is(sums.n, 0);
	is(sums.ns[0], 0);
}

static void check_values(const struct view *v, const char *track)
{
	const char *p = member(track, "points");
	uint32_t i = ui_track_find(v->x, v->track, v->from);
	struct ui_interval entry;
	char *next;

	for (p = p ? p + 1 : "]"; *p != ']';) {
		int64_t least = INT64_MAX, most = INT64_MIN, last = 0, got[4], to;

		for (int k = 0; k < 4; k++) {
			got[k] = strtoll(p, &next, 10);
			p = next + (*next == ',');
		}
		to = got[0] + v->grain < v->width ? boundary(v, got[0] + v->grain) : v->to;
		for (; ui_track_get(v->x, v->track, i, &entry) && entry.begin_ns < to; i++) {
			ok(entry.begin_ns >= boundary(v, got[0]));
			least = entry.aux < least ? entry.aux : least;
			most = entry.aux > most ? entry.aux : most;
			last = entry.aux;
		}
		is(got[1], least);
		is(got[2], most);
		is(got[3], last);
	}
	ok(!ui_track_get(v->x, v->track, i, &entry) || entry.begin_ns >= v->to);
}

static void check_picture(struct ui_index *x, const char *rows, int64_t from, int64_t to, int width,
			  int n_tracks)
{
	struct view v = { .x = x };
	char request[512];
	char *answer;
	int status, n = 0;

	snprintf(request, sizeof request, "/api/picture?rows=%s&from=%lld&to=%lld&width=%d", rows,
		 (long long)from, (long long)to, width);
	answer = ask_made(x, request, &status);
	is(status, 200);
	ok(strlen(answer) <= BYTES_MOST);
	v.from = int_member(answer, "from");
	v.to = int_member(answer, "to");
	v.width = int_member(answer, "width");
	is(v.from, from);
	is(v.to, to);
	for (const char *p = answer; (p = strstr(p, "{\"track\":")); p++, n++) {
		struct ui_track_info info;

		v.track = (uint32_t)int_member(p, "track");
		v.grain = int_member(p, "grain");
		ok(ui_track_info(x, v.track, &info));
		if (info.kind == UI_TRACK_STATES)
			check_states(&v, p);
		else if (info.kind == UI_TRACK_COUNTER)
			check_values(&v, p);
		else
			check_cells(&v, p, info.kind >= UI_TRACK_EVENTS);
	}
	is(n, n_tracks);
	free(answer);
}

/* ---------------------------------------------------------------- made tracks */

static void fill(struct ui_index *x, uint32_t track)
{
	int64_t now = dice(5000);

	for (int i = 0; i < ENTRIES; i++) {
		int64_t begin = now += dice(3) ? 0 : dice(dice(20) ? 2000 : 3000000);

		now += dice(12) ? dice(900) : dice(400000);
		is(track_add(&x->tracks[track], begin, now, (uint32_t)dice(UI_STATES),
			     dice(1000) - 500),
		   0);
	}
	if (x->status.end_ns < now)
		x->status.end_ns = x->status.ready_ns = x->known_ns = now + 1000;
}

static struct ui_index *make(int n_rows)
{
	static const uint8_t kinds[] = { UI_TRACK_STATES, UI_TRACK_SPANS, UI_TRACK_EVENTS,
					 UI_TRACK_COUNTER };
	struct ui_index *x = made_index(1);

	for (int i = 0; i < n_rows; i++) {
		uint32_t row = made_row(x, UI_ROW_THREAD, 0, "row", 1, i + 1);

		for (size_t k = 0; k < sizeof kinds; k++)
			fill(x, made_track(x, row, kinds[k], 0));
	}
	return x;
}

static void a_picture_says_what_the_tracks_say_at_any_zoom(void)
{
	struct ui_index *x = make(1);

	is(track_begin(&x->tracks[0], x->status.end_ns - 900, UI_BLOCKED), 0);
	is(track_begin(&x->tracks[1], x->status.end_ns - 800, 3), 0);
	check_picture(x, "0", 0, x->status.end_ns, 1000, 4);
	for (int i = 0; i < 60; i++) {
		int64_t from = dice(x->status.end_ns), span = 1 + dice(1ll << (2 + dice(27)));

		check_picture(x, "0", from, from + span, 1 + (int)dice(1500), 4);
	}
	ui_index_close(x);
}

static void many_busy_rows_are_joined_and_nothing_is_left_out(void)
{
	struct ui_index *x = make(ROWS);
	char rows[ROWS * 4] = "0";

	for (int i = 1; i < ROWS; i++)
		sprintf(rows + strlen(rows), ",%d", i);
	check_picture(x, rows, 0, x->status.end_ns, 2000, ROWS * 4);
	check_picture(x, rows, x->status.end_ns / 3, x->status.end_ns / 2, 2000, ROWS * 4);
	check_picture(x, rows, x->status.end_ns / 3, x->status.end_ns / 3 + 5000000, 20000,
		      ROWS * 4);
	ui_index_close(x);
}

static void rows_without_room_are_counted(void)
{
	enum { MANY = 900 };
	struct ui_index *x = made_index(100000);
	char *request = malloc(MANY * 5 + 64), *answer, *end = request;
	const char *p;
	int status, n = 0;

	for (int i = 0; i < MANY; i++) {
		uint32_t row = made_row(x, UI_ROW_THREAD, 0, "row", 1, i + 1);

		for (uint8_t k = 0; k < 3; k++) {
			uint32_t track = made_track(x, row, UI_TRACK_SPANS, k);

			for (int64_t at = 0; at < 90000; at += 1000)
				track_add(&x->tracks[track], at, at + dice(900), 0, 0);
		}
		end += sprintf(end, "%s%d", i ? "," : "/api/picture?width=1000&rows=", i);
	}
	answer = ask_made(x, request, &status);
	is(status, 200);
	ok(strlen(answer) <= BYTES_MOST);
	for (p = answer; (p = strstr(p, "{\"row\":")); p++)
		n++;
	ok(n > 100 && n < MANY);
	is(n + int_member(answer, "rows_left_out"), MANY);
	free(answer);
	free(request);
	ui_index_close(x);
}

static void a_picture_of_an_empty_recording_is_empty(void)
{
	struct ui_index *x = made_index(0);
	int status;
	char *answer;

	made_row(x, UI_ROW_GROUP, 0, "CPUs", -1, -1);
	answer = ask_made(x, "/api/picture?rows=0&width=500", &status);
	is_text(answer, "{\"from\":0,\"to\":1,\"width\":1,\"ready\":0,\"gaps\":[],\"merged\":0,"
			"\"rows\":[{\"row\":0,\"tracks\":[]}]}");
	free(answer);
	ui_index_close(x);
}

/* By hand: 8 pixels of 10 ns. */
static void a_small_picture_is_these_bytes(void)
{
	struct ui_index *x = made_index(80);
	uint32_t row = made_row(x, UI_ROW_THREAD, 0, "a", 1, 1);
	uint32_t states = made_track(x, row, UI_TRACK_STATES, 0);
	uint32_t spans = made_track(x, row, UI_TRACK_SPANS, 1);
	uint32_t events = made_track(x, row, UI_TRACK_EVENTS, 0);
	int status;
	char *answer;

	track_add(&x->tracks[states], 0, 20, UI_USER, 0);
	track_add(&x->tracks[states], 20, 25, UI_KERNEL, 0);
	track_add(&x->tracks[states], 25, 50, UI_BLOCKED, 0);
	track_add(&x->tracks[spans], 5, 35, 2, 0);
	track_add(&x->tracks[spans], 60, 61, 3, 0);
	track_add(&x->tracks[spans], 62, 64, 3, 0);
	track_add(&x->tracks[events], 12, 12, 4, 0);
	track_add(&x->tracks[events], 33, 33, 5, 0);
	track_add(&x->tracks[events], 34, 34, 5, 0);
	answer = ask_made(x, "/api/picture?rows=0&width=8&from=0&to=80", &status);
	is_text(answer,
		"{\"from\":0,\"to\":80,\"width\":8,\"ready\":80,\"gaps\":[],\"merged\":0,"
		"\"rows\":[{\"row\":0,\"tracks\":["
		/* 2 x user 63; 1 x kernel 32, blocked 32; 2 x blocked 63 */
		"{\"track\":0,\"kind\":\"states\",\"runs\":\"CB_BKggCI_\"},"
		/* 6 x nothing; 1 x 2 of 19/63 */
		"{\"track\":1,\"kind\":\"spans\",\"depth\":1,\"grain\":1,\"items\":[0,5,30,2],"
		"\"density\":\"GAABCT\"},"
		"{\"track\":2,\"kind\":\"events\",\"depth\":0,\"grain\":1,\"items\":[0,12,4],"
		"\"density\":\"DABC\"}]}]}");
	free(answer);
	ui_index_close(x);
}

int main(void)
{
	run(a_picture_of_an_empty_recording_is_empty);
	run(a_small_picture_is_these_bytes);
	run(a_picture_says_what_the_tracks_say_at_any_zoom);
	run(many_busy_rows_are_joined_and_nothing_is_left_out);
	run(rows_without_room_are_counted);
	return test_status();
}
