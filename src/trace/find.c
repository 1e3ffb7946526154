/* SPDX-License-Identifier: MIT */
/*
 * trace/find.c - finds the traces in a directory, and opens their streams.
 *
 * While recordings are followed it runs again, and adds traces and streams that are not known yet.
 * A trace chunk that retention removes meanwhile is no error then.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/internal.h"

enum { DIRECTORIES_DEEP = 16, SOURCES_MAX = 65536 };

static int append(void *list, uint32_t *n, void *item)
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

void trace_source_close(struct source *s)
{
	ctf_meta_close(&s->meta);
	free((void *)s->public.path);
	free(s);
}

static size_t plain_length(const char *path)
{
	return strlen(path) - (compressed_is_name(path) ? sizeof COMPRESSED_SUFFIX - 1 : 0);
}

/* Whether the stream is open, perhaps from its file before compression. */
static bool has_stream(const struct trace *t, const struct source *src, const char *path)
{
	size_t n = plain_length(path);

	for (uint32_t i = 0; i < t->n_streams; i++) {
		const struct trace_stream_info *s = &t->streams[i]->info;

		if (s->source == &src->public && plain_length(s->path) == n &&
		    !memcmp(s->path, path, n))
			return true;
	}
	return false;
}

void trace_shift_stream(struct stream *s)
{
	int64_t shift_ns = s->info.source->shift_ns;

	s->base_ns += (uint64_t)shift_ns;
	s->info.begin_ns = (int64_t)((uint64_t)s->info.begin_ns + (uint64_t)shift_ns);
	s->info.end_ns = (int64_t)((uint64_t)s->info.end_ns + (uint64_t)shift_ns);
}

static int add_stream(struct trace *t, struct source *src, const char *path, struct diag *d)
{
	struct stream *s;
	int err;

	if (t->follow && has_stream(t, src, path))
		return 0;
	s = malloc(sizeof *s);
	if (!s)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	err = stream_open(s, &src->public, path, &t->options,
			  refresh_grows(t, src) && !compressed_is_name(path), d);
	if (!err)
		trace_shift_stream(s);
	if (!err && s->has_failed) {
		err = diag_fail(d, -EINVAL, "%s", s->damage.text);
		stream_close(s);
	}
	if (err) {
		free(s);
		return err;
	}
	s->info.number = t->n_streams;
	err = append(&t->streams, &t->n_streams, s);
	if (err) {
		stream_close(s);
		free(s);
		return diag_fail(d, err, "no memory for %s", path);
	}
	return 0;
}

static void describe_source(struct trace *t, struct source *s)
{
	s->public.meta = &s->meta;
	s->public.domain = domain_of(&s->meta);
	s->public.hostname = ctf_meta_env(&s->meta, "hostname");
	if (!s->public.hostname)
		s->public.hostname = "";
	s->public.number = t->n_sources - 1;
	for (struct ctf_event_class *c = s->meta.events; c; c = c->next)
		c->number = t->n_classes++;
}

/* Returns 0; 1 if the metadata is damaged but usable, with the damage in @d; or -errno: -EAGAIN if
 * it may be complete soon. */
static int read_metadata(struct trace *t, struct source *s, struct diag *d)
{
	char *name;
	int err;

	if (asprintf(&name, "%s/metadata", s->public.path) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", s->public.path);
	err = t->follow ? refresh_adopt(t, s) : 0;
	if (!err && refresh_grows(t, s)) {
		err = ctf_meta_append(&s->meta, name, d);
		err = err > 0 ? 0 : err;
	} else if (!err) {
		err = ctf_meta_open(&s->meta, name, d);
	}
	free(name);
	return err;
}

static int source_open(struct trace *t, const char *path, struct source **result, struct diag *d)
{
	struct source *s = calloc(1, sizeof *s);
	int err;

	if (!s || !(s->public.path = strdup(path))) {
		free(s);
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	}
	err = read_metadata(t, s, d);
	if (err > 0 && !t->options.is_strict) {
		t->n_damages++;
		if (t->options.warn)
			t->options.warn(t->options.context, d->text);
		err = 0;
	}
	if (!err && append(&t->sources, &t->n_sources, s))
		err = diag_fail(d, -ENOMEM, "no memory for %s", path);
	if (err) {
		trace_source_close(s);
		return err > 0 ? -EINVAL : err;
	}
	describe_source(t, s);
	*result = s;
	return 0;
}

/*
 * Something that was listed is gone: a rotating session removes its oldest trace chunks.  A follower sees
 * that at the next round.  Others begin anew (trace_open): so far a part of it may be open.
 */
static int vanished(struct trace *t, const char *path, struct diag *d)
{
	if (t->follow)
		return 0;
	t->has_vanished = true;
	return diag_fail(d, -ENOENT, "%s: removed while it was opened", path);
}

/* One unreadable trace does not prevent reading the others: it is reported and skipped. */
static int source_open_or_skip(struct trace *t, const char *path, struct source **src,
			       struct diag *d)
{
	int err = source_open(t, path, src, d);

	if (err == -EAGAIN)
		return 0; /* just begun: trace_refresh() looks again */
	if (err == -ENOENT)
		return vanished(t, path, d);
	if (!err || err == -ENOMEM || t->options.is_strict)
		return err;
	t->n_damages++;
	/* The first one is reported if another trace can be read; else it is the error. */
	if (!t->unreadable.text[0])
		t->unreadable = *d;
	else if (t->options.warn)
		t->options.warn(t->options.context, d->text);
	return 0;
}

/* What lies at @path itself: links in a recording are not followed, else it could name files that are
 * none of its own, or itself, again and again. */
static mode_t type_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode & S_IFMT;
}

static bool is_file(const char *path)
{
	return type_of(path) == S_IFREG;
}

/* The first one is reported; when a recording is followed it is seen again and again. */
static int refuse_link(struct trace *t, const char *path, struct diag *d)
{
	if (t->has_link)
		return 0;
	t->has_link = true;
	t->n_damages++;
	diag_fail(d, -ELOOP,
		  "%s: a link, which is not followed, nor are others in this recording\n"
		  "  all else is shown; if it leads to another recording, name that as well",
		  path);
	if (t->options.is_strict)
		return -ELOOP;
	if (t->options.warn)
		t->options.warn(t->options.context, d->text);
	return 0;
}

/* Whether the compressed file exists: ctf/compressed/compressed.h. */
static bool is_packed(const char *path)
{
	char *packed;
	bool is_it;

	if (asprintf(&packed, "%s" COMPRESSED_SUFFIX, path) < 0)
		return false;
	is_it = is_file(packed);
	free(packed);
	return is_it;
}

static int not_hidden(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int open_entry(struct trace *t, struct source *src, const char *path, const char *name,
		      int depth, struct diag *d);

/* Whether entry @i is the compressed copy of a plain file in the list; the plain file is used then.
 * Names sorted between the two begin with the same bytes. */
static bool has_plain_twin(struct dirent **list, int i)
{
	const char *name = list[i]->d_name;
	size_t n = strlen(name) - (compressed_is_name(name) ? sizeof COMPRESSED_SUFFIX - 1 : 0);

	while (compressed_is_name(name) && i-- > 0 && !strncmp(list[i]->d_name, name, n))
		if (!list[i]->d_name[n])
			return true;
	return false;
}

static struct source *find_source(const struct trace *t, const char *path)
{
	for (uint32_t i = 0; i < t->n_sources && t->follow; i++)
		if (!strcmp(t->sources[i]->public.path, path))
			return t->sources[i];
	return NULL;
}

/* Entries are read by name, so that the order of streams, and of events at equal times, is
 * reproducible. */
static int open_directory(struct trace *t, const char *path, int depth, struct diag *d)
{
	struct source *src = find_source(t, path);
	struct dirent **list;
	char *meta;
	int err = 0, n;

	if (asprintf(&meta, "%s/metadata", path) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	if (!src && (is_file(meta) || is_packed(meta)))
		err = source_open_or_skip(t, path, &src, d);
	free(meta);
	if (err)
		return err;
	n = scandir(path, &list, not_hidden, alphasort);
	if (n < 0)
		return errno == ENOENT ? vanished(t, path, d)
				       : diag_errno(d, "cannot read the directory %s", path);
	for (int i = 0; i < n; i++) {
		if (!err && !has_plain_twin(list, i))
			err = open_entry(t, src, path, list[i]->d_name, depth, d);
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return err;
}

/* A snapshot is in the directory of the recording it was taken of, and holds the same events. */
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

/* Adds a stream.  In a growing recording the file may have been compressed or removed since it was
 * listed. */
static int add_file(struct trace *t, struct source *src, const char *path, struct diag *d)
{
	mode_t type = type_of(path);
	char *packed;
	int err;

	if (type != S_IFREG && (type || errno != ENOENT))
		return 0;
	err = type ? add_stream(t, src, path, d) : -ENOENT;
	if (err != -ENOENT)
		return err;
	if (asprintf(&packed, "%s" COMPRESSED_SUFFIX, path) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	err = is_file(packed) ? add_stream(t, src, packed, d) : -ENOENT;
	free(packed);
	return err == -ENOENT ? vanished(t, path, d) : err;
}

static int open_entry(struct trace *t, struct source *src, const char *path, const char *name,
		      int depth, struct diag *d)
{
	mode_t type;
	char *entry;
	int err = 0;

	if (asprintf(&entry, "%s/%s", path, name) < 0)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	type = type_of(entry);
	if (type == S_IFLNK) {
		err = refuse_link(t, entry, d);
	} else if (type == S_IFDIR) {
		if (strcmp(name, "index") && !is_other_recording(path, name) &&
		    !refresh_is_forgotten(t, path, name) && depth < DIRECTORIES_DEEP)
			err = open_directory(t, entry, depth + 1, d);
	} else if (src && strcmp(name, "metadata") && strcmp(name, "metadata" COMPRESSED_SUFFIX)) {
		err = add_file(t, src, entry, d);
	}
	free(entry);
	return err;
}

int trace_find(struct trace *t, const char *path, struct diag *d)
{
	return open_directory(t, path, 0, d);
}

/* Adds recordings whose progress is known but whose traces are not there yet: files from another
 * host arrive in any order. */
static int expect_recordings(struct trace *t, const char *path, int depth, struct diag *d)
{
	struct dirent **list;
	char *inside;
	int err = 0, n = scandir(path, &list, not_hidden, alphasort);

	if (asprintf(&inside, "%s/.duet/clock", path) < 0)
		inside = NULL;
	else if (is_file(inside))
		err = refresh_expect(t, path);
	free(inside);
	for (int i = 0; i < n; i++) {
		if (!err && depth < DIRECTORIES_DEEP &&
		    asprintf(&inside, "%s/%s", path, list[i]->d_name) > 0) {
			err = type_of(inside) == S_IFDIR
				      ? expect_recordings(t, inside, depth + 1, d)
				      : 0;
			free(inside);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return err ? diag_fail(d, err, "no memory for %s", path) : 0;
}

int trace_open_path(struct trace *t, const char *path, struct diag *d)
{
	uint32_t before = t->n_sources;
	size_t n = strlen(path);
	struct stat st;
	char *trimmed;
	int err;

	if (stat(path, &st) ||
	    !S_ISDIR(st.st_mode)) /* this one may be a link: the user has named it */
		return diag_fail(
			d, -ENOTDIR, "%s: %s", path,
			is_file(path) ? "not a directory; a trace is the directory a recording made"
				      : "no such directory");
	while (n > 1 && path[n - 1] == '/')
		n--;
	trimmed = strndup(path, n);
	if (!trimmed)
		return diag_fail(d, -ENOMEM, "no memory for %s", path);
	err = open_directory(t, trimmed, 0, d);
	if (!err && t->n_sources == before && t->follow && !trace_may_grow(t))
		err = expect_recordings(t, trimmed, 0, d);
	free(trimmed);
	if (!err && t->n_sources == before && t->unreadable.text[0])
		err = diag_fail(d, -EINVAL, "%s", t->unreadable.text);
	if (!err && t->unreadable.text[0] && t->options.warn)
		t->options.warn(t->options.context, t->unreadable.text);
	t->unreadable.text[0] = 0;
	if (!err && t->n_sources == before && !trace_may_grow(t))
		err = diag_fail(d, -ENOENT,
				"%s: no trace here: no file `metadata` in it or below it", path);
	return err;
}
