/* SPDX-License-Identifier: MIT */
/* ui/index/rows.c - rows, tracks, names, gaps and wakeups are added. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ui/index/internal.h"

static int make_room(void *array, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room < 16 ? 16 : *room * 2;
	void *bigger;

	if (n < *room)
		return 0;
	bigger = realloc(*(void **)array, more * size);
	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	*room = more;
	return 0;
}

int64_t index_add_row(struct ui_index *x, const struct ui_row *row)
{
	int64_t name = index_name(x, row->name, strlen(row->name));

	if (name < 0 || x->n_rows >= ROWS_MOST ||
	    make_room(&x->rows, x->n_rows, &x->row_room, sizeof *x->rows))
		return -ENOMEM;
	x->rows[x->n_rows] = (struct row){ .public = *row };
	x->rows[x->n_rows].public.name = x->names[name];
	x->status.version++;
	return x->n_rows++;
}

/* Readers may still use the old name: names stay. */
int index_set_row_name(struct ui_index *x, uint32_t row, const char *name, size_t size)
{
	struct ui_row *r = &x->rows[row].public;
	int64_t number;

	if (strlen(r->name) == size && !memcmp(r->name, name, size))
		return 0;
	number = index_name(x, name, size);
	if (number < 0)
		return (int)number;
	r->name = x->names[number];
	x->status.version++;
	return 0;
}

int64_t index_add_track(struct ui_index *x, uint32_t row, uint8_t kind, uint8_t depth)
{
	struct ui_track_info info = { row, kind, depth };
	struct row *r = &x->rows[row];
	uint32_t *tracks;

	if (make_room(&x->tracks, x->n_tracks, &x->track_room, sizeof *x->tracks))
		return -ENOMEM;
	tracks = realloc(r->tracks, (r->n_tracks + 1) * sizeof *tracks);
	if (!tracks)
		return -ENOMEM;
	r->tracks = tracks;
	tracks[r->n_tracks++] = x->n_tracks;
	r->public.n_tracks = r->n_tracks;
	track_init(&x->tracks[x->n_tracks], &info);
	x->status.version++;
	return x->n_tracks++;
}

static int grow_table(struct ui_index *x)
{
	uint32_t n = x->n_by_name ? x->n_by_name * 2 : 1024;
	uint32_t *table = calloc(n, sizeof *table);

	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->n_names; i++) {
		uint64_t h = hash_bytes(x->names[i], strlen(x->names[i]));

		while (table[h & (n - 1)])
			h++;
		table[h & (n - 1)] = i + 1;
	}
	free(x->by_name);
	x->by_name = table;
	x->n_by_name = n;
	return 0;
}

static int add_name(struct ui_index *x, const char *name, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy || make_room(&x->names, x->n_names, &x->name_room, sizeof *x->names)) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, name, size);
	copy[size] = 0;
	x->names[x->n_names++] = copy;
	return 0;
}

int64_t index_find_name(const struct ui_index *x, const char *name, size_t size)
{
	uint64_t h = hash_bytes(name, size);
	uint32_t i;

	for (; x->n_by_name && (i = x->by_name[h & (x->n_by_name - 1)]); h++)
		if (strlen(x->names[i - 1]) == size && !memcmp(x->names[i - 1], name, size))
			return i - 1;
	return -1;
}

int64_t index_name(struct ui_index *x, const char *name, size_t size)
{
	uint64_t h = hash_bytes(name, size);
	int64_t known = index_find_name(x, name, size);

	if (known >= 0)
		return known;
	if (x->n_names * 2 >= x->n_by_name && grow_table(x))
		return -ENOMEM;
	if (x->n_names == NAME_OTHER && add_name(x, "(other names)", 13))
		return -ENOMEM;
	if (x->n_names == NAMES_MOST)
		return NAME_OTHER;
	if (add_name(x, name, size))
		return -ENOMEM;
	while (x->by_name[h & (x->n_by_name - 1)])
		h++;
	x->by_name[h & (x->n_by_name - 1)] = x->n_names;
	x->status.version++;
	return x->n_names - 1;
}

int index_add_gap(struct ui_index *x, const struct ui_gap *gap)
{
	uint32_t i;

	if (make_room(&x->gaps, x->n_gaps, &x->gap_room, sizeof *x->gaps))
		return -ENOMEM;
	for (i = x->n_gaps++; i && x->gaps[i - 1].begin_ns > gap->begin_ns; i--)
		x->gaps[i] = x->gaps[i - 1];
	x->gaps[i] = *gap;
	return 0;
}

int index_add_wake(struct ui_index *x, const struct ui_wake *wake)
{
	struct wakes *w = &x->wakes;
	uint32_t i;

	if (make_room(&w->at, w->n, &w->room, sizeof *w->at))
		return -ENOMEM;
	for (i = w->n++; i && w->at[i - 1].time_ns > wake->time_ns; i--)
		w->at[i] = w->at[i - 1];
	w->at[i] = *wake;
	return 0;
}

size_t index_count_bytes(struct ui_index *x)
{
	size_t bytes = x->wakes.n * sizeof *x->wakes.at + x->row_room * sizeof *x->rows +
		       x->gap_room * sizeof *x->gaps;

	for (uint32_t i = 0; i < x->n_tracks; i++)
		bytes += track_bytes(&x->tracks[i]);
	x->bytes = bytes;
	return bytes;
}
