/* SPDX-License-Identifier: MIT */
/*
 * trace/refresh.c - reads recordings while they are written: trace_refresh().
 *
 * A recording reports the time its files are complete to (base/progress.h).  That time, not
 * the content of the files, decides how far events are returned.  An idle stream delays no other; a
 * stream that is written late delays all, which order requires.  Each round reads:
 *
 *   (1) the reported time, before anything else
 *   (2) the list of traces and streams, and the complete size of each stream from its index
 *   (3) metadata, which was written before that
 *   (4) the headers of the new packets
 *
 * Events less than MARGIN_NS older than the reported time are held back: a writer may be
 * interrupted between reading the clock and publishing.  An event that takes longer is late, and is
 * counted.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/monotonic.h"
#include "trace/refresh.h"

#define MARGIN_NS 20000000
#define SILENT_NS 5000000000ull
enum { RECORDINGS_MAX = 65536 };
/* ---------------------------------------------------------------- recordings */

bool refresh_recording_grows(const struct refresh *f, const struct recording *r)
{
	const struct progress *parent =
		r->parent == REFRESH_NONE ? NULL : &f->recordings[r->parent].progress;

	/* The next collector repairs a trace chunk whose collector was killed; until then its end
	 * is not final.  A relayed report that it is final may arrive before its data. */
	if (parent && r->progress.state == PROGRESS_CUT && parent->state == PROGRESS_GROWS)
		return !r->progress.is_finished || parent->is_relayed;
	return r->progress.state == PROGRESS_GROWS;
}

/* Finds the recording that @path is a trace chunk of. */
static uint32_t parent_of(const struct refresh *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	for (uint32_t i = 0; slash && !strncmp(slash, "/piece-", 7) && i < f->n_recordings; i++)
		if (strlen(f->recordings[i].path) == n && !memcmp(f->recordings[i].path, path, n))
			return i;
	return REFRESH_NONE;
}

/* Finds or adds the recording of the trace at @path, or REFRESH_NONE; -ENOMEM. */
static int find_recording(struct refresh *f, const char *path, uint32_t *number)
{
	int length = progress_find(path);
	struct recording *bigger;
	uint32_t i = 0;

	*number = REFRESH_NONE;
	if (length < 0)
		return 0;
	while (i < f->n_recordings && (strlen(f->recordings[i].path) != (size_t)length ||
				       memcmp(f->recordings[i].path, path, (size_t)length)))
		i++;
	if (i == f->n_recordings) {
		bigger = i < RECORDINGS_MAX
				 ? reallocarray(f->recordings, i + (size_t)1, sizeof *bigger)
				 : NULL;
		if (!bigger)
			return -ENOMEM;
		f->recordings = bigger;
		bigger[i] = (struct recording){ .path = strndup(path, (size_t)length),
						.last_read_ns = monotonic_ns(),
						.is_new = true,
						.is_unread = true,
						.grew = true };
		if (!bigger[i].path)
			return -ENOMEM;
		bigger[i].parent = parent_of(f, bigger[i].path);
		assert(bigger[i].parent == REFRESH_NONE || bigger[i].parent < i);
		f->n_recordings++;
		progress_read(bigger[i].path, &bigger[i].progress);
	}
	*number = i;
	return 0;
}

int refresh_open(struct trace *t, const char *const *paths, int n, struct diag *d)
{
	struct refresh *f = t->follow = calloc(1, sizeof *f);
	uint32_t number;

	if (f)
		f->paths = calloc((size_t)n, sizeof *f->paths);
	for (int i = 0; f && f->paths && i < n; i++) {
		size_t length = strlen(paths[i]);

		while (length > 1 && paths[i][length - 1] == '/')
			length--;
		f->paths[i] = strndup(paths[i], length);
		if (!f->paths[i] || find_recording(f, f->paths[i], &number))
			break;
		f->n_paths++;
	}
	if (!f || f->n_paths < n)
		return diag_fail(d, -ENOMEM, "no memory to follow recordings");
	f->given_ns = f->public.known_ns = INT64_MIN;
	return 0;
}

void refresh_close(struct refresh *f)
{
	if (!f)
		return;
	for (int i = 0; f->paths && i < f->n_paths; i++)
		free(f->paths[i]);
	for (uint32_t i = 0; i < f->n_recordings; i++)
		free(f->recordings[i].path);
	free(f->was);
	free(f->paths);
	free(f->recordings);
	free(f);
}

int refresh_adopt(struct trace *t, struct source *s)
{
	return find_recording(t->follow, s->public.path, &s->recording);
}

int refresh_expect(struct trace *t, const char *path)
{
	uint32_t number;

	return find_recording(t->follow, path, &number);
}

bool refresh_grows(const struct trace *t, const struct source *s)
{
	return t->follow && s->recording != REFRESH_NONE &&
	       refresh_recording_grows(t->follow, &t->follow->recordings[s->recording]);
}

bool trace_may_grow(const struct trace *t)
{
	bool any = false;

	for (uint32_t i = 0; t->follow && i < t->follow->n_recordings; i++)
		any |= refresh_recording_grows(t->follow, &t->follow->recordings[i]);
	return any;
}

uint64_t trace_read_bytes(const struct trace *t, uint32_t i)
{
	const struct stream *s = t->streams[i];

	if (!s->n_packets) /* it is not there yet, or it was read to its end */
		return s->bytes || s->grows ? 0 : s->info.size_bytes;
	return s->packets[s->packet ? s->packet - 1 : 0].offset;
}

/* ---------------------------------------------------------------- how far */

/* A recording that has ended does not change any more. */
static void read_progress(struct refresh *f)
{
	uint64_t now_ns = monotonic_ns();

	for (uint32_t i = 0; i < f->n_recordings; i++) {
		struct recording *r = &f->recordings[i];
		uint64_t before_ns = r->progress.written_ns;

		r->is_new = r->is_unread;
		r->is_unread = false;
		if (!r->grew)
			continue;
		progress_read(r->path, &r->progress);
		if (r->progress.written_ns < before_ns)
			r->progress.written_ns = before_ns;
		/* The parent is earlier in the list.  A trace chunk that was cut ends with it. */
		r->grew = refresh_recording_grows(f, r);
		r->is_new |= !r->grew || r->progress.written_ns > before_ns;
		r->is_new |= r->parent != REFRESH_NONE && f->recordings[r->parent].is_new;
		if (r->is_new)
			r->last_read_ns = now_ns;
		r->is_silent = r->parent == REFRESH_NONE && refresh_recording_grows(f, r) &&
			       now_ns - r->last_read_ns > SILENT_NS;
	}
}

static void set_base(struct recording *r, const struct trace_source *s)
{
	const struct ctf_clock *c = ctf_meta_clock(s->meta, NULL);

	if (!c || r->has_base || c->freq != 1000000000)
		return;
	r->base_ns = (int64_t)((uint64_t)c->offset_s * 1000000000u + (uint64_t)c->offset +
			       (uint64_t)s->shift_ns);
	r->has_base = true;
}

/* The clock is that of its first source, or of its trace chunks'; all have one clock. */
static void set_bases(struct trace *t)
{
	for (uint32_t i = 0; i < t->n_sources; i++) {
		uint32_t number = t->sources[i]->recording;
		struct recording *r =
			number == REFRESH_NONE ? NULL : &t->follow->recordings[number];

		if (r)
			set_base(r, &t->sources[i]->public);
		if (r && r->parent != REFRESH_NONE)
			set_base(&t->follow->recordings[r->parent], &t->sources[i]->public);
	}
}

static int64_t known_of(const struct refresh *f, const struct recording *r)
{
	if (r->parent != REFRESH_NONE || !refresh_recording_grows(f, r))
		return INT64_MAX;
	if (!r->has_base || r->progress.written_ns <= MARGIN_NS)
		return INT64_MIN;
	return (int64_t)((uint64_t)r->base_ns + r->progress.written_ns - MARGIN_NS);
}

/* A silent recording is not waited for, if there are others. */
static void set_known(struct refresh *f)
{
	int64_t known_ns = INT64_MAX;
	bool all_silent = true;

	f->public.silent = NULL;
	f->public.n_cut = f->public.n_sent = 0;
	for (uint32_t i = 0; i < f->n_recordings; i++) {
		const struct recording *r = &f->recordings[i];

		f->public.n_cut += r->parent == REFRESH_NONE && r->progress.state == PROGRESS_CUT;
		f->public.n_sent += r->progress.is_sent;
		if (r->is_silent)
			f->public.silent = r->path;
		else
			known_ns = known_of(f, r) < known_ns ? known_of(f, r) : known_ns;
		all_silent &= r->is_silent;
	}
	if (known_ns > f->public.known_ns && !(all_silent && f->n_recordings))
		f->public.known_ns = known_ns;
}

const struct trace_following *trace_following(const struct trace *t)
{
	assert(t->follow);
	return &t->follow->public;
}

bool refresh_admits(struct trace *t)
{
	struct refresh *f = t->follow;

	while (t->n_heap) {
		struct stream *s = t->heap[0];

		if (s->item == TRACE_END) /* strict, and damaged */
			return true;
		if (s->time_ns > f->public.known_ns) {
			t->mode = TRACE_FRESH; /* it is returned in its turn */
			return false;
		}
		if (likely(s->time_ns >= f->given_ns) || s->item == TRACE_LOST) {
			/* Losses are reported, late or not. */
			s->time_ns = s->time_ns >= f->given_ns ? s->time_ns : f->given_ns;
			f->given_ns = s->time_ns;
			return true;
		}
		f->public.n_late++;
		trace_advance(t);
	}
	return true;
}

/* ---------------------------------------------------------------- a round */

static int warn_or_fail(struct trace *t, const struct diag *d, int err)
{
	if (err == -ENOMEM || t->options.is_strict)
		return err;
	t->n_damages++;
	if (t->options.warn)
		t->options.warn(t->options.context, d->text);
	return 0;
}

static bool is_new(const struct trace *t, const struct source *s)
{
	return s->recording != REFRESH_NONE && t->follow->recordings[s->recording].is_new;
}

static struct source *source_of(const struct trace *t, const struct stream *s)
{
	return t->sources[s->info.source->number];
}

/* Sets how much of each stream is complete: all of it, if its recording has ended. */
static void update_sizes(struct trace *t)
{
	for (uint32_t i = 0; i < t->n_streams; i++) {
		struct stream *s = t->streams[i];
		struct source *src = source_of(t, s);

		if (!s->grows || !is_new(t, src))
			continue;
		if (refresh_grows(t, src)) {
			int64_t end = progress_index_end(src->public.path, s->info.name);

			s->complete_bytes = end > 0 ? (uint64_t)end : 0;
		} else {
			s->grows = false;
			s->just_ended = true;
		}
	}
}

static int read_metadata(struct trace *t, struct source *s, struct diag *d)
{
	struct ctf_event_class *last = s->meta.last_linked, *c;
	char *name;
	int err;

	if (asprintf(&name, "%s/metadata", s->public.path) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", s->public.path);
	err = ctf_meta_append(&s->meta, name, d);
	free(name);
	for (c = last ? last->next : s->meta.events; c; c = c->next)
		c->number = t->n_classes++;
	if (err >= 0 || err == -EAGAIN || err == -ENOENT)
		return 0;
	s->is_stuck = true;
	return warn_or_fail(t, d, err);
}

static int read_all_metadata(struct trace *t, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < t->n_sources && !err; i++)
		if (is_new(t, t->sources[i]) && t->sources[i]->meta.parser &&
		    !t->sources[i]->is_stuck)
			err = read_metadata(t, t->sources[i], d);
	return err;
}

static int extend_streams(struct trace *t, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < t->n_streams && !err; i++) {
		struct stream *s = t->streams[i];

		if (!s->grows && !s->just_ended)
			continue;
		s->just_ended = false;
		err = stream_grow(s, s->complete_bytes, d);
		if (err)
			err = warn_or_fail(t, d, err);
		t->follow->public.n_gone += s->was_removed;
		s->was_removed = false;
	}
	return err;
}

/* Streams at their end continue; those that will not grow any more free their memory, and with it
 * the disk space of deleted files. */
static void wake_streams(struct trace *t)
{
	for (uint32_t i = 0; i < t->n_streams; i++) {
		struct stream *s = t->streams[i];

		if (s->item != TRACE_END || s->has_failed)
			continue;
		if (s->packet < s->n_packets)
			stream_next(s);
		else if (!s->grows && s->bytes)
			stream_release(s);
	}
}

/* Whether @path is in a trace chunk's directory of the recording @r. */
static bool is_in_chunk_of(const struct recording *r, const char *path)
{
	size_t n = strlen(r->path);

	return !strncmp(path, r->path, n) && !strncmp(path + n, "/piece-", 7);
}

/* A trace chunk may be found before its own progress is there.  Until then its traces are its
 * parent's, and it could not be forgotten. */
static int give_to_chunks(struct trace *t)
{
	uint32_t number;
	int err = 0;

	for (uint32_t i = 0; i < t->n_sources && !err; i++) {
		struct source *s = t->sources[i];

		if (s->recording == REFRESH_NONE ||
		    !is_in_chunk_of(&t->follow->recordings[s->recording], s->public.path))
			continue;
		err = find_recording(t->follow, s->public.path, &number);
		if (!err && number != REFRESH_NONE)
			s->recording = number;
	}
	return err;
}

static int find_new(struct trace *t, struct diag *d)
{
	int err = give_to_chunks(t);

	if (err)
		return diag_fail(d, err, "no memory to follow recordings");
	for (int i = 0; i < t->follow->n_paths && !err; i++)
		err = trace_find(t, t->follow->paths[i], d);
	return err;
}

static bool any_is_new(const struct refresh *f)
{
	for (uint32_t i = 0; i < f->n_recordings; i++)
		if (f->recordings[i].is_new)
			return true;
	return false;
}

int trace_refresh(struct trace *t, struct diag *d)
{
	struct refresh *f = t->follow;
	struct stream **heap;
	int err = 0;

	assert(f);
	if (t->mode == TRACE_FORWARD && t->n_heap)
		trace_advance(t);
	read_progress(f);
	if (any_is_new(f)) {
		/* First: a new stream of a finished recording is indexed when it is found, and
		 * needs its metadata. */
		err = read_all_metadata(t, d);
		if (!err)
			err = find_new(t, d);
		update_sizes(t);
		if (!err)
			err = read_all_metadata(t, d);
		if (!err)
			err = extend_streams(t, d);
	}
	heap = err ? NULL
		   : reallocarray(t->heap, t->n_streams + (size_t)1, sizeof(struct stream *));
	if (err || !heap)
		return err ? err : diag_fail(d, -ENOMEM, "no memory to follow recordings");
	t->heap = heap;
	if (t->mode != TRACE_START) {
		wake_streams(t);
		trace_build_heap(t);
		t->mode = TRACE_FRESH;
	}
	set_bases(t);
	set_known(f);
	return trace_may_grow(t);
}

/* The number of the trace chunk of @path that @s is in; 0: none. */
static uint32_t chunk_of(const struct trace_stream_info *s, const char *path)
{
	size_t n = strlen(path);
	unsigned number;

	return !strncmp(s->source->path, path, n) &&
			       sscanf(s->source->path + n, "/piece-%u", &number) == 1
		       ? number
		       : 0;
}

uint32_t trace_chunks_read(const struct trace *t, const char *path)
{
	uint32_t newest = 0, first_unread = UINT32_MAX;

	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		uint32_t chunk = chunk_of(trace_stream(t, i), path);

		newest = chunk > newest ? chunk : newest;
		if (trace_read_bytes(t, i) < trace_stream(t, i)->size_bytes && chunk < first_unread)
			first_unread = chunk;
	}
	if (first_unread > newest)
		first_unread = newest;
	return first_unread ? first_unread - 1 : 0;
}
