/* SPDX-License-Identifier: MIT */
/*
 * ui/picture/lanes.c - tracks read as pixels and written as runs: see lanes.h and docs/formats/ui.md.
 *
 * At level L of intervals and points 1 << L cells become one.  Runs of states are joined while no share
 * differs by more than a tolerance instead: edges stay where they are.
 */
#include "ui/picture/lanes.h"

#include <errno.h>
#include <stdlib.h>

enum { DIGIT = 63, RUN_BYTES = 24 /* at most, of a run */ };

/* The order of the members of a set, and the tolerance of each level. */
static const uint8_t members[] = { UI_USER,	 UI_KERNEL, UI_RUNNABLE, UI_BLOCKED,
				   UI_PREEMPTED, UI_IRQ,    UI_UNKNOWN };
static const int16_t tolerances[] = { 0,    520,   1024,  2048,	 4096,
				      8192, 12288, 16384, 24576, LANE_WHOLE };
enum { STATE_LEVELS = sizeof tolerances / sizeof *tolerances };

/* ---------------------------------------------------------------- digits */

static char digit_of(uint32_t d)
{
	return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[d & DIGIT];
}

static char *put_number(char *p, uint64_t n)
{
	for (; n >= 32; n /= 32)
		*p++ = digit_of((uint32_t)(n % 32) + 32);
	*p++ = digit_of((uint32_t)n);
	return p;
}

/* A share that is not nothing is shown. */
static uint32_t share_digit(uint64_t part, uint64_t whole)
{
	uint32_t digit = part ? (uint32_t)((double)part * DIGIT / (double)whole + 0.5) : 0;

	return part && !digit ? 1 : digit > DIGIT ? DIGIT : digit;
}

int lane_work_init(struct lane_work *w, uint32_t width)
{
	w->runs = malloc((size_t)width * RUN_BYTES);
	w->counts = malloc(width * sizeof *w->counts);
	w->ns = malloc(width * sizeof *w->ns);
	return w->runs && w->counts && w->ns ? 0 : -ENOMEM;
}

void lane_work_fini(struct lane_work *w)
{
	free(w->runs);
	free(w->counts);
	free(w->ns);
	*w = (struct lane_work){ 0 };
}

/* ---------------------------------------------------------------- reading */

static void read_cell(struct lane *l, uint32_t x, const uint64_t *before, double scale)
{
	uint8_t digits[LANE_SHARES] = { 0 };

	for (uint32_t i = 0; i < UI_STATES; i++) {
		double share = (double)(before[UI_STATES + i] - before[i]) * scale;
		uint32_t digit;

		if (share <= 0)
			continue;
		share = share < 1 ? 1 : share > LANE_WHOLE ? LANE_WHOLE : share;
		digit = (uint32_t)(share * DIGIT / LANE_WHOLE + 0.5);
		digits[i] = (uint8_t)(digit ? digit : 1);
		l->shares[(size_t)x * LANE_SHARES + i] = (int16_t)(share + 0.5);
	}
	memcpy(&l->digits[x], digits, sizeof digits);
}

static int read_states(struct lane *l, const struct ui_scan *s)
{
	l->shares = calloc(l->n, LANE_SHARES * sizeof *l->shares);
	l->digits = malloc(l->n * sizeof *l->digits);
	if (!l->shares || !l->digits)
		return -ENOMEM;
	for (uint32_t x = 0; x < l->n; x++)
		read_cell(l, x, &s->covered[(size_t)x * UI_STATES],
			  (double)LANE_WHOLE / (double)(s->at[x + 1] - s->at[x]));
	return 0;
}

/* The cell of @at, which is in the picture. */
static uint32_t cell_of(const struct lane *l, int64_t at)
{
	uint32_t x = (uint32_t)((double)(at - l->at[0]) * l->per_ns);

	x = x < l->n ? x : l->n - 1;
	while (l->at[x] > at)
		x--;
	while (l->at[x + 1] <= at)
		x++;
	return x;
}

/* What an item covers of 1 << @level cells each is added to @ns, or taken away; @one: 1 or -1. */
static void move_item(const struct lane *l, const struct ui_scan_item *item, int level, int64_t one,
		      uint32_t *counts, uint64_t *ns)
{
	int64_t from = l->at[0], to = l->at[l->n];
	int64_t end = item->end_ns < to ? item->end_ns : to;
	int64_t at = item->begin_ns > from ? item->begin_ns : from;
	uint32_t cell = cell_of(l, at) >> level;

	if (item->begin_ns >= from)
		counts[cell] += (uint32_t)one;
	for (; at < end; cell++) {
		uint32_t x = (cell + 1) << level;
		int64_t next = l->at[x < l->n ? x : l->n];

		next = next < end ? next : end;
		ns[cell] += (uint64_t)(one * (next - at));
		at = next;
	}
}

static int read_counts(struct lane *l, const struct ui_scan *s)
{
	l->counts = malloc(l->n * sizeof *l->counts);
	l->ns = s->n_sums ? malloc(l->n * sizeof *l->ns) : NULL;
	l->items = s->n_items ? malloc(s->n_items * sizeof *l->items) : NULL;
	if (!l->counts || (s->n_sums && !l->ns) || (s->n_items && !l->items))
		return -ENOMEM;
	for (uint32_t x = 0; x < l->n; x++)
		l->counts[x] = s->before[x + 1] - s->before[x];
	for (uint32_t x = 0; x < l->n && s->n_sums; x++)
		l->ns[x] = s->covered[x + 1] - s->covered[x];
	l->n_items = s->n_items;
	if (s->n_items)
		memcpy(l->items, s->items, s->n_items * sizeof *l->items);
	for (uint32_t i = 0; i < l->n_items && s->n_sums; i++)
		move_item(l, &l->items[i], 0, -1, l->counts, l->ns);
	return 0;
}

static int read_values(struct lane *l, const struct ui_scan *s)
{
	l->values = malloc(l->n * 3 * sizeof *l->values);
	if (!l->values)
		return -ENOMEM;
	memcpy(l->values, s->values, l->n * 3 * sizeof *l->values);
	return 0;
}

size_t lane_estimate(struct ui_index *x, uint32_t track, int64_t from, int64_t to, uint32_t width)
{
	/* Bytes of an entry that stands alone, and of a pixel where there are many. */
	static const uint8_t costs[][2] = {
		[UI_TRACK_STATES] = { 10, 6 },	 [UI_TRACK_RUNNING] = { 16, 6 },
		[UI_TRACK_SPANS] = { 16, 6 },	 [UI_TRACK_SYSCALLS] = { 16, 6 },
		[UI_TRACK_CALLS] = { 16, 6 },	 [UI_TRACK_BUSY] = { 16, 6 },
		[UI_TRACK_EVENTS] = { 12, 4 },	 [UI_TRACK_SAMPLES] = { 12, 4 },
		[UI_TRACK_COUNTER] = { 16, 16 },
	};
	struct ui_track_info info;
	struct ui_sums sums;
	uint64_t sparse, dense;

	if (!ui_track_info(x, track, &info))
		return 0;
	ui_track_sums(x, track, from, to, &sums);
	sparse = (sums.n + 2) * costs[info.kind][0];
	dense = (uint64_t)width * costs[info.kind][1];
	return 64 + (sparse < dense ? sparse : dense);
}

int lane_read(struct lane *l, struct ui_index *x, uint32_t track, int base, struct ui_scan *s)
{
	int err;

	*l = (struct lane){ .track = track, .width = s->width, .base = base, .level = -1 };
	if (!ui_track_info(x, track, &l->info))
		return -EINVAL;
	s->grain = 1u << base;
	s->least_ns = (s->to_ns - s->from_ns) / s->width * s->grain;
	err = ui_track_scan(x, track, s);
	if (err)
		return err;
	l->at = s->at;
	l->n = s->n_cells;
	l->per_ns = 1 / ((double)(s->to_ns - s->from_ns) / s->width * s->grain);
	if (l->info.kind == UI_TRACK_STATES)
		return read_states(l, s);
	err = read_counts(l, s);
	return err || l->info.kind != UI_TRACK_COUNTER ? err : read_values(l, s);
}

void lane_settle(struct lane *l)
{
	free(l->shares);
	free(l->digits);
	free(l->counts);
	free(l->ns);
	free(l->items);
	free(l->values);
	l->shares = NULL;
	l->digits = NULL;
	l->counts = NULL;
	l->ns = NULL;
	l->items = NULL;
	l->values = NULL;
}

void lane_fini(struct lane *l)
{
	lane_settle(l);
	text_fini(&l->text);
	*l = (struct lane){ 0 };
}

/* ---------------------------------------------------------------- states */

/* The shares of a cell, side by side. */
typedef int16_t shares_of __attribute__((vector_size(LANE_SHARES * sizeof(int16_t))));
_Static_assert(sizeof(shares_of) == 16, "two words, as is_any() has it");

static shares_of shares_at(const struct lane *l, uint32_t x)
{
	shares_of shares;

	memcpy(&shares, &l->shares[(size_t)x * LANE_SHARES], sizeof shares);
	return shares;
}

static bool is_any(shares_of mask)
{
	uint64_t words[2];

	memcpy(words, &mask, sizeof words);
	return words[0] | words[1];
}

/* The first cell behind the run that begins at @x: there a share would differ too much. */
static uint32_t end_of_run(const struct lane *l, uint32_t x, int level)
{
	int16_t tolerance = tolerances[level < STATE_LEVELS ? level : STATE_LEVELS - 1];
	shares_of least = shares_at(l, x), most = least;

	for (x++; x < l->n; x++) {
		shares_of here = shares_at(l, x), less = here<least, more = here> most;

		least = (here & less) | (least & ~less);
		most = (here & more) | (most & ~more);
		if (is_any(most - least > tolerance))
			break;
	}
	return x;
}

/* The means of cells @x to @end. */
static uint64_t mean_digits(const struct lane *l, uint32_t x, uint32_t end)
{
	uint64_t whole = (uint64_t)LANE_WHOLE * (end - x), digits;
	uint32_t sum[LANE_SHARES] = { 0 };
	uint8_t mean[LANE_SHARES];

	for (; x < end; x++)
		for (uint32_t i = 0; i < LANE_SHARES; i++)
			sum[i] += (uint32_t)l->shares[(size_t)x * LANE_SHARES + i];
	for (uint32_t i = 0; i < LANE_SHARES; i++)
		mean[i] = (uint8_t)share_digit(sum[i], whole);
	memcpy(&digits, mean, sizeof digits);
	return digits;
}

/* Cells @x to @end in pixels. */
static uint32_t pixels_of(const struct lane *l, uint32_t x, uint32_t end)
{
	uint32_t to = end << l->base;

	return (to < l->width ? to : l->width) - (x << l->base);
}

static char *put_run(char *p, uint32_t pixels, uint64_t digits)
{
	uint8_t share[LANE_SHARES];
	uint32_t set = 0;

	memcpy(share, &digits, sizeof share);
	for (uint32_t i = 0; i < sizeof members; i++)
		set |= (uint32_t) !!share[members[i]] << i;
	p = put_number(p, pixels);
	p = put_number(p, set);
	for (uint32_t i = 0; i < sizeof members; i++)
		if (share[members[i]])
			*p++ = digit_of(share[members[i]]);
	return p;
}

static void write_states(struct lane *l, struct lane_work *w, int level)
{
	char *p = w->runs, *last = p;
	uint32_t end;

	for (uint32_t x = 0; x < l->n; x = end) {
		uint64_t digits = l->digits[x];

		if (level) {
			end = end_of_run(l, x, level);
			digits = mean_digits(l, x, end);
		} else {
			for (end = x + 1; end < l->n && l->digits[end] == digits; end++)
				;
		}
		p = put_run(p, pixels_of(l, x, end), digits);
		last = digits ? p : last; /* cells without a state are left out at the end */
	}
	add(&l->text, level + l->base ? ",\"mean\":true,\"runs\":\"" : ",\"runs\":\"");
	text_add(&l->text, w->runs, (size_t)(last - w->runs));
	add(&l->text, "\"");
}

/* ---------------------------------------------------------------- cells */

/* Neighbouring cells of the same number and share are one run. */
struct stretch {
	uint32_t pixels, cells, count, digit;
};

static char *put_stretch(char *p, const struct stretch *s, bool has_share)
{
	p = put_number(p, s->pixels);
	p = put_number(p, (uint64_t)s->count * s->cells);
	if (has_share)
		*p++ = digit_of(s->digit);
	return p;
}

static void write_density(struct lane *l, struct lane_work *w, int level)
{
	struct stretch s = { 0 };
	uint32_t grain = 1u << level;
	char *p = w->runs;

	for (uint32_t x = 0; x < l->n; x += grain) {
		uint32_t n = l->n - x < grain ? l->n - x : grain;
		uint32_t count = w->counts[x >> level], digit = 0;

		if (l->ns)
			digit = share_digit(w->ns[x >> level], (uint64_t)(l->at[x + n] - l->at[x]));
		if (s.cells && (s.count != count || s.digit != digit)) {
			p = put_stretch(p, &s, l->ns);
			s = (struct stretch){ 0 };
		}
		s = (struct stretch){ s.pixels + pixels_of(l, x, x + n), s.cells + 1, count,
				      digit };
	}
	if (s.count || s.digit)
		p = put_stretch(p, &s, l->ns);
	add(&l->text, ",\"density\":\"");
	text_add(&l->text, w->runs, (size_t)(p - w->runs));
	add(&l->text, "\"");
}

/* Whether @item is shown by itself; if not, it is counted in its cells. */
static bool is_shown(const struct lane *l, struct lane_work *w, int level,
		     const struct ui_scan_item *item)
{
	uint32_t cell;

	if (l->ns) {
		int64_t least = (l->at[l->n] - l->at[0]) / l->width * (1ll << (level + l->base));

		if (item->end_ns - item->begin_ns >= least)
			return true;
		move_item(l, item, level, 1, w->counts, w->ns);
		return false;
	}
	cell = cell_of(l, item->begin_ns) >> level;
	if (w->counts[cell] != 1)
		return false;
	w->counts[cell] = 0;
	return true;
}

static void write_items(struct lane *l, struct lane_work *w, int level)
{
	int64_t end = l->at[0];
	uint32_t index = 0;
	struct text *t = &l->text;

	add(t, ",\"items\":[");
	for (uint32_t i = 0; i < l->n_items; i++) {
		const struct ui_scan_item *item = &l->items[i];

		if (!is_shown(l, w, level, item))
			continue;
		add(t, l->n_written++ ? "," : "");
		ui_add_int(t, (int64_t)item->index - index);
		add(t, ",");
		ui_add_int(t, item->begin_ns - end);
		add(t, ",");
		if (l->ns) {
			ui_add_int(t, item->end_ns - item->begin_ns);
			add(t, ",");
		}
		ui_add_int(t, item->what);
		index = item->index;
		end = item->end_ns;
	}
	add(t, "]");
}

static void write_cells(struct lane *l, struct lane_work *w, int level)
{
	uint32_t n = ((l->n - 1) >> level) + 1;

	memset(w->counts, 0, n * sizeof *w->counts);
	memset(w->ns, 0, n * sizeof *w->ns);
	for (uint32_t x = 0; x < l->n; x++)
		w->counts[x >> level] += l->counts[x];
	for (uint32_t x = 0; x < l->n && l->ns; x++)
		w->ns[x >> level] += l->ns[x];
	write_items(l, w, level);
	write_density(l, w, level);
}

/* ---------------------------------------------------------------- counters */

static void write_point(struct text *t, uint32_t x, const int64_t *values)
{
	ui_add_int(t, x);
	for (int i = 0; i < 3; i++) {
		add(t, ",");
		ui_add_int(t, values[i]);
	}
}

static void write_values(struct lane *l, uint32_t grain)
{
	bool is_first = true;

	add(&l->text, ",\"points\":[");
	for (uint32_t x = 0; x < l->n; x += grain) {
		int64_t cell[3] = { INT64_MAX, INT64_MIN, 0 };

		for (uint32_t i = x; i < l->n && i < x + grain; i++) {
			const int64_t *v = &l->values[(size_t)i * 3];

			if (!l->counts[i])
				continue;
			cell[0] = v[0] < cell[0] ? v[0] : cell[0];
			cell[1] = v[1] > cell[1] ? v[1] : cell[1];
			cell[2] = v[2];
		}
		if (cell[0] > cell[1])
			continue;
		add(&l->text, is_first ? "" : ",");
		write_point(&l->text, x << l->base, cell);
		is_first = false;
	}
	add(&l->text, "]");
}

/* ---------------------------------------------------------------- levels */

static int write_lane(struct lane *l, struct lane_work *w, int level)
{
	struct text *t = &l->text;

	if (level == l->level)
		return 0;
	t->size = 0;
	l->n_written = 0;
	l->level = level;
	add(t, "{");
	ui_add_member(t, "track", l->track);
	ui_add_string(t, "kind", ui_track_kinds[l->info.kind]);
	if (l->info.kind == UI_TRACK_STATES) {
		write_states(l, w, level);
	} else {
		ui_add_member(t, "depth", l->info.depth);
		ui_add_member(t, "grain", 1ll << (level + l->base));
		if (l->info.kind == UI_TRACK_COUNTER)
			write_values(l, 1u << level);
		else
			write_cells(l, w, level);
	}
	add(t, "}");
	return t->failed ? -ENOMEM : 0;
}

static bool fits(const struct lane *l, size_t most)
{
	return l->text.size <= most && l->n_written <= LANE_ITEMS;
}

/* The first level that @most allows, near @level, which is not 0. */
static int fit_near(struct lane *l, struct lane_work *w, size_t most, int level)
{
	int err = write_lane(l, w, level);

	if (fits(l, most)) {
		while (!err && level > 1 && fits(l, most))
			err = write_lane(l, w, --level);
		if (fits(l, most))
			return err;
	}
	while (!err && level < LANE_LEVELS - 1 && !fits(l, most))
		err = write_lane(l, w, ++level);
	return err;
}

int lane_fit(struct lane *l, struct lane_work *w, size_t most)
{
	int err = l->level < 0 ? write_lane(l, w, 0) : 0, guess = 1;

	if (err || fits(l, most) || (!l->shares && !l->counts))
		return err;
	/* Cells halve with each level; what a tolerance does to states is not known. */
	for (size_t size = l->text.size / 2; !l->shares && size > most && guess < LANE_LEVELS - 1;
	     size /= 2)
		guess++;
	return fit_near(l, w, most, guess);
}
