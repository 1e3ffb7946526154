/* SPDX-License-Identifier: MIT */
/*
 * trace/forget.c - frees the trace chunks of a followed recording that were read to their ends.
 *
 * A session that rotates for weeks has any number of trace chunks, each with metadata of its own.  No event
 * can refer to a chunk that has ended and was read: it will not be opened again.
 *
 *   (1) chunks are forgotten in the order of their numbers: all up to `forgotten_to` of a recording
 *   (2) the newest ones stay: their classes are likely the next one's, and one that comes a little later than
 *       its successor is not taken for a forgotten one
 *   (3) sources, streams and classes that remain keep their order, and get the numbers from 0 on
 *   (4) it is done when most of them can go, so a chunk costs the same however many there were
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "trace/refresh.h"

/* Classes and sources are forgotten above so many more than twice those that remained the last time. */
enum { CLASSES_FEW = 1024, SOURCES_FEW = 64, NEWEST_KEPT = 4 };

/* The number of a trace chunk's directory; 0: it is none. */
static uint32_t chunk_number(const char *name)
{
	size_t n = strspn(name + (strncmp(name, "piece-", 6) ? 0 : 6), "0123456789");

	if (strncmp(name, "piece-", 6) || !n || n > 9 || name[6 + n])
		return 0;
	return (uint32_t)strtoul(name + 6, NULL, 10);
}

static uint32_t number_of(const struct recording *r)
{
	const char *slash = strrchr(r->path, '/');

	return r->parent == REFRESH_NONE || !slash ? 0 : chunk_number(slash + 1);
}

bool refresh_is_forgotten(const struct trace *t, const char *path, const char *name)
{
	const struct refresh *f = t->follow;
	uint32_t number = f ? chunk_number(name) : 0;

	for (uint32_t i = 0; number && i < f->n_recordings; i++)
		if (number <= f->recordings[i].forgotten_to && !strcmp(f->recordings[i].path, path))
			return true;
	return false;
}

/* ---------------------------------------------------------------- which */

struct chunks { /* of one recording */
	uint32_t newest, first_unread;
};

static void note(struct chunks *of, const struct refresh *f, uint32_t recording, bool is_read)
{
	const struct recording *r = &f->recordings[recording];
	uint32_t number = number_of(r);

	if (!number)
		return;
	of += r->parent;
	if (number > of->newest)
		of->newest = number;
	if (!is_read && number < of->first_unread)
		of->first_unread = number;
}

static bool has_ended(const struct refresh *f, const struct recording *r)
{
	return !refresh_recording_grows(f, r) && !r->grew && !r->is_unread;
}

static bool is_read(const struct stream *s)
{
	return s->item == TRACE_END && !s->grows && !s->just_ended && !s->has_failed &&
	       s->packet >= s->n_packets;
}

static struct recording *recording_of(const struct trace *t, const struct trace_source *s)
{
	uint32_t number = t->sources[s->number]->recording;

	return number == REFRESH_NONE ? NULL : &t->follow->recordings[number];
}

/* By recording: up to which chunk all can be forgotten.  NULL: no memory. */
static struct chunks *find_chunks(const struct trace *t)
{
	const struct refresh *f = t->follow;
	struct chunks *of = calloc(f->n_recordings + (size_t)1, sizeof *of);

	for (uint32_t i = 0; of && i < f->n_recordings; i++)
		of[i].first_unread = UINT32_MAX;
	for (uint32_t i = 0; of && i < f->n_recordings; i++)
		note(of, f, i, has_ended(f, &f->recordings[i]));
	for (uint32_t i = 0; of && i < t->n_streams; i++) {
		const struct recording *r = recording_of(t, t->streams[i]->info.source);

		if (r)
			note(of, f, (uint32_t)(r - f->recordings), is_read(t->streams[i]));
	}
	return of;
}

static bool can_go(const struct chunks *of, const struct refresh *f, uint32_t recording)
{
	const struct recording *r = recording == REFRESH_NONE ? NULL : &f->recordings[recording];
	uint32_t number = r ? number_of(r) : 0;

	return number && number + NEWEST_KEPT <= of[r->parent].newest &&
	       number < of[r->parent].first_unread;
}

static bool are_many(const struct trace *t)
{
	const struct refresh *f = t->follow;

	return t->n_classes > 2 * f->n_classes_left + CLASSES_FEW ||
	       t->n_sources > 2 * f->n_sources_left + SOURCES_FEW;
}

static bool most_can_go(const struct trace *t, const struct chunks *of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_sources; i++)
		n += can_go(of, t->follow, t->sources[i]->recording);
	return n > t->n_sources / 2;
}

/* ---------------------------------------------------------------- forgetting */

static void forget_streams(struct trace *t, const struct chunks *of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_streams; i++) {
		struct stream *s = t->streams[i];

		if (can_go(of, t->follow, t->sources[s->info.source->number]->recording)) {
			t->n_damages += s->n_damages;
			stream_close(s);
			free(s);
			continue;
		}
		s->info.number = n;
		t->streams[n++] = s;
	}
	t->n_streams = n;
}

static void number_classes(struct trace *t, const struct source *s)
{
	for (struct ctf_event_class *c = s->meta.events; c; c = c->next)
		c->number = t->n_classes++;
}

static void forget_sources(struct trace *t, const struct chunks *of)
{
	uint32_t n = 0;

	t->n_classes = 0;
	for (uint32_t i = 0; i < t->n_sources; i++) {
		struct source *s = t->sources[i];

		if (can_go(of, t->follow, s->recording)) {
			trace_source_close(s);
			continue;
		}
		t->follow->was[n] = i;
		s->public.number = n;
		t->sources[n++] = s;
		number_classes(t, s);
	}
	t->n_sources = n;
}

/* Parents stay, and are before their chunks. */
static void forget_recordings(struct trace *t, const struct chunks *of, uint32_t *number)
{
	struct refresh *f = t->follow;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_recordings; i++)
		number[i] = can_go(of, f, i) ? REFRESH_NONE : n++;
	for (uint32_t i = 0; i < f->n_recordings; i++) {
		uint32_t last = of[i].newest < NEWEST_KEPT ? 0 : of[i].newest - NEWEST_KEPT;

		if (last >= of[i].first_unread)
			last = of[i].first_unread - 1;
		if (last > f->recordings[i].forgotten_to)
			f->recordings[i].forgotten_to = last;
	}
	n = 0;
	for (uint32_t i = 0; i < f->n_recordings; i++) {
		struct recording *r = &f->recordings[i];

		if (number[i] == REFRESH_NONE) {
			free(r->path);
			continue;
		}
		if (r->parent != REFRESH_NONE)
			r->parent = number[r->parent];
		f->recordings[n++] = *r;
	}
	f->n_recordings = n;
	for (uint32_t i = 0; i < t->n_sources; i++)
		if (t->sources[i]->recording != REFRESH_NONE)
			t->sources[i]->recording = number[t->sources[i]->recording];
}

static void forget(struct trace *t, const struct chunks *of, uint32_t *number)
{
	forget_streams(t, of);
	forget_sources(t, of);
	forget_recordings(t, of, number);
	t->follow->n_classes_left = t->n_classes;
	t->follow->n_sources_left = t->n_sources;
	trace_build_heap(t);
}

const uint32_t *trace_forget(struct trace *t)
{
	struct refresh *f = t->follow;
	struct chunks *of;
	uint32_t *was, *number;
	bool is_done = false;

	assert(f && t->mode != TRACE_FORWARD);
	of = t->mode == TRACE_FRESH && are_many(t) ? find_chunks(t) : NULL;
	if (of && most_can_go(t, of)) {
		was = realloc(f->was, (t->n_sources + (size_t)1) * sizeof *was);
		number = was ? calloc(f->n_recordings + (size_t)1, sizeof *number) : NULL;
		f->was = was ? was : f->was;
		is_done = number;
		if (is_done)
			forget(t, of, number);
		free(number);
	}
	free(of);
	return is_done ? f->was : NULL;
}
