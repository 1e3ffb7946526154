/* SPDX-License-Identifier: MIT */
/*
 * ui/index/build.c - the builder's loop.
 *
 * The recording is read once.  Calls of functions lie in batches and are read in a second pass.
 */
#include "ui/index/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ui/index/cache.h"

enum {
	EVENTS_AT_FIRST = 1 << 10,
	EVENTS_AT_ONCE = 1 << 14,
	TRACKS_COUNTED = 1 << 12,
	SYNC_EVERY = 1 << 16
};

/* ---------------------------------------------------------------- with the lock */

int64_t build_row(struct builder *b, const struct ui_row *row)
{
	int64_t number;

	pthread_rwlock_wrlock(&b->x->lock);
	number = index_add_row(b->x, row);
	pthread_rwlock_unlock(&b->x->lock);
	return number;
}

int64_t build_text(struct builder *b, const char *text, size_t size)
{
	int64_t number = index_find_name(b->x, text, size);

	if (number >= 0)
		return number;
	pthread_rwlock_wrlock(&b->x->lock);
	number = index_name(b->x, text, size);
	pthread_rwlock_unlock(&b->x->lock);
	return number;
}

int build_track(struct builder *b, uint32_t *track, uint32_t row, uint8_t kind, uint8_t depth)
{
	int64_t number;

	if (*track)
		return 0;
	pthread_rwlock_wrlock(&b->x->lock);
	number = index_add_track(b->x, row, kind, depth);
	pthread_rwlock_unlock(&b->x->lock);
	if (number < 0 ||
	    pass_grow(&b->writers, &b->n_writers, (uint32_t)number, sizeof *b->writers))
		return -ENOMEM;
	*track = (uint32_t)number + 1;
	return 0;
}

static int add_gap(struct builder *b, const struct ui_gap *gap)
{
	int err;

	pthread_rwlock_wrlock(&b->x->lock);
	err = index_add_gap(b->x, gap);
	pthread_rwlock_unlock(&b->x->lock);
	return err;
}

int build_sync_now(struct builder *b)
{
	int err;

	pthread_rwlock_wrlock(&b->x->lock);
	err = build_sync(b);
	pthread_rwlock_unlock(&b->x->lock);
	b->sync_at = b->pass->n_events + SYNC_EVERY;
	return err;
}

/* A recording that is followed may be silent, and its states go on: up to what its files have.  Files that
 * are finished have no such end (INT64_MAX): then it is the last event. */
static int64_t known_ns(const struct builder *b)
{
	const struct trace_following *f = b->x->options.follows ? trace_following(b->trace) : NULL;

	if (!f || !b->has_begun_ns || !b->has_caught_up || f->known_ns == INT64_MAX ||
	    f->known_ns < b->pass->last_ns)
		return b->pass->last_ns;
	return f->known_ns;
}

static void note_progress(struct builder *b)
{
	struct ui_index_status *s = &b->x->status;

	b->x->known_ns = known_ns(b) - s->begin_ns;
	if (b->now_ns > s->ready_ns)
		s->ready_ns = b->now_ns;
	if (b->x->options.follows && b->x->known_ns > s->ready_ns)
		s->ready_ns = b->x->known_ns;
	if (s->ready_ns > s->end_ns)
		s->end_ns = s->ready_ns;
	s->n_events = b->pass->n_events;
	s->lost_events = b->pass->lost_events;
	s->lost_packets = b->pass->lost_packets;
	s->n_damages = b->pass->n_damages;
	pthread_mutex_lock(&b->damages);
	memcpy(s->damage, b->damage, sizeof s->damage);
	pthread_mutex_unlock(&b->damages);
	if (s->end_ns)
		s->progress = (double)s->ready_ns / (double)s->end_ns;
}

int build_publish(struct builder *b)
{
	int err;

	pthread_rwlock_wrlock(&b->x->lock);
	err = build_write(b);
	note_progress(b);
	pthread_rwlock_unlock(&b->x->lock);
	return err;
}

/* ---------------------------------------------------------------- items */

static int take_event(struct builder *b, const struct trace_event *e, uint32_t thread)
{
	struct wait_closed closed;
	uint8_t state;
	int err;

	if (wait_follow_call(b->f, e, thread, &closed, &state))
		return build_steady_call(b, e, &closed, state);
	if (b->has_begun && e->stream->source->domain != TRACE_KERNEL)
		return build_thread_event(b, e, thread);
	b->has_begun = true;
	err = wait_follow_event(b->f, e, thread);
	if (!err)
		err = build_irq(b, e);
	if (!err)
		err = build_states(b);
	if (!err)
		err = build_thread_event(b, e, thread);
	return err;
}

/* A gap begins at the last event that its stream still has. */
static int take_lost(struct builder *b, const struct trace_event *e)
{
	struct ui_gap gap = { b->stream_ns[e->stream->number], b->now_ns, e->lost_events,
			      e->cpu == TRACE_CPU_UNKNOWN ? -1 : (int32_t)e->cpu,
			      e->stream->source->number };
	int err = wait_follow_lost(b->f, e);

	if (gap.begin_ns >= gap.end_ns)
		gap.end_ns = gap.begin_ns + 1;
	if (!err)
		err = add_gap(b, &gap);
	if (!err)
		err = build_states(b);
	return err ? err : build_lost(b, e);
}

/* A recording that is followed from its begin has no packet when it is opened. */
static void begin_with(struct builder *b, int64_t ns)
{
	b->has_begun_ns = true;
	if (b->x->status.begin_ns)
		return;
	pthread_rwlock_wrlock(&b->x->lock);
	b->x->status.begin_ns = ns;
	b->x->status.version++;
	pthread_rwlock_unlock(&b->x->lock);
}

static int note_stream(struct builder *b, const struct trace_event *e)
{
	uint32_t number = e->stream->number;

	if (pass_grow(&b->stream_ns, &b->n_streams, number, sizeof *b->stream_ns))
		return -ENOMEM;
	if (!b->has_begun_ns)
		begin_with(b, e->time_ns);
	b->now_ns = e->time_ns - b->x->status.begin_ns;
	if (b->now_ns < 0)
		b->now_ns = 0;
	return 0;
}

/* The next item, as pass_next() would give it. */
static int next_item(struct builder *b, struct trace_event *own, const struct trace_event **e,
		     uint32_t *thread, struct diag *d)
{
	int item;

	*e = own;
	if (!b->ahead)
		return pass_next(b->pass, own, thread, d);
	item = ahead_next(b->ahead, e, &b->pass->n_damages, d);
	return item <= TRACE_END ? item : pass_take(b->pass, item, *e, thread, d);
}

/* Some events, then all of it is published.  1: go on; 0: the end; or -errno. */
static int take_some(struct builder *b, struct diag *d)
{
	/* The first picture waits for few. */
	uint64_t most = b->pass->n_events < EVENTS_AT_ONCE ? EVENTS_AT_FIRST : EVENTS_AT_ONCE;
	int found = TRACE_EVENT, err = 0;

	for (uint64_t i = 0; i < most && !err; i++) {
		struct trace_event own;
		const struct trace_event *e;
		uint32_t thread;

		found = next_item(b, &own, &e, &thread, d);
		if (found <= 0)
			break;
		err = note_stream(b, e);
		if (!err)
			err = found == TRACE_LOST ? take_lost(b, e) : take_event(b, e, thread);
		if (!err)
			b->stream_ns[e->stream->number] = b->now_ns;
	}
	b->has_caught_up = found == TRACE_END;
	if (!err && b->pass->n_events >= b->sync_at)
		err = build_sync_now(b);
	if (!err)
		err = build_publish(b);
	if (err)
		return diag_fail(d, err, "no memory for the index");
	return found < 0 ? found : found != TRACE_END;
}

/* While a recording is followed: look for more.  Returns whether to read on, or -errno.  After the
 * recording's end what is left is read once more. */
static int wait_for_more(struct builder *b, struct diag *d)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	int more, err;

	if (!b->x->options.follows || b->has_ended)
		return 0;
	nanosleep(&pause, NULL);
	more = trace_refresh(b->trace, d);
	if (more < 0)
		return more;
	b->has_ended = !more;
	err = wait_follow_update(b->f, d);
	if (!err && (build_hosts(b) || build_classes(b)))
		err = diag_fail(d, -ENOMEM, "no memory for the index");
	return err ? err : 1;
}

static int refuse_more(struct builder *b, struct diag *d)
{
	pthread_rwlock_wrlock(&b->x->lock);
	b->x->status.is_cut = true;
	pthread_rwlock_unlock(&b->x->lock);
	return diag_fail(d, -EFBIG,
			 "the index is full: what comes later is not shown (a part of the "
			 "recording, `duet view --from --to`, may fit)");
}

static int read_all(struct builder *b, struct diag *d)
{
	uint32_t n = 0;
	int more = 1;

	while (more > 0 && !load(&b->x->stops)) {
		more = take_some(b, d);
		if (!more)
			more = wait_for_more(b, d);
		if (++n % (b->x->n_tracks / TRACKS_COUNTED + 1) == 0 &&
		    index_count_bytes(b->x) > b->x->options.most_bytes)
			return refuse_more(b, d);
	}
	return more < 0 ? more : 0;
}

/* ---------------------------------------------------------------- the thread */

/* Called by the thread that reads; note_progress() publishes it. */
static void note_damage(void *context, const char *text)
{
	struct builder *b = context;
	size_t n;

	pthread_mutex_lock(&b->damages);
	n = strlen(b->damage);
	if (n + strlen(text) + 2 < sizeof b->damage)
		snprintf(b->damage + n, sizeof b->damage - n, "%s%s", n ? "\n" : "", text);
	pthread_mutex_unlock(&b->damages);
}

static int open_builder(struct builder *b, struct diag *d)
{
	struct trace_options o = { .warn = note_damage,
				   .context = b,
				   .follows = b->x->options.follows };
	int err = trace_open(&b->trace, b->x->options.paths, b->x->n_paths, &o, d);

	if (!err)
		err = wait_follow_open(&b->f, b->trace, NULL, d);
	if (err)
		return err;
	wait_follow_spare(b->f);
	b->pass = wait_follow_pass(b->f);
	if (build_hosts(b) || build_classes(b))
		return diag_fail(d, -ENOMEM, "no memory for the index");
	return 0;
}

static void close_builder(struct builder *b)
{
	wait_follow_close(b->f);
	trace_close(b->trace);
	build_forget_writers(b);
	free(b->threads);
	free(b->cpus);
	free(b->classes);
	free(b->plans);
	free(b->irq_rows);
	free(b->disks);
	free(b->counters);
	free(b->stream_ns);
	free(b->hosts);
	free(b->host_of);
}

static void finish(struct builder *b, int err, const struct diag *d)
{
	struct ui_index_status *s = &b->x->status;

	if (b->pass)
		(void)build_finish_waits(b);
	pthread_rwlock_wrlock(&b->x->lock);
	if (b->pass) {
		(void)build_write(b);
		(void)build_sync(b);
		note_progress(b);
		s->ready_ns = s->end_ns;
	}
	s->progress = 1;
	if (err)
		snprintf(s->failure, sizeof s->failure, "%.250s", d->text);
	s->is_done = !load(&b->x->stops);
	s->version++;
	pthread_rwlock_unlock(&b->x->lock);
}

static bool may_be_kept(const struct builder *b)
{
	const struct ui_index *x = b->x;

	return !x->options.no_cache && !x->options.follows && !load(&x->stops) &&
	       x->status.n_events >= x->options.cache_from;
}

void *index_build(void *index)
{
	struct builder b = { .x = index, .damages = PTHREAD_MUTEX_INITIALIZER };
	struct diag d = { "" };
	int err = open_builder(&b, &d);

	if (!err && !b.x->options.follows)
		b.ahead = ahead_open(b.trace); /* without it one thread does both */
	if (!err)
		err = read_all(&b, &d);
	ahead_close(b.ahead);
	if (!err && !load(&b.x->stops))
		err = build_functions(&b, &d);
	finish(&b, err, &d);
	if (!err && may_be_kept(&b))
		cache_write(b.x); /* nobody changes it any more */
	close_builder(&b);
	return NULL;
}
