/* SPDX-License-Identifier: MIT */
/* ui/reader/reader.c - opened, kept and moved: see reader.h. */
#include "ui/reader/internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/text.h"
#include "trace/stream/stream.h"

enum {
	KEPT_READERS = 4,
	/* A position with fewer bytes before it is reached by reading all of them, so that names are
	 * those of `duet view`. */
	NEAR_BEGIN_BYTES = 2 << 20,
};

/* The recordings, opened once: readers are parts of it, which are made in no time. */
struct reader_base {
	struct trace *trace;
	uint32_t n_users; /* readers, and the pool */
	int64_t end_ns;	  /* of the recording, when it was opened */
};

struct reader_pool {
	pthread_mutex_t lock;	 /* of all but `opening` */
	pthread_mutex_t opening; /* of a base: taken before `lock` */
	struct reader_base *base;
	struct ui_reader *free;
	uint32_t n;
	pthread_t thread; /* ui_reader_warm() */
	bool has_thread;
	struct ui_index *x;
	char **paths; /* for it */
	int n_paths;
};

static const char pool_key;

static void *pool_make(void *context)
{
	struct reader_pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->opening, NULL);
	p->x = context;
	return p;
}

/* @p's lock is held. */
static void leave_base(struct reader_base *base)
{
	if (!base || --base->n_users)
		return;
	trace_close(base->trace);
	free(base);
}

static void reader_close(struct reader_pool *p, struct ui_reader *r)
{
	if (!r)
		return;
	names_close(r->names);
	addresses_close(r->addresses);
	places_close(r->places);
	trace_close(r->trace);
	pthread_mutex_lock(&p->lock);
	leave_base(r->base);
	pthread_mutex_unlock(&p->lock);
	out_fini(&r->out);
	text_fini(r->text);
	free(r->text);
	free(r->is_shown);
	free(r->learns);
	free(r->hosts);
	free(r->threads);
	free(r->cpus);
	free(r);
}

static void pool_destroy(void *kept)
{
	struct reader_pool *p = kept;

	if (p->has_thread)
		pthread_join(p->thread, NULL);
	while (p->free) {
		struct ui_reader *r = p->free;

		p->free = r->next;
		reader_close(p, r);
	}
	leave_base(p->base);
	for (int i = 0; i < p->n_paths; i++)
		free(p->paths[i]);
	free(p->paths);
	pthread_mutex_destroy(&p->opening);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct reader_pool *pool_of(struct ui_index *x)
{
	return ui_index_keep(x, &pool_key, pool_make, x, pool_destroy);
}

/* ---------------------------------------------------------------- open */

/* Called for each packet that is opened. */
static bool is_stopped(void *context, uint64_t bytes)
{
	const struct ui_reader *r = context;

	(void)bytes;
	return r->is_cancelled && load(r->is_cancelled);
}

static bool mark_classes(struct ui_reader *r)
{
	size_t n = trace_n_classes(r->trace) + (size_t)1;

	r->is_shown = calloc(n, sizeof *r->is_shown);
	r->learns = calloc(n, sizeof *r->learns);
	if (!r->is_shown || !r->learns)
		return false;
	for (uint32_t i = 0; i < trace_n_sources(r->trace); i++) {
		const struct trace_source *s = trace_source(r->trace, i);

		for (const struct ctf_event_class *c = s->meta->events; c; c = c->next) {
			r->is_shown[c->number] =
				!trace_is_state_event(c->name) && !trace_is_batch(c->name);
			r->learns[c->number] = names_learns_from(r->names, s, c->number);
		}
	}
	return true;
}

static int64_t end_of(struct ui_index *x)
{
	struct ui_index_status status;

	ui_index_status(x, &status);
	return status.end_ns;
}

/* The base for another user; a new one if packets of a live recording were written since.  NULL with the
 * reason in @d. */
static struct reader_base *enter_base(struct reader_pool *p, const char *const *paths, int n_paths,
				      bool is_live, struct diag *d)
{
	struct trace_options o = { .progress = is_stopped };
	struct reader_base *base;

	pthread_mutex_lock(&p->opening);
	pthread_mutex_lock(&p->lock);
	base = p->base && !(is_live && p->base->end_ns != end_of(p->x)) ? p->base : NULL;
	if (base)
		base->n_users++;
	pthread_mutex_unlock(&p->lock);
	if (base) {
		pthread_mutex_unlock(&p->opening);
		return base;
	}
	base = calloc(1, sizeof *base);
	if (base) {
		base->n_users = 2;
		base->end_ns = end_of(p->x);
	}
	if (!base || trace_open(&base->trace, paths, n_paths, &o, d)) {
		if (!base)
			diag_fail(d, -ENOMEM, "no memory to read the recording");
		free(base);
		base = NULL;
	} else {
		pthread_mutex_lock(&p->lock);
		leave_base(p->base);
		p->base = base;
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&p->opening);
	return base;
}

static int open_rest(struct ui_reader *r, const char *const *paths, int n_paths, struct diag *d)
{
	int err = trace_part(r->base->trace, TRACE_ALL_STREAMS, NULL, r, &r->trace);

	if (err)
		return diag_fail(d, err, "no memory to read the recording");
	err = names_open(&r->names, r->trace, d);
	if (!err)
		err = addresses_open(&r->addresses, paths, n_paths, d);
	if (!err)
		err = places_open(&r->places, paths, n_paths, d);
	if (!err &&
	    (!r->text || out_init(&r->out, -1) || !mark_classes(r) || !reader_number_hosts(r)))
		err = diag_fail(d, -ENOMEM, "no memory to read the recording");
	return err;
}

static struct ui_reader *reader_open(struct reader_pool *p, const char *const *paths, int n_paths,
				     bool is_live, struct diag *d)
{
	struct ui_reader *r = calloc(1, sizeof *r);
	struct ui_index_status status;

	if (!r) {
		diag_fail(d, -ENOMEM, "no memory to read the recording");
		return NULL;
	}
	r->base = enter_base(p, paths, n_paths, is_live, d);
	ui_index_status(p->x, &status);
	r->index = p->x;
	r->pool = p;
	r->begin_ns = status.begin_ns;
	r->text = calloc(1, sizeof *r->text);
	if (!r->base || open_rest(r, paths, n_paths, d)) {
		reader_close(p, r);
		return NULL;
	}
	r->out.text = r->text;
	return r;
}

/* ---------------------------------------------------------------- taken and given back */

static struct ui_reader *take_free(struct reader_pool *p)
{
	struct ui_reader *r;

	pthread_mutex_lock(&p->lock);
	r = p->free;
	if (r) {
		p->free = r->next;
		p->n--;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

static struct ui_reader *take(struct reader_pool *p, const char *const *paths, int n_paths,
			      bool is_live, struct diag *d)
{
	struct ui_reader *r;

	while ((r = take_free(p)) && is_live && r->base->end_ns != end_of(p->x))
		reader_close(p, r);
	if (!r)
		r = reader_open(p, paths, n_paths, is_live, d);
	if (!r || reader_list_rows(r))
		return r;
	diag_fail(d, -ENOMEM, "no memory to read the recording");
	reader_close(p, r);
	return NULL;
}

struct ui_reader *ui_reader_take(struct ui_index *x, const char *const *paths, int n_paths,
				 bool is_live, const uint32_t *is_cancelled, struct diag *d)
{
	struct reader_pool *p = pool_of(x);
	struct ui_reader *r;

	if (!p) {
		diag_fail(d, -ENOMEM, "no memory to read the recording");
		return NULL;
	}
	r = take(p, paths, n_paths, is_live, d);
	if (r)
		r->is_cancelled = is_cancelled;
	return r;
}

void ui_reader_give(struct ui_reader *r)
{
	struct reader_pool *p = r ? r->pool : NULL;
	bool is_kept;

	if (!r)
		return;
	r->has_failed |= is_stopped(r, 0); /* its streams ended early, maybe */
	r->is_cancelled = NULL;
	pthread_mutex_lock(&p->lock);
	is_kept = !r->has_failed && p->n < KEPT_READERS;
	if (is_kept) {
		r->next = p->free;
		p->free = r;
		p->n++;
	}
	pthread_mutex_unlock(&p->lock);
	if (!is_kept)
		reader_close(p, r);
}

/* ---------------------------------------------------------------- opened before it is asked for */

static void *warm(void *pool)
{
	struct reader_pool *p = pool;
	struct diag d;

	ui_reader_give(
		ui_reader_take(p->x, (const char *const *)p->paths, p->n_paths, false, NULL, &d));
	return NULL;
}

static bool copy_paths(struct reader_pool *p, const char *const *paths, int n_paths)
{
	p->paths = calloc((size_t)n_paths + 1, sizeof *p->paths);
	for (; p->paths && p->n_paths < n_paths; p->n_paths++) {
		p->paths[p->n_paths] = strdup(paths[p->n_paths]);
		if (!p->paths[p->n_paths])
			return false;
	}
	return p->paths;
}

void ui_reader_warm(struct ui_index *x, const char *const *paths, int n_paths)
{
	struct reader_pool *p = pool_of(x);

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	if (!p->paths && copy_paths(p, paths, n_paths))
		p->has_thread = !pthread_create(&p->thread, NULL, warm, p);
	pthread_mutex_unlock(&p->lock);
}

/* ---------------------------------------------------------------- reading */

int ui_reader_next(struct ui_reader *r, struct trace_event *e, struct thread_identity *who,
		   struct diag *d)
{
	int item = trace_next(r->trace, e, d);

	if (item == TRACE_EVENT)
		names_on_event(r->names, e, who);
	r->has_failed |= item < 0;
	return item;
}

int ui_reader_skim(struct ui_reader *r, const bool *is_wanted, struct trace_event *e,
		   struct thread_identity *who, struct diag *d)
{
	int item = trace_next(r->trace, e, d);
	uint32_t class = item == TRACE_EVENT ? trace_class_number(e) : 0;

	if (item == TRACE_EVENT && (is_wanted[class] || r->learns[class]))
		names_on_event(r->names, e, who);
	r->has_failed |= item < 0;
	return item;
}

/* Reads from the begin to @ns. */
static int learn_names(struct ui_reader *r, int64_t ns, struct diag *d)
{
	struct thread_identity who;
	struct trace_event e;
	int item, err;

	names_close(r->names);
	r->names = NULL;
	err = names_open(&r->names, r->trace, d);
	trace_seek(r->trace, INT64_MIN);
	while (!err && (item = ui_reader_next(r, &e, &who, d)) != TRACE_END) {
		if (item < 0)
			return item;
		if (e.time_ns >= r->begin_ns + ns)
			break;
	}
	return err;
}

int ui_reader_seek(struct ui_reader *r, int64_t ns, struct diag *d)
{
	int err = 0;

	if (ui_reader_bytes(r, ns) <= NEAR_BEGIN_BYTES)
		err = learn_names(r, ns, d);
	else
		reader_name_threads(r, ns);
	r->has_failed |= err < 0;
	trace_seek(r->trace, r->begin_ns + ns);
	return err;
}

const char *ui_reader_fields(struct ui_reader *r, const struct trace_event *e, int64_t pid,
			     size_t *size)
{
	r->text->size = 0;
	fields_add(&r->out, r->addresses, e, pid);
	out_flush(&r->out);
	*size = r->text->size;
	return r->text->bytes;
}

/* Bytes of a stream's packets before @at_ns. */
static uint64_t bytes_before(const struct stream *s, int64_t at_ns)
{
	uint32_t low = 0, high = s->n_packets;
	uint64_t begin, end;
	int64_t from_ns, to_ns;

	while (low < high) { /* the first that ends at @at_ns or later */
		uint32_t middle = low + (high - low) / 2;

		if (s->packets[middle].has_end && stream_to_ns(s, s->packets[middle].end) < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->n_packets)
		return s->size;
	begin = s->packets[low].offset;
	end = low + 1 < s->n_packets ? s->packets[low + 1].offset : s->size;
	from_ns = low ? stream_to_ns(s, s->packets[low - 1].end) : s->info.begin_ns;
	to_ns = s->packets[low].has_end ? stream_to_ns(s, s->packets[low].end) : s->info.end_ns;
	if (at_ns <= from_ns || to_ns <= from_ns || end <= begin)
		return begin;
	if (at_ns >= to_ns)
		return end;
	return begin + (uint64_t)((double)(end - begin) * (double)(at_ns - from_ns) /
				  (double)(to_ns - from_ns));
}

uint64_t ui_reader_bytes(const struct ui_reader *r, int64_t ns)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < trace_n_streams(r->trace); i++) {
		const struct stream *s = trace_stream_file(r->trace, i);

		bytes += ns == INT64_MAX ? s->size : bytes_before(s, r->begin_ns + ns);
	}
	return bytes;
}
