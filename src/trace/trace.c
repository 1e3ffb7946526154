/* SPDX-License-Identifier: MIT */
/*
 * trace/trace.c - see trace.h.
 *
 * The streams stand in a heap by the time of the item each is on.  The one that gave the last item
 * is at its top: it moves on and sinks to its place, which is mostly none at all, for streams come
 * in long runs.
 */
#include "trace/trace.h"

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
#include "ctf/packed.h"
#include "trace/hosts.h"
#include "trace/inside.h"

enum { DIRECTORIES_DEEP = 16, SOURCES_MAX = 65536 };

static int add(void *list, uint32_t *n, void *item)
{
	void **array = *(void ***)list, **bigger;

	if (*n == 0 || (*n >= 8 && !(*n & (*n - 1)))) {
		bigger = realloc(array, (*n ? *n * (size_t)2 : 8) * sizeof *bigger);
		if (!bigger)
			return -ENOMEM;
		*(void ***)list = array = bigger;
	}
	array[(*n)++] = item;
	return 0;
}

static enum trace_domain domain_of(const struct ctf_meta *m)
{
	const char *d = ctf_meta_env(m, "domain");

	if (d && !strcmp(d, "ust"))
		return TRACE_UST;
	return d && !strcmp(d, "kernel") ? TRACE_KERNEL : TRACE_OTHER;
}

static void source_close(struct source *s)
{
	ctf_meta_close(&s->meta);
	free((void *)s->public.path);
	free(s);
}

static int add_stream(struct trace *t, struct source *src, const char *path, struct diag *d)
{
	struct stream *s = malloc(sizeof *s);
	int err;

	if (!s)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	err = stream_open(s, &src->public, path, &t->options, d);
	if (!err && s->has_failed) {
		err = diag_fail(d, -EINVAL, "%s", s->damage.text);
		stream_close(s);
	}
	if (err) {
		free(s);
		return err;
	}
	s->info.number = t->n_streams;
	err = add(&t->streams, &t->n_streams, s);
	if (err) {
		stream_close(s);
		free(s);
		return diag_fail(d, err, "no memory for %s", path);
	}
	return 0;
}

static int source_open(struct trace *t, const char *path, struct source **result, struct diag *d)
{
	struct source *s = calloc(1, sizeof *s);
	char *name;
	int err;

	if (!s || asprintf(&name, "%s/metadata", path) < 0) {
		free(s);
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	}
	err = ctf_meta_open(&s->meta, name, d);
	free(name);
	if (err > 0 && !t->options.is_strict) {
		t->n_damages++;
		if (t->options.warn)
			t->options.warn(t->options.context, d->text);
		err = 0;
	}
	s->public.path = err ? NULL : strdup(path);
	if (!err && (!s->public.path || add(&t->sources, &t->n_sources, s)))
		err = diag_fail(d, -ENOMEM, "no memory for %s", path);
	if (err) {
		source_close(s);
		return err > 0 ? -EINVAL : err;
	}
	s->public.meta = &s->meta;
	s->public.domain = domain_of(&s->meta);
	s->public.hostname = ctf_meta_env(&s->meta, "hostname");
	if (!s->public.hostname)
		s->public.hostname = "";
	s->public.number = t->n_sources - 1;
	s->public.first_class = t->n_classes;
	t->n_classes += s->meta.n_events;
	*result = s;
	return 0;
}

/* One trace that cannot be read is no reason not to read the others: it is told, and passed over. */
static int source_open_or_pass(struct trace *t, const char *path, struct source **src, struct diag *d)
{
	int err = source_open(t, path, src, d);

	if (!err || err == -ENOMEM || t->options.is_strict)
		return err;
	t->n_damages++;
	if (!t->unreadable.text[0])
		t->unreadable = *d; /* told when there is another that can be read: else it is the error */
	else if (t->options.warn)
		t->options.warn(t->options.context, d->text);
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Whether the file lies there packed: ctf/packed.h. */
static bool is_packed(const char *path)
{
	char *packed;
	bool is_it;

	if (asprintf(&packed, "%s" PACKED_SUFFIX, path) < 0)
		return false;
	is_it = is_file(packed);
	free(packed);
	return is_it;
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int open_entry(struct trace *t, struct source *src, const char *path, const char *name, int depth,
		      struct diag *d);

/* Whether entry @i is the packed file of one that is listed too, which counts as long as it is there.  What is
 * sorted between both begins like both. */
static bool is_twin(struct dirent **list, int i)
{
	const char *name = list[i]->d_name;
	size_t n = strlen(name) - (packed_is_name(name) ? sizeof PACKED_SUFFIX - 1 : 0);

	while (packed_is_name(name) && i-- > 0 && !strncmp(list[i]->d_name, name, n))
		if (!list[i]->d_name[n])
			return true;
	return false;
}

/* Entries come by name, so that the order of streams, and with it ties, are the same every time. */
static int open_directory(struct trace *t, const char *path, int depth, struct diag *d)
{
	struct source *src = NULL;
	struct dirent **list;
	char *meta;
	int err = 0, n;

	if (asprintf(&meta, "%s/metadata", path) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	if (is_file(meta) || is_packed(meta))
		err = source_open_or_pass(t, path, &src, d);
	free(meta);
	if (err)
		return err;
	n = scandir(path, &list, not_hidden, alphasort);
	if (n < 0)
		return diag_errno(d, "cannot read the directory %s", path);
	for (int i = 0; i < n; i++) {
		if (!err && !is_twin(list, i))
			err = open_entry(t, src, path, list[i]->d_name, depth, d);
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return err;
}

/* A snapshot lies in the directory of the recording it was taken of, and holds the same events. */
static bool is_other_recording(const char *path, const char *name)
{
	struct stat st;
	char *own;
	bool is_recording;

	if (strncmp(name, "snapshot-", 9) || name[9 + strspn(name + 9, "0123456789")] ||
	    asprintf(&own, "%s/.duet", path) < 0)
		return false;
	is_recording = !stat(own, &st);
	free(own);
	return is_recording;
}

/* A stream.  Of a recording that is being written the file may have been packed since we listed it. */
static int add_file(struct trace *t, struct source *src, const char *path, struct diag *d)
{
	char *packed;
	int err;

	if (is_file(path))
		return add_stream(t, src, path, d);
	if (asprintf(&packed, "%s" PACKED_SUFFIX, path) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	err = is_file(packed) ? add_stream(t, src, packed, d) : 0;
	free(packed);
	return err;
}

static int open_entry(struct trace *t, struct source *src, const char *path, const char *name, int depth,
		      struct diag *d)
{
	char *whole;
	int err = 0;

	if (asprintf(&whole, "%s/%s", path, name) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	if (is_directory(whole)) {
		if (strcmp(name, "index") && !is_other_recording(path, name) && depth < DIRECTORIES_DEEP)
			err = open_directory(t, whole, depth + 1, d);
	} else if (src && strcmp(name, "metadata") && strcmp(name, "metadata" PACKED_SUFFIX)) {
		err = add_file(t, src, whole, d);
	}
	free(whole);
	return err;
}

static int open_path(struct trace *t, const char *path, struct diag *d)
{
	uint32_t before = t->n_sources;
	size_t n = strlen(path);
	char *trimmed;
	int err;

	if (!is_directory(path))
		return diag_fail(d, -ENOTDIR, "%s: %s", path,
				 is_file(path) ? "not a directory; a trace is the directory a recording made" :
						 "no such directory");
	while (n > 1 && path[n - 1] == '/')
		n--;
	trimmed = strndup(path, n);
	if (!trimmed)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	err = open_directory(t, trimmed, 0, d);
	free(trimmed);
	if (!err && t->n_sources == before && t->unreadable.text[0])
		err = diag_fail(d, -EINVAL, "%s", t->unreadable.text);
	if (!err && t->unreadable.text[0] && t->options.warn)
		t->options.warn(t->options.context, t->unreadable.text);
	t->unreadable.text[0] = 0;
	if (!err && t->n_sources == before)
		err = diag_fail(d, -ENOENT, "%s: no trace here: no file `metadata` in it or below it", path);
	return err;
}

/* ---------------------------------------------------------------- several hosts */

/* A host's clocks begin anew with each boot. */
static bool is_same_host(const struct trace_source *a, const struct trace_source *b)
{
	const struct ctf_clock *x = ctf_meta_clock(a->meta, NULL), *y = ctf_meta_clock(b->meta, NULL);

	return !strcmp(a->hostname, b->hostname) &&
	       (!x || !y || !x->has_uuid || !y->has_uuid || !memcmp(x->uuid, y->uuid, sizeof x->uuid));
}

static void say_host(struct trace *t, const struct trace_source *s, const struct hosts_shift *shift, bool is_known)
{
	const char *name = *s->hostname ? s->hostname : s->path;

	text_addf(&t->hosts, t->hosts.size ? "; " : "times of several hosts by their relay's clock: ");
	if (is_known)
		text_addf(&t->hosts, "%.64s moved by %+.6f s, to within %.6f s", name,
			  (double)shift->shift_ns / 1e9, (double)shift->error_ns / 1e9);
	else
		text_addf(&t->hosts, "%.64s as recorded, no relay knows its clock", name);
}

/* Whether anything is known.  Said once for the two halves of a recording, which come one after the other. */
static bool shift_source(struct trace *t, uint32_t number, struct hosts_shift *before)
{
	struct trace_source *s = &t->sources[number]->public;
	const struct ctf_clock *c = ctf_meta_clock(s->meta, NULL);
	struct hosts_shift shift = { 0 };
	bool is_known = c && c->freq == 1000000000 &&
			hosts_read(s->path, (int64_t)((uint64_t)c->offset_s * 1000000000u + (uint64_t)c->offset),
				   &shift);

	s->shift_ns = shift.shift_ns;
	if (!number || !is_same_host(s, &t->sources[number - 1]->public) ||
	    llabs(shift.shift_ns - before->shift_ns) > shift.error_ns)
		say_host(t, s, &shift, is_known);
	*before = shift;
	return is_known;
}

static void shift_streams(struct trace *t)
{
	for (uint32_t i = 0; i < t->n_streams; i++) {
		struct stream *s = t->streams[i];
		int64_t shift_ns = s->info.source->shift_ns;

		s->base_ns += (uint64_t)shift_ns;
		s->info.begin_ns = (int64_t)((uint64_t)s->info.begin_ns + (uint64_t)shift_ns);
		s->info.end_ns = (int64_t)((uint64_t)s->info.end_ns + (uint64_t)shift_ns);
	}
}

static void relate_hosts(struct trace *t)
{
	struct hosts_shift before = { 0 };
	bool several = false, any_known = false;

	for (uint32_t i = 1; i < t->n_sources; i++)
		several |= !is_same_host(&t->sources[0]->public, &t->sources[i]->public);
	for (uint32_t i = 0; i < t->n_sources && several; i++)
		any_known |= shift_source(t, i, &before);
	if (any_known)
		shift_streams(t);
	else
		text_fini(&t->hosts); /* nothing is moved: nothing to tell */
}

const char *trace_hosts(const struct trace *t)
{
	return t->hosts.bytes ? t->hosts.bytes : "";
}

int trace_open(struct trace **result, const char *const *paths, int n, const struct trace_options *o,
	       struct diag *d)
{
	struct trace *t = calloc(1, sizeof *t);
	struct diag unused;
	int err = 0;

	if (!d)
		d = &unused;
	*result = NULL;
	if (!t)
		return diag_fail(d, -ENOMEM, "no memory to open a trace");
	if (o)
		t->options = *o;
	for (int i = 0; i < n && !err; i++)
		err = open_path(t, paths[i], d);
	t->heap = err ? NULL : calloc(t->n_streams + (size_t)1, sizeof *t->heap);
	if (!err && !t->heap)
		err = diag_fail(d, -ENOMEM, "no memory to open a trace");
	if (err) {
		trace_close(t);
		return err;
	}
	relate_hosts(t);
	*result = t;
	return 0;
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
		source_close(t->sources[i]);
	free(t->streams);
	if (!t->is_part)
		free(t->sources);
	free(t->heap);
	text_fini(&t->hosts);
	free(t);
}

static void sink(struct trace *t, uint32_t i)
{
	struct stream *s = t->heap[i];

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

static void settle(struct trace *t)
{
	if (t->n_heap > 1)
		sink(t, 0);
	t->next = t->n_heap < 2 ? NULL : t->heap[1];
	if (t->n_heap > 2 && trace_is_before(t->heap[2], t->next))
		t->next = t->heap[2];
}

void trace_heap(struct trace *t)
{
	t->n_heap = 0;
	for (uint32_t i = 0; i < t->n_streams; i++)
		if (t->streams[i]->item != TRACE_END || t->streams[i]->has_failed)
			t->heap[t->n_heap++] = t->streams[i];
	for (uint32_t i = t->n_heap / 2; i-- > 0;)
		sink(t, i);
	settle(t);
}

/* The stream at the top moves on; while it stays before the next one, the heap stays as it is. */
static inline void advance(struct trace *t)
{
	struct stream *s = t->heap[0];

	stream_next(s);
	if (unlikely(s->item == TRACE_END && !s->has_failed))
		t->heap[0] = t->heap[--t->n_heap];
	else if (!t->next || trace_is_before(s, t->next))
		return;
	settle(t);
}

int trace_next(struct trace *t, struct trace_event *e, struct diag *d)
{
	struct stream *s;

	if (unlikely(t->mode != TRACE_FORWARD))
		trace_turn_forward(t);
	else if (likely(t->n_heap))
		advance(t);
	if (unlikely(!t->n_heap))
		return TRACE_END;
	s = t->heap[0];
	if (unlikely(s->item == TRACE_END)) {
		t->n_heap = 0;
		return diag_fail(d, -EINVAL, "%s", s->damage.text);
	}
	return trace_tell(s, e);
}

void trace_skip_to(struct trace *t, int64_t time_ns)
{
	for (uint32_t i = 0; i < t->n_streams && t->mode == TRACE_START; i++)
		stream_skip_to(t->streams[i], time_ns);
}

uint32_t trace_n_sources(const struct trace *t)
{
	return t->n_sources;
}

const struct trace_source *trace_source(const struct trace *t, uint32_t i)
{
	return &t->sources[i]->public;
}

uint32_t trace_n_streams(const struct trace *t)
{
	return t->n_streams;
}

const struct trace_stream_info *trace_stream(const struct trace *t, uint32_t i)
{
	return &t->streams[i]->info;
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
