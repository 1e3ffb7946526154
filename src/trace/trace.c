/* SPDX-License-Identifier: MIT */
/*
 * trace/trace.c - opens recordings and merges their streams by time.
 *
 * The streams are in a heap, ordered by the time of their current item.  The stream that gave the
 * last item is at the top.  It advances and sinks to its place; mostly it stays at the top, because
 * streams come in long runs.
 */
#include "trace/trace.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/text.h"
#include "ctf/compressed/compressed.h"
#include "trace/hosts.h"
#include "trace/internal.h"

/* ---------------------------------------------------------------- several hosts */

/* A host's clocks restart with each boot. */
static bool is_same_host(const struct trace_source *a, const struct trace_source *b)
{
	const struct ctf_clock *x = ctf_meta_clock(a->meta, NULL),
			       *y = ctf_meta_clock(b->meta, NULL);

	return !strcmp(a->hostname, b->hostname) && (!x || !y || !x->has_uuid || !y->has_uuid ||
						     !memcmp(x->uuid, y->uuid, sizeof x->uuid));
}

static void describe_host(struct trace *t, const struct trace_source *s,
			  const struct hosts_shift *shift, bool is_known)
{
	const char *name = *s->hostname ? s->hostname : s->path;

	text_addf(&t->hosts,
		  t->hosts.size ? "; " : "times of several hosts by their relay's clock: ");
	if (is_known)
		text_addf(&t->hosts, "%.64s moved by %+.6f s, to within %.6f s", name,
			  (double)shift->shift_ns / 1e9, (double)shift->error_ns / 1e9);
	else
		text_addf(&t->hosts, "%.64s as recorded, no relay knows its clock", name);
}

/* True for sources of one recording, and for its parts in several directories, such as users' parts
 * at a relay. */
static bool is_same_clock(const struct trace_source *a, const struct trace_source *b)
{
	const struct ctf_clock *x = ctf_meta_clock(a->meta, NULL),
			       *y = ctf_meta_clock(b->meta, NULL);

	return x && y && x->offset_s == y->offset_s && x->offset == y->offset && is_same_host(a, b);
}

struct host_shift {
	struct hosts_shift by;
	bool is_known;
};

static struct host_shift read_shift(const struct trace_source *s)
{
	const struct ctf_clock *c = ctf_meta_clock(s->meta, NULL);
	struct host_shift shift = { .is_known = false };

	shift.is_known =
		c && c->freq == 1000000000 &&
		hosts_read(s->path,
			   (int64_t)((uint64_t)c->offset_s * 1000000000u + (uint64_t)c->offset),
			   &shift.by);
	return shift;
}

/* Returns the most precise shift of all sources with this source's clock.  All of them are moved by
 * the same number, so nothing changes within a host. */
static struct host_shift shift_of(const struct trace *t, const struct host_shift *shifts,
				  uint32_t number)
{
	uint32_t best = number;

	for (uint32_t i = 0; i < t->n_sources; i++)
		if (shifts[i].is_known &&
		    (!shifts[best].is_known || shifts[i].by.error_ns < shifts[best].by.error_ns) &&
		    is_same_clock(&t->sources[i]->public, &t->sources[number]->public))
			best = i;
	return shifts[best];
}

/* Consecutive sources of one host are mentioned once. */
static void shift_sources(struct trace *t, const struct host_shift *shifts)
{
	struct host_shift before = { .is_known = false }, shift;

	for (uint32_t i = 0; i < t->n_sources; i++, before = shift) {
		struct trace_source *s = &t->sources[i]->public;

		shift = shift_of(t, shifts, i);
		s->shift_ns = shift.by.shift_ns;
		if (!i || !is_same_host(s, &t->sources[i - 1]->public) ||
		    llabs(shift.by.shift_ns - before.by.shift_ns) > shift.by.error_ns)
			describe_host(t, s, &shift.by, shift.is_known);
	}
	for (uint32_t i = 0; i < t->n_streams; i++)
		trace_shift_stream(t->streams[i]);
}

/* If no clock is known, nothing is moved and nothing reported. */
static int relate_hosts(struct trace *t, struct diag *d)
{
	bool several = false, any_known = false;
	struct host_shift *shifts;

	for (uint32_t i = 1; i < t->n_sources; i++)
		several |= !is_same_host(&t->sources[0]->public, &t->sources[i]->public);
	if (!several)
		return 0;
	shifts = calloc(t->n_sources, sizeof *shifts);
	if (!shifts)
		return diag_fail(d, -ENOMEM, "no memory for the clocks of several hosts");
	for (uint32_t i = 0; i < t->n_sources; i++) {
		shifts[i] = read_shift(&t->sources[i]->public);
		any_known |= shifts[i].is_known;
	}
	if (any_known)
		shift_sources(t, shifts);
	free(shifts);
	return 0;
}

const char *trace_hosts(const struct trace *t)
{
	return t->hosts.bytes ? t->hosts.bytes : "";
}

/* Gives each stream an equal share of the memory for mapped pages. */
static void share_memory(struct trace *t)
{
	enum { ALL = 96 << 20 };
	uint64_t keep = ALL / (t->n_streams + 1u);

	keep = keep < STREAM_KEEP_MIN	? STREAM_KEEP_MIN
	       : keep > STREAM_KEEP_MAX ? STREAM_KEEP_MAX
					: keep;
	for (uint32_t i = 0; i < t->n_streams; i++)
		t->streams[i]->keep_bytes = keep;
}

static int open_once(struct trace **result, const char *const *paths, int n,
		     const struct trace_options *o, bool *has_vanished, struct diag *d)
{
	struct trace *t = calloc(1, sizeof *t);
	int err = 0;

	*result = NULL;
	*has_vanished = false;
	if (!t)
		return diag_fail(d, -ENOMEM, "no memory to open a trace");
	if (o)
		t->options = *o;
	if (t->options.follows)
		err = refresh_open(t, paths, n, d);
	for (int i = 0; i < n && !err; i++)
		err = trace_open_path(t, paths[i], d);
	t->heap = err ? NULL : calloc(t->n_streams + (size_t)1, sizeof *t->heap);
	if (!err && !t->heap)
		err = diag_fail(d, -ENOMEM, "no memory to open a trace");
	if (!err)
		err = relate_hosts(t, d);
	share_memory(t);
	if (err) {
		*has_vanished = t->has_vanished;
		trace_close(t);
		return err;
	}
	*result = t;
	return 0;
}

int trace_open(struct trace **result, const char *const *paths, int n,
	       const struct trace_options *o, struct diag *d)
{
	enum { TRIES = 100 };
	struct diag unused;
	bool has_vanished;
	int err, left = TRIES;

	if (!d)
		d = &unused;
	/* In the trace chunks of a session at work the oldest ones vanish. */
	do {
		d->text[0] = 0;
		err = open_once(result, paths, n, o, &has_vanished, d);
	} while (err && has_vanished && --left);
	return err;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n_streams; i++) {
		stream_close(t->streams[i]);
		free(t->streams[i]);
	}
	for (uint32_t i = 0; i < t->n_sources && !t->is_part; i++)
		trace_source_close(t->sources[i]);
	free(t->streams);
	if (!t->is_part)
		free(t->sources);
	free(t->heap);
	text_fini(&t->hosts);
	refresh_close(t->follow);
	free(t);
}

void trace_sink(struct trace *t, uint32_t i)
{
	struct stream *s = t->heap[i];

	assert(i < t->n_heap);
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= t->n_heap)
			break;
		if (child + 1 < t->n_heap && trace_is_before(t->heap[child + 1], t->heap[child]))
			child++;
		if (!trace_is_before(t->heap[child], s))
			break;
		t->heap[i] = t->heap[child];
		i = child;
	}
	t->heap[i] = s;
}

void trace_heap_sift(struct trace *t)
{
	if (t->n_heap > 1)
		trace_sink(t, 0);
	t->next = t->n_heap < 2 ? NULL : t->heap[1];
	if (t->n_heap > 2 && trace_is_before(t->heap[2], t->next))
		t->next = t->heap[2];
	if (t->mode == TRACE_FORWARD && t->n_heap)
		trace_unread(t->heap[0]);
}

void trace_build_heap(struct trace *t)
{
	share_memory(t);
	t->n_heap = 0;
	for (uint32_t i = 0; i < t->n_streams; i++)
		if (t->streams[i]->item != TRACE_END || t->streams[i]->has_failed)
			t->heap[t->n_heap++] = t->streams[i];
	assert(t->n_heap <= t->n_streams);
	for (uint32_t i = t->n_heap / 2; i-- > 0;)
		trace_sink(t, i);
	trace_heap_sift(t);
}

/* Advances the stream at the top.  While it stays before `next`, the heap does not change. */
static inline void advance(struct trace *t)
{
	struct stream *s = t->heap[0];

	stream_next(s);
	stream_trim_sometimes(s);
	if (unlikely(s->item == TRACE_END && !s->has_failed))
		t->heap[0] = t->heap[--t->n_heap];
	else if (!t->next || trace_is_before(s, t->next))
		return;
	trace_heap_sift(t);
}

void trace_advance(struct trace *t)
{
	if (t->n_heap)
		advance(t);
}

int trace_next(struct trace *t, struct trace_event *e, struct diag *d)
{
	struct stream *s;

	if (unlikely(t->mode != TRACE_FORWARD))
		trace_turn_forward(t);
	else if (likely(t->n_heap))
		advance(t);
	if (unlikely(t->follow) && !refresh_admits(t))
		return TRACE_END;
	if (unlikely(!t->n_heap))
		return TRACE_END;
	s = t->heap[0];
	if (unlikely(s->item == TRACE_END)) {
		t->n_heap = 0;
		return diag_fail(d, -EINVAL, "%s", s->damage.text);
	}
	return trace_describe_item(s, e);
}

void trace_skip_to(struct trace *t, int64_t time_ns, uint64_t min_bytes)
{
	for (uint32_t i = 0; i < t->n_streams && t->mode == TRACE_START; i++)
		if (t->streams[i]->size >= min_bytes)
			stream_skip_to(t->streams[i], time_ns);
}

uint32_t trace_n_sources(const struct trace *t)
{
	return t->n_sources;
}

const struct trace_source *trace_source(const struct trace *t, uint32_t i)
{
	assert(i < t->n_sources);
	return &t->sources[i]->public;
}

uint32_t trace_n_streams(const struct trace *t)
{
	return t->n_streams;
}

const struct trace_stream_info *trace_stream(const struct trace *t, uint32_t i)
{
	assert(i < t->n_streams);
	return &t->streams[i]->info;
}

struct stream *trace_stream_file(const struct trace *t, uint32_t i)
{
	assert(i < t->n_streams);
	return t->streams[i];
}

uint32_t trace_n_classes(const struct trace *t)
{
	return t->n_classes;
}

uint64_t trace_n_damages(const struct trace *t)
{
	uint64_t n = t->n_damages;

	for (uint32_t i = 0; i < t->n_streams; i++)
		n += t->streams[i]->n_damages;
	return n;
}
