/* SPDX-License-Identifier: MIT */
/*
 * trace/refresh.c - recordings that are read while they are written: trace_refresh().
 *
 * A recording says up to when all is in its files (base/progress.h).  That, not what is in the
 * files, decides how far events may be given: an idle stream holds nobody back, and a stream that
 * is written late holds back all, which is what order needs.  In each round:
 *
 *   (1) how far it is, before anything else is looked at
 *   (2) which traces and streams there are, and how much of each stream its index names
 *   (3) metadata, which were written before that
 *   (4) the packets' headers
 *
 * What is at most MARGIN_NS younger than the recording's word is not given yet: a writer may be
 * interrupted between reading the clock and publishing.  Who takes longer than that is late, and
 * counted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "base/monotonic.h"
#include "base/progress.h"
#include "trace/internal.h"

#define MARGIN_NS 20000000
#define SILENT_NS 5000000000ull
enum { RECORDINGS_MAX = 65536 };
#define NONE UINT32_MAX

struct recording {
	char *path;
	uint32_t whole; /* that it is a piece of, or NONE: the whole says how far it is */
	struct progress progress;
	bool is_new;	/* something was written since the last round, */
	bool is_unread; /* or there was none */
	bool grew;	/* when it was last asked */
	bool is_silent;
	bool has_base;
	int64_t base_ns;       /* its clock's zero, from the Epoch, moved as its sources are */
	uint64_t last_read_ns; /* by our clock: when it said something new */
};

struct refresh {
	char **paths;
	int n_paths;
	struct recording *recordings;
	uint32_t n_recordings;
	int64_t given_ns; /* time of the last item */
	struct trace_following public;
};

/* ---------------------------------------------------------------- recordings */

static bool grows(const struct refresh *f, const struct recording *r)
{
	const struct progress *whole = r->whole == NONE ? NULL : &f->recordings[r->whole].progress;

	/* A piece whose collector was killed is put in order by the next one: until then its end is
	 * not final.  That it is may come from another host before what it is about. */
	if (whole && r->progress.state == PROGRESS_CUT && whole->state == PROGRESS_GROWS)
		return !r->progress.is_finished || whole->is_relayed;
	return r->progress.state == PROGRESS_GROWS;
}

/* The recording that @path is a piece of. */
static uint32_t whole_of(const struct refresh *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	for (uint32_t i = 0; slash && !strncmp(slash, "/piece-", 7) && i < f->n_recordings; i++)
		if (strlen(f->recordings[i].path) == n && !memcmp(f->recordings[i].path, path, n))
			return i;
	return NONE;
}

/* The recording that the trace at @path belongs to, or NONE; -ENOMEM. */
static int find_recording(struct refresh *f, const char *path, uint32_t *number)
{
	int length = progress_find(path);
	struct recording *bigger;
	uint32_t i = 0;

	*number = NONE;
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
		bigger[i].whole = whole_of(f, bigger[i].path);
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
	return t->follow && s->recording != NONE &&
	       grows(t->follow, &t->follow->recordings[s->recording]);
}

bool trace_may_grow(const struct trace *t)
{
	bool any = false;

	for (uint32_t i = 0; t->follow && i < t->follow->n_recordings; i++)
		any |= grows(t->follow, &t->follow->recordings[i]);
	return any;
}

uint64_t trace_read_bytes(const struct trace *t, uint32_t i)
{
	const struct stream *s = t->streams[i];

	if (!s->n_packets) /* none was there yet, or it was read to its end */
		return s->bytes || s->grows ? 0 : s->info.size_bytes;
	return s->packets[s->packet ? s->packet - 1 : 0].offset;
}

/* ---------------------------------------------------------------- how far */

/* What was grown enough to be read to its end stays as it is. */
static void client_recordings(struct refresh *f)
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
		r->grew = grows(f, r); /* also a piece that is cut ends with its whole, which comes
					  before it */
		r->is_new |= !r->grew || r->progress.written_ns > before_ns;
		r->is_new |= r->whole != NONE &&
			     f->recordings[r->whole].is_new; /* which comes before its pieces */
		if (r->is_new)
			r->last_read_ns = now_ns;
		r->is_silent =
			r->whole == NONE && grows(f, r) && now_ns - r->last_read_ns > SILENT_NS;
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

/* By the first of its sources, or of its pieces'; all have one clock. */
static void set_bases(struct trace *t)
{
	for (uint32_t i = 0; i < t->n_sources; i++) {
		uint32_t number = t->sources[i]->recording;
		struct recording *r = number == NONE ? NULL : &t->follow->recordings[number];

		if (r)
			set_base(r, &t->sources[i]->public);
		if (r && r->whole != NONE)
			set_base(&t->follow->recordings[r->whole], &t->sources[i]->public);
	}
}

static int64_t known_of(const struct refresh *f, const struct recording *r)
{
	if (r->whole != NONE || !grows(f, r))
		return INT64_MAX;
	if (!r->has_base || r->progress.written_ns <= MARGIN_NS)
		return INT64_MIN;
	return (int64_t)((uint64_t)r->base_ns + r->progress.written_ns - MARGIN_NS);
}

/* A recording that says nothing any more is not waited for, if there are others. */
static void set_known(struct refresh *f)
{
	int64_t known_ns = INT64_MAX;
	bool all_silent = true;

	f->public.silent = NULL;
	f->public.n_cut = f->public.n_sent = 0;
	for (uint32_t i = 0; i < f->n_recordings; i++) {
		const struct recording *r = &f->recordings[i];

		f->public.n_cut += r->whole == NONE && r->progress.state == PROGRESS_CUT;
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
			t->mode = TRACE_FRESH; /* it is given when it is its turn */
			return false;
		}
		if (likely(s->time_ns >= f->given_ns) || s->item == TRACE_LOST) {
			/* Losses are told, late or not. */
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
	return s->recording != NONE && t->follow->recordings[s->recording].is_new;
}

static struct source *source_of(const struct trace *t, const struct stream *s)
{
	return t->sources[s->info.source->number];
}

/* How much of each stream is whole; all of it, if its recording has ended. */
static void measure(struct trace *t)
{
	for (uint32_t i = 0; i < t->n_streams; i++) {
		struct stream *s = t->streams[i];
		struct source *src = source_of(t, s);

		if (!s->grows || !is_new(t, src))
			continue;
		if (refresh_grows(t, src)) {
			int64_t end = progress_index_end(src->public.path, s->info.name);

			s->whole = end > 0 ? (uint64_t)end : 0;
		} else {
			s->grows = false;
			s->has_grown = true;
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

		if (!s->grows && !s->has_grown)
			continue;
		s->has_grown = false;
		err = stream_grow(s, s->whole, d);
		if (err)
			err = warn_or_fail(t, d, err);
		t->follow->public.n_gone += s->is_gone;
		s->is_gone = false;
	}
	return err;
}

/* What was at its end goes on; what will never go on gives back its memory, and the disk what was
 * deleted. */
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

static int look(struct trace *t, struct diag *d)
{
	int err = 0;

	for (int i = 0; i < t->follow->n_paths && !err; i++)
		err = trace_find(t, t->follow->paths[i], d);
	return err;
}

static bool any_new(const struct refresh *f)
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

	if (t->mode == TRACE_FORWARD && t->n_heap)
		trace_advance(t);
	client_recordings(f);
	if (any_new(f)) {
		/* First: a new stream of a recording that has ended is listed as it is found, and
		 * must be described. */
		err = read_all_metadata(t, d);
		if (!err)
			err = look(t, d);
		measure(t);
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
		trace_heap(t);
		t->mode = TRACE_FRESH;
	}
	set_bases(t);
	set_known(f);
	return trace_may_grow(t);
}
