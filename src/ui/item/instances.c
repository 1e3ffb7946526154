/* SPDX-License-Identifier: MIT */
/* ui/item/instances.c - entries counted by track and name: see instances.h. */
#include "ui/item/instances.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_AT_ONCE = 4096 };

struct name_count {
	uint32_t name; /* plus 1; 0: free */
	uint32_t n;
};

struct counted_track {
	uint32_t done;		/* entries */
	uint32_t n_names, room; /* a power of two, or 0 */
	struct name_count *names;
};

struct ui_instances {
	pthread_mutex_t lock;
	struct counted_track *tracks;
	uint32_t n_tracks;
	uint64_t *of; /* by name */
	uint32_t n_of;
};

static const char instances_key;

static void *instances_make(void *context)
{
	struct ui_instances *n = calloc(1, sizeof *n);

	(void)context;
	if (n)
		pthread_mutex_init(&n->lock, NULL);
	return n;
}

static void instances_destroy(void *kept)
{
	struct ui_instances *n = kept;

	for (uint32_t i = 0; i < n->n_tracks; i++)
		free(n->tracks[i].names);
	free(n->tracks);
	free(n->of);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* ---------------------------------------------------------------- a table of names */

static struct name_count *place_of(struct name_count *names, uint32_t room, uint32_t name)
{
	uint32_t at = name * 2654435761u;

	while (names[at & (room - 1)].name && names[at & (room - 1)].name != name + 1)
		at++;
	return &names[at & (room - 1)];
}

static int grow_names(struct counted_track *t)
{
	uint32_t room = t->room ? t->room * 2 : 8;
	struct name_count *names = calloc(room, sizeof *names);

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->room; i++)
		if (t->names[i].name)
			*place_of(names, room, t->names[i].name - 1) = t->names[i];
	free(t->names);
	t->names = names;
	t->room = room;
	return 0;
}

static int count_name(struct ui_instances *n, struct counted_track *t, uint32_t name)
{
	struct name_count *place;

	if (t->n_names * 2 >= t->room && grow_names(t))
		return -ENOMEM;
	place = place_of(t->names, t->room, name);
	t->n_names += !place->name;
	place->name = name + 1;
	place->n++;
	n->of[name]++;
	return 0;
}

/* ---------------------------------------------------------------- counting */

static bool has_names(uint8_t kind)
{
	return kind == UI_TRACK_SPANS || kind == UI_TRACK_SYSCALLS || kind == UI_TRACK_CALLS ||
	       kind == UI_TRACK_BUSY || kind == UI_TRACK_EVENTS;
}

static int make_room(void *array, uint32_t *n, uint32_t wanted, size_t size)
{
	char *bigger;

	if (wanted <= *n)
		return 0;
	bigger = realloc(*(void **)array, wanted * size);
	if (!bigger)
		return -ENOMEM;
	memset(bigger + *n * size, 0, (wanted - *n) * size);
	*(void **)array = bigger;
	*n = wanted;
	return 0;
}

static int count_track(struct ui_instances *n, struct ui_index *x, uint32_t track,
		       struct ui_interval *entries, const struct ui_request *q)
{
	struct counted_track *t = &n->tracks[track];
	uint32_t got, i;

	do {
		if (ui_is_cancelled(q))
			return -ECANCELED;
		got = ui_track_read(x, track, t->done, entries, ENTRIES_AT_ONCE);
		/* A name that is new by now is counted the next time. */
		for (i = 0; i < got && !entries[i].is_open && entries[i].what < n->n_of;
		     i++, t->done++)
			if (!entries[i].is_cut && count_name(n, t, entries[i].what))
				return -ENOMEM;
	} while (got == ENTRIES_AT_ONCE && i == got);
	return 0;
}

static int count_all(struct ui_instances *n, struct ui_index *x, const struct ui_request *q)
{
	struct ui_interval *entries = malloc(ENTRIES_AT_ONCE * sizeof *entries);
	struct ui_track_info info;
	int err = entries ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && ui_track_info(x, i, &info); i++) {
		err = make_room(&n->tracks, &n->n_tracks, i < n->n_tracks ? 0 : i * 2 + 64,
				sizeof *n->tracks);
		/* Names are added before their first entry. */
		if (!err)
			err = make_room(&n->of, &n->n_of, ui_index_n_names(x), sizeof *n->of);
		if (!err && has_names(info.kind))
			err = count_track(n, x, i, entries, q);
	}
	free(entries);
	return err;
}

struct ui_instances *ui_instances_take(struct ui_index *x, const struct ui_request *q)
{
	struct ui_instances *n =
		ui_index_keep(x, &instances_key, instances_make, NULL, instances_destroy);

	if (!n)
		return NULL;
	pthread_mutex_lock(&n->lock);
	if (!count_all(n, x, q))
		return n;
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

void ui_instances_give(struct ui_instances *n)
{
	if (n)
		pthread_mutex_unlock(&n->lock);
}

uint64_t ui_instances_of(const struct ui_instances *n, uint32_t name)
{
	return name < n->n_of ? n->of[name] : 0;
}

uint32_t ui_instances_on(const struct ui_instances *n, uint32_t track, uint32_t name)
{
	const struct counted_track *t = track < n->n_tracks ? &n->tracks[track] : NULL;

	return t && t->room ? place_of(t->names, t->room, name)->n : 0;
}

uint32_t ui_instances_n_tracks(const struct ui_instances *n)
{
	return n->n_tracks;
}
