/* SPDX-License-Identifier: MIT */
/*
 * ui/index/write.c - new entries of tracks, published now and then: see build.h.
 *
 * Entries wait in a tail of their track, which the builder alone sees: one cache line is written for an
 * entry, and no lock is taken.  build_publish() moves all tails to the tracks that readers see.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ui/index/build.h"

static int touch(struct builder *b, struct writer *w)
{
	if (w->is_dirty)
		return 0;
	if (pass_grow(&b->dirty, &b->n_dirty_rooms, b->n_dirty, sizeof *b->dirty))
		return -ENOMEM;
	b->dirty[b->n_dirty++] = (uint32_t)(w - b->writers);
	w->is_dirty = true;
	return 0;
}

static int make_room(struct writer *w)
{
	uint32_t room = w->room ? w->room * 2 : 4;
	struct track_entry *bigger = realloc(w->tail, room * sizeof *bigger);

	if (!bigger)
		return -ENOMEM;
	w->tail = bigger;
	w->room = room;
	return 0;
}

int write_add(struct builder *b, struct writer *w, int64_t begin_ns, int64_t end_ns, uint32_t what,
	      int64_t aux)
{
	if (touch(b, w) || (w->n == w->room && make_room(w)))
		return -ENOMEM;
	w->tail[w->n++] = (struct track_entry){ begin_ns, end_ns, aux, what };
	w->last_ns = end_ns > w->last_ns ? end_ns : w->last_ns;
	return 0;
}

int write_end(struct builder *b, struct writer *w, int64_t ns, int64_t aux)
{
	if (!w->has_open)
		return 0;
	w->has_open = false;
	return write_add(b, w, w->open_ns, ns, w->open_what, aux);
}

int write_begin(struct builder *b, struct writer *w, int64_t ns, uint32_t what)
{
	int err = write_end(b, w, ns, 0);

	w->has_open = true;
	w->open_ns = ns > w->last_ns ? ns : w->last_ns;
	w->open_what = what;
	return err ? err : touch(b, w);
}

int write_drop(struct builder *b, struct writer *w)
{
	w->has_open = false;
	return touch(b, w);
}

/* ---------------------------------------------------------------- to the readers */

static int publish_track(struct track *t, struct writer *w)
{
	int err = track_append(t, w->tail, w->n);

	w->n = 0;
	w->is_dirty = false;
	t->has_open = w->has_open;
	t->open_ns = w->open_ns;
	t->open_what = w->open_what;
	return err == -EFBIG ? 0 : err;
}

int build_write(struct builder *b)
{
	int err = 0;

	for (uint32_t i = 0; i < b->n_dirty && !err; i++)
		err = publish_track(&b->x->tracks[b->dirty[i]], &b->writers[b->dirty[i]]);
	b->n_dirty = 0;
	for (uint32_t i = 0; i < b->n_wakes && !err; i++)
		err = index_add_wake(b->x, &b->wakes[i]);
	b->n_wakes = 0;
	return err;
}

int write_wake(struct builder *b, const struct ui_wake *wake)
{
	if (pass_grow(&b->wakes, &b->n_wake_rooms, b->n_wakes, sizeof *b->wakes))
		return -ENOMEM;
	b->wakes[b->n_wakes++] = *wake;
	return 0;
}

void build_forget_writers(struct builder *b)
{
	for (uint32_t i = 0; i < b->n_writers; i++)
		free(b->writers[i].tail);
	free(b->writers);
	free(b->dirty);
	free(b->wakes);
}
