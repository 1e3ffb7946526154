/* SPDX-License-Identifier: MIT */
/*
 * ui/index/scan.c - a track as cells: see struct ui_scan.
 *
 * A cursor goes from boundary to boundary.  Over whole blocks it gallops: their sums are known.  In a
 * block it counts entry by entry, at most 64 of them for a cell.
 *
 * An interval of at least a cell contains a boundary or ends at one, and is then the last that began
 * before it.  So the long ones are found without a look at the short ones.
 */
#include "ui/index/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
	const struct track *t;
	uint32_t block, block_end; /* entries of the block that has entry i - 1 */
	uint32_t i;		   /* the first entry that does not begin before the boundary */
	int64_t base_ns;
	int64_t last_ns;	/* length of entry i - 1 */
	uint32_t next_long;	/* of the table, most often that of the next entry there */
	uint64_t ns[UI_STATES]; /* covered by all entries before i */
};

static int grow(void *column, size_t n, size_t size)
{
	void *bigger = realloc(*(void **)column, n * size);

	if (!bigger)
		return -ENOMEM;
	*(void **)column = bigger;
	return 0;
}

/* floor(x * span / width) without a product that overflows. */
static void make_boundaries(struct ui_scan *s)
{
	int64_t span = s->to_ns - s->from_ns, whole = span / s->width, rest = span % s->width;

	if (s->at_from_ns == s->from_ns && s->at_to_ns == s->to_ns && s->at_width == s->width &&
	    s->at_grain == s->grain)
		return;
	for (uint32_t i = 0; i <= s->n_cells; i++) {
		uint32_t x = i < s->n_cells ? i * s->grain : s->width;

		s->at[i] = s->from_ns + whole * x + rest * x / s->width;
	}
	s->at_from_ns = s->from_ns;
	s->at_to_ns = s->to_ns;
	s->at_width = s->width;
	s->at_grain = s->grain;
}

int scan_make_room(struct ui_scan *s)
{
	size_t n;

	s->n_items = 0;
	s->grain = s->grain ? s->grain : 1;
	s->n_cells = (s->width - 1) / s->grain + 1;
	n = (size_t)s->n_cells + 1;
	if (n <= s->room) {
		make_boundaries(s);
		return 0;
	}
	if (grow(&s->at, n, sizeof *s->at) || grow(&s->before, n, sizeof *s->before) ||
	    grow(&s->covered, n * UI_STATES, sizeof *s->covered) ||
	    grow(&s->values, n * 3, sizeof *s->values) ||
	    grow(&s->items, n + 1, sizeof *s->items)) /* one a boundary, and the open one */
		return -ENOMEM;
	s->room = (uint32_t)n;
	make_boundaries(s);
	return 0;
}

void ui_scan_fini(struct ui_scan *s)
{
	free(s->at);
	free(s->before);
	free(s->covered);
	free(s->values);
	free(s->items);
	*s = (struct ui_scan){ 0 };
}

/* ---------------------------------------------------------------- the cursor */

/* The last block behind @block, or that, which begins before @at. */
static uint32_t gallop(const struct track *t, uint32_t block, int64_t at)
{
	uint32_t step = 1, high;

	while (step < t->n_blocks - block && t->blocks[block + step].base_ns < at) {
		block += step;
		step *= 2;
	}
	high = step < t->n_blocks - block ? block + step : t->n_blocks;
	while (high - block > 1) {
		uint32_t middle = block + (high - block) / 2;

		if (t->blocks[middle].base_ns < at)
			block = middle;
		else
			high = middle;
	}
	return block;
}

static void enter_block(struct cursor *c, uint32_t block)
{
	const struct track_block *b = &c->t->blocks[block];

	c->block = block;
	c->block_end = track_block_end(c->t, block);
	c->i = b->first;
	c->base_ns = b->base_ns;
	if (!track_is_points(c->t))
		memcpy(c->ns, &c->t->sums[b->sums], c->t->n_sums * sizeof *c->ns);
}

/* The length of entry i.  The table is searched once for a block, then gone along. */
static int64_t next_length(struct cursor *c)
{
	const struct track *t = c->t;
	uint32_t low = 0, high = t->n_longs;

	if (!track_is_in_table(t, c->i))
		return track_length(t, c->i);
	if (c->next_long < t->n_longs && t->longs[c->next_long].entry == c->i)
		return t->longs[c->next_long++].ns;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->longs[middle].entry < c->i)
			low = middle + 1;
		else
			high = middle;
	}
	c->next_long = low + 1;
	return track_length(t, c->i);
}

/* Within a block: entries that begin before @at are counted. */
static void count_entries(struct cursor *c, int64_t at)
{
	const struct track *t = c->t;
	uint64_t limit = (uint64_t)(at - c->base_ns);

	if (track_is_points(t)) {
		while (c->i < c->block_end && t->begins[c->i] < limit)
			c->i++;
		return;
	}
	for (; c->i < c->block_end && t->begins[c->i] < limit; c->i++) {
		uint32_t sum = t->n_sums == 1 ? 0 : track_sum_of(t, track_what(t, c->i));

		c->last_ns = next_length(c);
		c->ns[sum] += (uint64_t)c->last_ns;
	}
}

static void advance(struct cursor *c, int64_t at)
{
	const struct track *t = c->t;

	if (!t->n_blocks || t->blocks[0].base_ns >= at)
		return;
	if (!c->block_end)
		enter_block(c, gallop(t, 0, at));
	else if (c->block + 1 < t->n_blocks && t->blocks[c->block + 1].base_ns < at)
		enter_block(c, gallop(t, c->block + 1, at));
	count_entries(c, at);
}

/* ---------------------------------------------------------------- intervals */

static void add_item(struct ui_scan *s, uint32_t index, uint32_t what, int64_t begin, int64_t end)
{
	if (end - begin < s->least_ns || end <= s->from_ns ||
	    (s->n_items && s->items[s->n_items - 1].index >= index))
		return;
	s->items[s->n_items++] = (struct ui_scan_item){ begin, end, index, what };
}

/* The last interval before boundary @at may go on behind it: that part is not covered yet. */
static void take_last(const struct cursor *c, int64_t at, uint64_t *covered, struct ui_scan *s)
{
	const struct track *t = c->t;
	uint32_t last = c->i - 1;
	int64_t begin, end;

	if (!c->i)
		return;
	begin = c->base_ns + t->begins[last];
	end = begin + c->last_ns;
	if (end < at)
		return;
	covered[track_sum_of(t, track_what(t, last))] -= (uint64_t)(end - at);
	add_item(s, last, track_what(t, last), begin, end);
}

static void take_open(const struct track *t, int64_t ready_ns, int64_t at, uint64_t *covered,
		      uint32_t *before, struct ui_scan *s)
{
	int64_t end = ready_ns > t->open_ns ? ready_ns : t->open_ns;

	if (!t->has_open || t->open_ns >= at)
		return;
	++*before;
	covered[track_sum_of(t, t->open_what)] += (uint64_t)((end < at ? end : at) - t->open_ns);
	if (end >= at)
		add_item(s, t->n, t->open_what, t->open_ns, end);
}

static void scan_intervals(struct cursor *c, int64_t ready_ns, struct ui_scan *s)
{
	for (uint32_t x = 0; x <= s->n_cells; x++) {
		uint64_t *covered = &s->covered[(size_t)x * s->n_sums];
		int64_t at = s->at[x];

		advance(c, at);
		s->before[x] = c->i;
		if (s->n_sums == 1)
			*covered = *c->ns;
		else
			memcpy(covered, c->ns, UI_STATES * sizeof *covered);
		take_last(c, at, covered, s);
		take_open(c->t, ready_ns, at, covered, &s->before[x], s);
	}
}

/* ---------------------------------------------------------------- points */

static void scan_points(struct cursor *c, struct ui_scan *s)
{
	for (uint32_t x = 0; x <= s->n_cells; x++) {
		advance(c, s->at[x]);
		s->before[x] = c->i;
		if (x && c->i - s->before[x - 1] == 1) {
			int64_t at = c->base_ns + c->t->begins[c->i - 1];

			s->items[s->n_items++] =
				(struct ui_scan_item){ at, at, c->i - 1,
						       track_what(c->t, c->i - 1) };
		}
	}
}

static void limit(int64_t *limits, int64_t least, int64_t greatest)
{
	if (least < limits[0])
		limits[0] = least;
	if (greatest > limits[1])
		limits[1] = greatest;
}

/* The limits of entries @i to @end of a counter, over whole blocks at once.  @block: that of @i, or
 * before it; moves on. */
static void scan_values(const struct track *t, uint32_t *block, uint32_t i, uint32_t end,
			int64_t *values)
{
	const int64_t *v = t->aux;

	values[0] = INT64_MAX;
	values[1] = INT64_MIN;
	while (i < end) {
		uint32_t block_end;

		while (track_block_end(t, *block) <= i)
			++*block;
		block_end = track_block_end(t, *block);
		if (i == t->blocks[*block].first && block_end <= end) {
			const uint64_t *limits = &t->sums[t->blocks[*block].sums];

			limit(values, (int64_t)limits[0], (int64_t)limits[1]);
			i = block_end;
		}
		for (; i < end && i < block_end; i++)
			limit(values, v[i], v[i]);
	}
	values[2] = v[end - 1];
}

static void scan_counter(const struct track *t, struct ui_scan *s)
{
	uint32_t block = 0, i = s->before[0], low = 0, high = t->n_blocks;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->blocks[middle].first <= i)
			low = middle;
		else
			high = middle;
	}
	block = low;
	for (uint32_t x = 0; x < s->n_cells; x++)
		if (s->before[x + 1] > s->before[x])
			scan_values(t, &block, s->before[x], s->before[x + 1], &s->values[x * 3]);
}

void track_scan(const struct track *t, int64_t ready_ns, struct ui_scan *s)
{
	struct cursor c = { .t = t };

	s->n_items = 0;
	s->n_sums = track_is_points(t) ? 0 : t->n_sums;
	if (track_is_points(t))
		scan_points(&c, s);
	else
		scan_intervals(&c, ready_ns, s);
	if (t->info.kind == UI_TRACK_COUNTER)
		scan_counter(t, s);
}
