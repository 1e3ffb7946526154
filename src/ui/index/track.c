/* SPDX-License-Identifier: MIT */
/* ui/index/track.c - appended, found and summed: see track.h. */
#include "ui/index/track.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 1u << 31 };
/* Sums of a few times do not overflow. */
#define TIME_MOST ((int64_t)1 << 60)

/* Bytes of `what`, bytes of `aux`, sums, by enum ui_track_kind. */
static const uint8_t widths[][3] = {
	[UI_TRACK_STATES] = { 1, 0, UI_STATES }, [UI_TRACK_RUNNING] = { 4, 0, 1 },
	[UI_TRACK_SPANS] = { 2, 0, 1 },		 [UI_TRACK_SYSCALLS] = { 2, 4, 1 },
	[UI_TRACK_CALLS] = { 4, 0, 1 },		 [UI_TRACK_BUSY] = { 2, 0, 1 },
	[UI_TRACK_EVENTS] = { 2, 0, 0 },	 [UI_TRACK_SAMPLES] = { 1, 0, 0 },
	[UI_TRACK_COUNTER] = { 1, 8, 2 },
};

void track_init(struct track *t, const struct ui_track_info *info)
{
	assert(info->kind < sizeof widths / sizeof *widths);
	*t = (struct track){ .info = *info,
			     .what_bytes = widths[info->kind][0],
			     .aux_bytes = widths[info->kind][1],
			     .n_sums = widths[info->kind][2],
			     .last_ns = INT64_MIN };
}

void track_fini(struct track *t)
{
	if (!t->is_mapped) {
		free(t->begins);
		free(t->lengths);
		free(t->what);
		free(t->aux);
		free(t->blocks);
		free(t->sums);
		free(t->longs);
	}
	*t = (struct track){ 0 };
}

static bool grow(void *column, size_t n, size_t size)
{
	void *bigger = realloc(*(void **)column, n * size);

	if (bigger)
		*(void **)column = bigger;
	return bigger;
}

static int make_room(struct track *t, uint32_t more)
{
	uint32_t n = t->room < 64 ? 64 : t->room + t->room / 2;

	if (more <= t->room - t->n)
		return 0;
	if (t->n >= MOST_ENTRIES - more)
		return -EFBIG;
	n = n < t->n + more ? t->n + more : n;
	if (!grow(&t->begins, n, 4) || (track_has_lengths(t) && !grow(&t->lengths, n, 4)) ||
	    !grow(&t->what, n, t->what_bytes) || (t->aux_bytes && !grow(&t->aux, n, t->aux_bytes)))
		return -ENOMEM;
	t->room = n;
	return 0;
}

static int begin_block(struct track *t, int64_t base_ns)
{
	uint32_t n = t->block_room < 4 ? 4 : t->block_room + t->block_room / 2;
	struct track_block *b;

	if (t->n_blocks == t->block_room) {
		if (!grow(&t->blocks, n, sizeof *t->blocks) ||
		    (t->n_sums && !grow(&t->sums, (size_t)n * t->n_sums, sizeof *t->sums)))
			return -ENOMEM;
		t->block_room = n;
	}
	b = &t->blocks[t->n_blocks];
	*b = (struct track_block){ base_ns, t->n, t->n_blocks * t->n_sums };
	if (t->info.kind == UI_TRACK_COUNTER) {
		t->sums[b->sums] = INT64_MAX;
		t->sums[b->sums + 1] = (uint64_t)INT64_MIN;
	} else if (t->n_sums) {
		memcpy(&t->sums[b->sums], t->now, t->n_sums * sizeof *t->sums);
	}
	t->n_blocks++;
	return 0;
}

/* The length of entry @entry, in the table. */
static int note_long(struct track *t, uint32_t entry, int64_t ns)
{
	uint32_t n = t->long_room < 4 ? 4 : t->long_room * 2;

	if (t->n_longs == t->long_room) {
		if (!grow(&t->longs, n, sizeof *t->longs))
			return -ENOMEM;
		t->long_room = n;
	}
	t->longs[t->n_longs++] = (struct track_long){ entry, ns };
	return 0;
}

static inline void put(void *column, uint32_t bytes, uint32_t i, uint64_t value)
{
	if (bytes == 1)
		((uint8_t *)column)[i] = (uint8_t)(value > UINT8_MAX ? UINT8_MAX : value);
	else if (bytes == 2)
		((uint16_t *)column)[i] = (uint16_t)(value > UINT16_MAX ? UINT16_MAX : value);
	else if (bytes == 4)
		((uint32_t *)column)[i] = (uint32_t)value;
	else if (bytes == 8)
		((uint64_t *)column)[i] = value;
}

/* Entry t->n counts: into the sums of what is behind it, or the limits of its block. */
static inline void count_entry(struct track *t, uint32_t what, int64_t aux, uint64_t ns)
{
	uint64_t *limits;

	if (t->info.kind == UI_TRACK_COUNTER) {
		limits = &t->sums[t->blocks[t->n_blocks - 1].sums];
		if (aux < (int64_t)limits[0])
			limits[0] = (uint64_t)aux;
		if (aux > (int64_t)limits[1])
			limits[1] = (uint64_t)aux;
	} else if (t->n_sums) {
		t->now[track_sum_of(t, what)] += ns;
	}
}

/* Before a gap and at the end of a block a state's length is not the distance of two begins. */
static int note_last_state(struct track *t)
{
	uint32_t i = t->n - 1;

	((uint8_t *)t->what)[i] |= TRACK_IN_TABLE;
	return note_long(t, i, track_last_length(t));
}

static inline int append(struct track *t, int64_t begin_ns, int64_t end_ns, uint32_t what,
			 int64_t aux)
{
	const struct track_block *b = t->n_blocks ? &t->blocks[t->n_blocks - 1] : NULL;
	bool is_new_block;
	int err = 0;

	if (begin_ns < t->last_ns)
		begin_ns = t->last_ns;
	if (end_ns < begin_ns)
		end_ns = begin_ns;
	is_new_block = !b || t->n - b->first == TRACK_BLOCK || begin_ns - b->base_ns > UINT32_MAX;
	if (t->info.kind == UI_TRACK_STATES && b && (is_new_block || begin_ns != t->last_ns))
		err = note_last_state(t);
	if (!err && is_new_block)
		err = begin_block(t, begin_ns);
	if (!err && t->lengths && end_ns - begin_ns >= TRACK_LONG)
		err = note_long(t, t->n, end_ns - begin_ns);
	if (err)
		return err;
	t->begins[t->n] = (uint32_t)(begin_ns - t->blocks[t->n_blocks - 1].base_ns);
	if (t->lengths)
		t->lengths[t->n] = end_ns - begin_ns >= TRACK_LONG ? TRACK_LONG
								   : (uint32_t)(end_ns - begin_ns);
	put(t->what, t->what_bytes, t->n, what);
	put(t->aux, t->aux_bytes, t->n, (uint64_t)aux);
	count_entry(t, what, aux, (uint64_t)(end_ns - begin_ns));
	t->last_ns = end_ns;
	t->n++;
	return 0;
}

int track_append(struct track *t, const struct track_entry *e, uint32_t n)
{
	int err = t->is_mapped ? -EROFS : make_room(t, n);

	for (uint32_t i = 0; i < n && !err; i++)
		err = append(t, e[i].begin_ns, e[i].end_ns, e[i].what, e[i].aux);
	return err;
}

int track_add(struct track *t, int64_t begin_ns, int64_t end_ns, uint32_t what, int64_t aux)
{
	const struct track_entry one = { begin_ns, end_ns, aux, what };

	return track_append(t, &one, 1);
}

int track_end(struct track *t, int64_t ns, int64_t aux)
{
	if (!t->has_open)
		return 0;
	t->has_open = false;
	return track_add(t, t->open_ns, ns, t->open_what, aux);
}

int track_begin(struct track *t, int64_t ns, uint32_t what)
{
	int err = track_end(t, ns, 0);

	t->has_open = true;
	t->open_ns = ns > t->last_ns ? ns : t->last_ns;
	t->open_what = what;
	return err;
}

void track_drop(struct track *t)
{
	t->has_open = false;
}

uint32_t track_n(const struct track *t)
{
	return t->n + t->has_open;
}

/* The last block with base_ns <= @ns; or the first. */
static uint32_t block_at(const struct track *t, int64_t ns)
{
	uint32_t low = 0, high = t->n_blocks;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->blocks[middle].base_ns <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The block that has entry @i. */
static uint32_t block_of(const struct track *t, uint32_t i)
{
	uint32_t low = 0, high = t->n_blocks;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->blocks[middle].first <= i)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The length of the last entry, of a track of states. */
int64_t track_last_length(const struct track *t)
{
	int64_t begin = t->blocks[t->n_blocks - 1].base_ns + t->begins[t->n - 1];

	return t->last_ns > begin ? t->last_ns - begin : 0;
}

/* The length of entry @i, which is in the table. */
int64_t track_long_length(const struct track *t, uint32_t i)
{
	uint32_t low = 0, high = t->n_longs;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->longs[middle].entry <= i)
			low = middle;
		else
			high = middle;
	}
	return t->n_longs && t->longs[low].entry == i ? t->longs[low].ns : TRACK_LONG;
}

/* Entry @i, of block @b. */
static inline void get_closed(const struct track *t, const struct track_block *b, uint32_t i,
			      struct ui_interval *v)
{
	v->begin_ns = b->base_ns + t->begins[i];
	v->end_ns = v->begin_ns + track_length(t, i);
	v->what = track_what(t, i);
	v->aux = (int64_t)track_take(t->aux, t->aux_bytes, i);
	if (t->aux_bytes == 4)
		v->aux = (int32_t)v->aux;
	v->is_open = false;
	v->is_cut = t->info.kind == UI_TRACK_SYSCALLS && v->aux == UI_CALL_CUT;
}

bool track_get(const struct track *t, uint32_t i, int64_t ready_ns, struct ui_interval *v)
{
	if (i >= track_n(t))
		return false;
	if (i == t->n) {
		*v = (struct ui_interval){ t->open_ns, ready_ns, t->open_what, 0, true };
		if (v->end_ns < v->begin_ns)
			v->end_ns = v->begin_ns;
		return true;
	}
	get_closed(t, &t->blocks[block_of(t, i)], i, v);
	return true;
}

uint32_t track_read(const struct track *t, uint32_t i, int64_t ready_ns, struct ui_interval *v,
		    uint32_t most)
{
	uint32_t n = 0, block = i < t->n ? block_of(t, i) : 0;

	for (; i + n < t->n && n < most; n++) {
		block += i + n == track_block_end(t, block);
		get_closed(t, &t->blocks[block], i + n, &v[n]);
	}
	return n + (n < most && track_get(t, i + n, ready_ns, &v[n]));
}

/* The first entry that ends after @ns (points: begins at or after), of those that are closed. */
static uint32_t find_closed(const struct track *t, int64_t ns)
{
	uint32_t block, i;

	if (!t->n)
		return 0;
	block = block_at(t, ns);
	for (i = t->blocks[block].first; i < track_block_end(t, block); i++) {
		int64_t begin = t->blocks[block].base_ns + t->begins[i];

		if (track_is_points(t) ? begin >= ns : begin + track_length(t, i) > ns)
			return i;
	}
	return i;
}

uint32_t track_find(const struct track *t, int64_t ns)
{
	return find_closed(t, ns);
}

/* Sums of all that lies before @ns, and the number of entries that begin before it. */
static void sums_before(const struct track *t, int64_t ns, struct ui_sums *s)
{
	const struct track_block *b;
	uint32_t block, i;

	*s = (struct ui_sums){ 0 };
	if (!t->n || ns <= t->blocks[0].base_ns)
		return;
	block = block_at(t, ns);
	b = &t->blocks[block];
	if (!track_is_points(t))
		memcpy(s->ns, &t->sums[b->sums], t->n_sums * sizeof *s->ns);
	for (i = b->first; i < track_block_end(t, block); i++) {
		int64_t begin = b->base_ns + t->begins[i], end = begin + track_length(t, i);

		if (begin >= ns)
			break;
		if (!track_is_points(t))
			s->ns[track_sum_of(t, track_what(t, i))] +=
				(uint64_t)((end < ns ? end : ns) - begin);
	}
	s->n = i;
}

void track_sums(const struct track *t, int64_t from, int64_t to, int64_t ready_ns,
		struct ui_sums *s)
{
	struct ui_sums before;
	int64_t begin, end;

	*s = (struct ui_sums){ 0 };
	if (to <= from)
		return;
	sums_before(t, from, &before);
	sums_before(t, to, s);
	for (uint32_t i = 0; i < UI_STATES; i++)
		s->ns[i] -= before.ns[i];
	s->n -= before.n;
	if (!t->has_open)
		return;
	begin = t->open_ns > from ? t->open_ns : from;
	end = ready_ns < to ? ready_ns : to;
	if (end > begin && !track_is_points(t))
		s->ns[track_sum_of(t, t->open_what)] += (uint64_t)(end - begin);
	s->n += t->open_ns >= from && t->open_ns < to;
}

/* Room that was never written takes no memory, once it is more than some pages. */
static size_t column_bytes(uint32_t n, uint32_t room, size_t size)
{
	return room * size < 1 << 17 ? room * size : n * size;
}

size_t track_bytes(const struct track *t)
{
	if (t->is_mapped)
		return sizeof *t;
	return sizeof *t +
	       column_bytes(t->n, t->room,
			    4u + 4u * track_has_lengths(t) + t->what_bytes + t->aux_bytes) +
	       column_bytes(t->n_blocks, t->block_room,
			    sizeof *t->blocks + t->n_sums * sizeof *t->sums) +
	       column_bytes(t->n_longs, t->long_room, sizeof *t->longs);
}

static bool is_near(int64_t ns)
{
	return ns >= -TIME_MOST && ns <= TIME_MOST;
}

bool track_is_sound(const struct track *t)
{
	if (!t->n != !t->n_blocks || (t->n && t->blocks[0].first) ||
	    (t->has_open && t->info.kind == UI_TRACK_STATES && t->open_what >= UI_STATES))
		return false;
	for (uint32_t i = 0; i < t->n_blocks; i++) {
		const struct track_block *b = &t->blocks[i];
		uint32_t end = track_block_end(t, i);

		if (end <= b->first || end > t->n || end - b->first > TRACK_BLOCK ||
		    b->sums != i * t->n_sums || (i && b->base_ns < b[-1].base_ns) ||
		    !is_near(b->base_ns))
			return false;
	}
	for (uint32_t i = 0; i < t->n_longs; i++)
		if (t->longs[i].ns < 0 || !is_near(t->longs[i].ns))
			return false;
	return true;
}
