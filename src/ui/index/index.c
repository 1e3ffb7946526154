/* SPDX-License-Identifier: MIT */
/* ui/index/index.c - opened, read and closed: see index.h. */
#include "ui/index/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/public.h"
#include "ui/index/cache.h"
#include "ui/index/internal.h"
#include "ui/index/scan.h"

/* That there is a recording is known before the first request. */
static int check_paths(struct ui_index *x, struct diag *d)
{
	struct trace_options options = { .follows = x->options.follows };
	struct ui_index_status *s = &x->status;
	struct trace *t;
	int err = trace_open(&t, x->options.paths, x->n_paths, &options, d);

	if (err)
		return err;
	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *info = trace_stream(t, i);

		if (!info->n_packets)
			continue;
		if (!s->begin_ns || info->begin_ns < s->begin_ns)
			s->begin_ns = info->begin_ns;
		if (info->end_ns > s->end_ns)
			s->end_ns = info->end_ns;
	}
	s->end_ns -= s->begin_ns;
	cache_fingerprint(x, t);
	trace_close(t);
	return 0;
}

static int copy_paths(struct ui_index *x, const struct ui_index_options *o)
{
	x->paths = calloc((size_t)o->n_paths, sizeof *x->paths);
	if (!x->paths)
		return -ENOMEM;
	for (x->n_paths = 0; x->n_paths < o->n_paths; x->n_paths++) {
		x->paths[x->n_paths] = strdup(o->paths[x->n_paths]);
		if (!x->paths[x->n_paths])
			return -ENOMEM;
	}
	x->options = *o;
	x->options.paths = (const char *const *)x->paths;
	if (!x->options.cache_from)
		x->options.cache_from = 1 << 16;
	if (!x->options.most_bytes)
		x->options.most_bytes = (uint64_t)5 << 28;
	return 0;
}

int ui_index_open(struct ui_index **result, const struct ui_index_options *o, struct diag *d)
{
	struct ui_index *x = calloc(1, sizeof *x);
	int err;

	*result = NULL;
	if (!x)
		return diag_fail(d, -ENOMEM, "no memory for an index");
	pthread_rwlock_init(&x->lock, NULL);
	pthread_mutex_init(&x->keeping, NULL);
	err = copy_paths(x, o) ? diag_fail(d, -ENOMEM, "no memory for an index")
			       : check_paths(x, d);
	if (!err && (o->no_cache || o->follows || !cache_read(x))) {
		err = pthread_create(&x->thread, NULL, index_build, x);
		x->has_thread = !err;
		if (err)
			err = diag_fail(d, -err, "cannot start a thread: %s", strerror(err));
	}
	if (err)
		ui_index_close(x);
	else
		*result = x;
	return err;
}

/* Mapped columns are not freed. */
static void free_tables(struct ui_index *x)
{
	if (x->map) {
		munmap(x->map, x->map_bytes);
		return;
	}
	free(x->gaps);
	free(x->wakes.at);
	for (uint32_t i = 0; i < x->n_rows; i++)
		free(x->rows[i].tracks);
	for (uint32_t i = 0; i < x->n_names; i++)
		free(x->names[i]);
}

void ui_index_close(struct ui_index *x)
{
	if (!x)
		return;
	store(&x->stops, 1);
	if (x->has_thread)
		pthread_join(x->thread, NULL);
	while (x->n_kept--)
		x->kept[x->n_kept].destroy(x->kept[x->n_kept].what);
	for (uint32_t i = 0; i < x->n_tracks; i++)
		track_fini(&x->tracks[i]);
	free_tables(x);
	for (int i = 0; i < x->n_paths; i++)
		free(x->paths[i]);
	free(x->paths);
	free(x->rows);
	free(x->tracks);
	free(x->names);
	free(x->by_name);
	pthread_mutex_destroy(&x->keeping);
	pthread_rwlock_destroy(&x->lock);
	free(x);
}

/* ---------------------------------------------------------------- reading */

static void lock(struct ui_index *x)
{
	pthread_rwlock_rdlock(&x->lock);
}

static void unlock(struct ui_index *x)
{
	pthread_rwlock_unlock(&x->lock);
}

void ui_index_status(struct ui_index *x, struct ui_index_status *s)
{
	lock(x);
	*s = x->status;
	unlock(x);
}

uint32_t ui_index_n_rows(struct ui_index *x)
{
	uint32_t n;

	lock(x);
	n = x->n_rows;
	unlock(x);
	return n;
}

/* A thread that waits has no event for long, and lives. */
static int64_t last_of(const struct ui_index *x, const struct row *row)
{
	int64_t last = row->public.last_ns;

	for (uint32_t i = 0; i < row->n_tracks; i++) {
		const struct track *t = &x->tracks[row->tracks[i]];
		int64_t end = t->has_open ? x->known_ns : t->last_ns;

		last = end > last ? end : last;
	}
	return last;
}

bool ui_index_row(struct ui_index *x, uint32_t row, struct ui_row *r)
{
	bool is_there;

	lock(x);
	is_there = row < x->n_rows;
	if (is_there) {
		*r = x->rows[row].public;
		r->last_ns = last_of(x, &x->rows[row]);
	}
	unlock(x);
	return is_there;
}

uint32_t ui_row_track(struct ui_index *x, uint32_t row, uint32_t i)
{
	uint32_t track = UINT32_MAX;

	lock(x);
	if (row < x->n_rows && i < x->rows[row].n_tracks)
		track = x->rows[row].tracks[i];
	unlock(x);
	return track;
}

bool ui_track_info(struct ui_index *x, uint32_t track, struct ui_track_info *info)
{
	bool is_there;

	lock(x);
	is_there = track < x->n_tracks;
	if (is_there)
		*info = x->tracks[track].info;
	unlock(x);
	return is_there;
}

uint32_t ui_index_n_names(struct ui_index *x)
{
	uint32_t n;

	lock(x);
	n = x->n_names;
	unlock(x);
	return n;
}

const char *ui_index_name(struct ui_index *x, uint32_t name)
{
	const char *text;

	lock(x);
	text = name < x->n_names ? x->names[name] : "?";
	unlock(x);
	return text;
}

uint32_t ui_track_n(struct ui_index *x, uint32_t track)
{
	uint32_t n;

	lock(x);
	n = track < x->n_tracks ? track_n(&x->tracks[track]) : 0;
	unlock(x);
	return n;
}

bool ui_track_get(struct ui_index *x, uint32_t track, uint32_t i, struct ui_interval *v)
{
	bool is_there;

	lock(x);
	is_there = track < x->n_tracks && track_get(&x->tracks[track], i, x->known_ns, v);
	unlock(x);
	return is_there;
}

uint32_t ui_track_read(struct ui_index *x, uint32_t track, uint32_t i, struct ui_interval *v,
		       uint32_t most)
{
	uint32_t n = 0;

	lock(x);
	if (track < x->n_tracks)
		n = track_read(&x->tracks[track], i, x->known_ns, v, most);
	unlock(x);
	return n;
}

uint32_t ui_track_find(struct ui_index *x, uint32_t track, int64_t ns)
{
	uint32_t i;

	lock(x);
	i = track < x->n_tracks ? track_find(&x->tracks[track], ns) : 0;
	unlock(x);
	return i;
}

void ui_track_sums(struct ui_index *x, uint32_t track, int64_t from, int64_t to, struct ui_sums *s)
{
	*s = (struct ui_sums){ 0 };
	lock(x);
	if (track < x->n_tracks)
		track_sums(&x->tracks[track], from, to, x->known_ns, s);
	unlock(x);
}

int ui_track_scan(struct ui_index *x, uint32_t track, struct ui_scan *s)
{
	int err = scan_make_room(s);

	if (err)
		return err;
	lock(x);
	if (track < x->n_tracks)
		track_scan(&x->tracks[track], x->known_ns, s);
	unlock(x);
	return 0;
}

uint32_t ui_index_gaps(struct ui_index *x, int64_t from, int64_t to, struct ui_gap *gaps,
		       uint32_t most)
{
	uint32_t n = 0;

	lock(x);
	for (uint32_t i = 0; i < x->n_gaps && n < most && x->gaps[i].begin_ns < to; i++)
		if (x->gaps[i].end_ns > from)
			gaps[n++] = x->gaps[i];
	unlock(x);
	return n;
}

/* Wakeups in a map are not checked before. */
static bool is_sound(const struct ui_index *x, const struct ui_wake *w)
{
	const int64_t most = (int64_t)1 << 60;

	return w->woken < x->n_rows && w->waker <= x->n_rows && w->time_ns > -most &&
	       w->runs_ns < most && w->runs_ns >= w->time_ns;
}

uint32_t ui_index_wakes(struct ui_index *x, uint32_t row, bool by, int64_t from, int64_t to,
			struct ui_wake *wakes, uint32_t most)
{
	uint32_t n = 0, low = 0, high;

	lock(x);
	high = x->wakes.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (x->wakes.at[middle].time_ns < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < x->wakes.n && n < most && x->wakes.at[low].time_ns < to; low++) {
		const struct ui_wake *w = &x->wakes.at[low];

		if ((by ? w->waker == row + 1 : w->woken == row) && is_sound(x, w))
			wakes[n++] = *w;
	}
	unlock(x);
	return n;
}

void *ui_index_keep(struct ui_index *x, const void *key, void *(*make)(void *context),
		    void *context, void (*destroy)(void *kept))
{
	void *what = NULL;
	uint32_t i = 0;

	pthread_mutex_lock(&x->keeping);
	while (i < x->n_kept && x->kept[i].key != key)
		i++;
	if (i < x->n_kept)
		what = x->kept[i].what;
	else if (i < KEPT_MOST && (what = make(context)))
		x->kept[x->n_kept++] = (struct kept){ key, what, destroy };
	pthread_mutex_unlock(&x->keeping);
	return what;
}
