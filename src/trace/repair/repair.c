/* SPDX-License-Identifier: MIT */
/*
 * trace/repair/repair.c - repairs directories, metadata and files; repair_stream.c repairs packets.
 *
 * All output goes into a directory beside the target, which is renamed at the end.  So the target
 * is complete or does not exist.
 */
#include "trace/repair/repair.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/compressed/compressed.h"
#include "ctf/decode/public.h"
#include "trace/repair/repair_stream.h"
#include "trace/trace.h"

static int create(const char *path, struct diag *d)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return fd < 0 ? diag_errno(d, "cannot create %s", path) : fd;
}

static int finish(int fd, const char *path, int err, struct diag *d)
{
	if (close(fd) && !err)
		err = -errno;
	if (err == -ECANCELED)
		return diag_fail(d, err, "interrupted: the unfinished copy was removed");
	return err ? diag_fail(d, err, "cannot write %s: %s", path, strerror(-err)) : 0;
}

static int compare_gaps(const void *a, const void *b)
{
	const struct ctf_gap *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int compare_events(const void *a, const void *b)
{
	const struct ctf_event_class *x = *(struct ctf_event_class *const *)a,
				     *y = *(struct ctf_event_class *const *)b;

	if (x->stream_id != y->stream_id)
		return x->stream_id < y->stream_id ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Two events with one number: one of them was damaged.  Readers use the first, or refuse both: the
 * later ones are left out. */
static void skip_duplicates(struct ctf_meta *m)
{
	const struct ctf_event_class **all = calloc(m->n_events + 1, sizeof *all);
	uint32_t n = 0;

	if (!all)
		return;
	for (const struct ctf_event_class *e = m->events; e && n < m->n_events; e = e->next)
		all[n++] = e;
	qsort(all, n, sizeof *all, compare_events);
	for (uint32_t i = 1; i < n; i++)
		if (all[i]->stream_id == all[i - 1]->stream_id && all[i]->id == all[i - 1]->id &&
		    all[i]->to > all[i]->from)
			ctf_meta_add_gap(m, all[i]->from, all[i]->to);
	free(all);
}

static bool has_stream(const struct ctf_meta *m, const struct ctf_event_class *e)
{
	return ctf_meta_stream(m, e->stream_id) || (!e->has_stream_id && m->n_streams == 1);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether two fields of a struct, here or deeper, have one name, less the underscore that readers remove. */
static bool has_twins(const struct ctf_type *t)
{
	const char **names;
	uint32_t n = 0;
	bool found = false;

	if (!t)
		return false;
	if (t->kind == CTF_ARRAY || t->kind == CTF_SEQUENCE)
		return has_twins(t->of);
	if ((t->kind != CTF_STRUCT && t->kind != CTF_VARIANT) || !t->n_members)
		return false;
	names = calloc(t->n_members, sizeof *names);
	for (uint32_t i = 0; i < t->n_members && names; i++)
		if (t->members[i].name)
			names[n++] = t->members[i].name + (*t->members[i].name == '_');
	if (n)
		qsort(names, n, sizeof *names, compare_names);
	for (uint32_t i = 1; i < n && !found; i++)
		found = !strcmp(names[i], names[i - 1]);
	free(names);
	for (uint32_t i = 0; i < t->n_members && !found; i++)
		found = has_twins(t->members[i].type);
	return found;
}

/*
 * Leaves out events of streams with a damaged description, and events that cannot be decoded: as a
 * length is named that does not exist, some readers refuse all of the metadata. Two fields of one
 * name end Babeltrace 2.0.4 by a failed assertion.
 */
static void skip_useless(struct ctf_meta *m)
{
	struct diag why = { 0 };

	ctf_meta_link(m,
		      &why); /* what is wrong with the rest is reported when the result is read */
	for (struct ctf_event_class *e = m->events; e; e = e->next)
		if ((!has_stream(m, e) || e->error || has_twins(e->context) ||
		     has_twins(e->fields)) &&
		    e->to > e->from)
			ctf_meta_add_gap(m, e->from, e->to);
	skip_duplicates(m);
	if (m->n_gaps)
		qsort(m->gaps, m->n_gaps, sizeof *m->gaps, compare_gaps);
}

/*
 * The description of a clock is damaged.  Fields that refer to it use the first clock there is, as
 * our reader does, or count nanoseconds from 1970.
 */
static int write_clock(int fd, const struct ctf_meta *m, const struct repair_options *o,
		       const char *path)
{
	const struct ctf_clock *c = ctf_meta_clock(m, NULL);
	char text[1024];
	int n;

	if (!m->missing_clock || ctf_meta_clock(m, m->missing_clock))
		return 0;
	snprintf(text, sizeof text,
		 "%.400s: clock `%.100s` is damaged\n  its times are those of %s", path,
		 m->missing_clock, c ? "another" : "a clock of nanoseconds that began in 1970");
	o->warn(o->context, text);
	n = snprintf(text, sizeof text,
		     "\nclock {\n\tname = %.100s;\n\tfreq = %" PRIu64 ";\n\toffset_s = %" PRId64
		     ";\n\toffset = %" PRId64 ";\n};\n",
		     m->missing_clock, c ? c->freq : 1000000000, c ? c->offset_s : 0,
		     c ? c->offset : 0);
	return io_write(fd, text, (size_t)n);
}

/* Writes the text from @at to @to.  If the trace block has no version, it is inserted before the
 * block's last brace, at @brace. */
static int write_to(int fd, const char *text, size_t at, size_t to, size_t brace,
		    const struct ctf_meta *m)
{
	char version[48];
	int n = snprintf(version, sizeof version, "%s%s", m->has_major ? "" : "\tmajor = 1;\n",
			 m->has_minor ? "" : "\tminor = 8;\n"),
	    err;

	if (at > to)
		return 0;
	if (!n || !brace || at > brace || to <= brace)
		return io_write(fd, text + at, to - at);
	err = io_write(fd, text + at, brace - at);
	if (!err)
		err = io_write(fd, version, (size_t)n);
	return err ? err : io_write(fd, text + brace, to - brace);
}

static int write_parts(int fd, const char *text, size_t size, const struct ctf_meta *m,
		       const struct repair_options *o, const char *path)
{
	static const char first[] = "/* CTF 1.8 */"; /* some readers identify metadata by it */
	bool is_json = size && text[0] == 0x1e;
	size_t at = size >= sizeof first && !memcmp(text, first, sizeof first - 1)
			    ? sizeof first - 1
			    : 0,
	       brace = m->trace_to;
	int err = is_json ? 0 : io_write(fd, first, sizeof first - 1);

	if (!err && !is_json)
		err = write_clock(fd, m, o, path);
	while (brace && text[brace] != '}')
		brace--;
	for (uint32_t i = 0; i < m->n_gaps && !err; i++) {
		err = write_to(fd, text, at, m->gaps[i].from, brace, m);
		at = m->gaps[i].to > at ? m->gaps[i].to : at;
	}
	return err ? err : write_to(fd, text, at, size, brace, m);
}

/* Writes the sound part of @from/metadata to @to/metadata, and parses that into @m. */
static int repair_metadata(const char *from, const char *to, struct ctf_meta *m,
			   const struct repair_options *o, struct repaired *r, struct diag *d)
{
	char old[4096], new[4096], *text;
	bool is_cut;
	size_t size;
	int err, fd;

	if (snprintf(old, sizeof old, "%s/metadata", from) >= (int)sizeof old ||
	    snprintf(new, sizeof new, "%s/metadata", to) >= (int)sizeof new)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", from);
	err = ctf_meta_text(old, &text, &size, &is_cut, d);
	if (err)
		return err;
	ctf_meta_read(m, text, size, NULL);
	skip_useless(m);
	r->n_gaps += m->n_gaps;
	fd = create(new, d);
	err = fd < 0 ? fd : finish(fd, new, write_parts(fd, text, size, m, o, old), d);
	free(text);
	ctf_meta_close(m);
	return err ? err : ctf_meta_open(m, new, d);
}

/* ---------------------------------------------------------------- directories */

static int copy_file(const char *from, const char *to, struct diag *d)
{
	int in = io_open_file(AT_FDCWD, from), out, err;

	if (in < 0)
		return 0; /* not a file that duet wrote */
	out = create(to, d);
	err = out < 0 ? 0 : io_copy(in, out, NULL);
	close(in);
	return out < 0 ? out : finish(out, to, err, d);
}

/* Copies the files of directory FROM/@name to TO/@name, which must not exist; not those below it. */
static int copy_files(const char *from, const char *to, const char *name, struct diag *d)
{
	char old[4096], new[4096];
	struct dirent *e;
	DIR *dir;
	int err = 0;

	if (snprintf(old, sizeof old, "%s/%s", from, name) >= (int)sizeof old ||
	    snprintf(new, sizeof new, "%s/%s", to, name) >= (int)sizeof new)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", from);
	dir = opendir(old);
	if (!dir || mkdir(new, 0777)) { /* nothing to copy, or copied before */
		if (dir)
			closedir(dir);
		return -EEXIST;
	}
	while (!err && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (snprintf(old, sizeof old, "%s/%s/%s", from, name, e->d_name) <
			    (int)sizeof old &&
		    snprintf(new, sizeof new, "%s/%s/%s", to, name, e->d_name) < (int)sizeof new)
			err = copy_file(old, new, d);
	}
	closedir(dir);
	return err;
}

/*
 * Copies the files duet keeps beside the traces: readings of clocks, maps of processes; calls of
 * functions and their plans.
 */
static int copy_duet_dir(const char *from, const char *to, struct diag *d)
{
	static const char *const parts[] = { ".duet", ".duet/calls", ".duet/plans" };
	int err = 0;

	for (unsigned i = 0; i < sizeof parts / sizeof *parts && !err; i++) {
		err = copy_files(from, to, parts[i], d);
		if (err == -EEXIST)
			err = 0;
	}
	return err;
}

/* Does so for every directory from the recording's down to the trace's. */
static int copy_duet_dirs(const char *root, const char *to_root, const char *below, struct diag *d)
{
	char from[4096], to[4096];
	int err = 0;

	for (size_t n = 0; !err; n += 1 + strcspn(below + n + 1, "/")) {
		if (snprintf(from, sizeof from, "%s%.*s", root, (int)n, below) >=
			    (int)sizeof from ||
		    snprintf(to, sizeof to, "%s%.*s", to_root, (int)n, below) >= (int)sizeof to)
			return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", root);
		err = copy_duet_dir(from, to, d);
		if (!below[n])
			break;
	}
	return err;
}

/* ---------------------------------------------------------------- all of it */

static int repair_one(struct stream *s, const struct ctf_meta *m, const char *to,
		      const struct repair_options *o, struct repaired *r, struct diag *d)
{
	uint64_t before = r->n_packets;
	size_t n = strlen(s->info.name) - (s->packed ? sizeof COMPRESSED_SUFFIX - 1 : 0);
	char path[4096];
	int fd, err;

	if (snprintf(path, sizeof path, "%s/%.*s", to, (int)n, s->info.name) >= (int)sizeof path)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", to);
	fd = create(path, d);
	if (fd < 0)
		return fd;
	err = finish(fd, path, repair_stream(s, m, fd, o, r), d);
	if (r->n_packets > before)
		r->n_streams++;
	else
		unlink(path);
	return err;
}

static int remove_metadata(const char *directory, struct diag *d)
{
	char path[4096 + 16];

	snprintf(path, sizeof path, "%s/metadata", directory);
	return unlink(path) ? diag_errno(d, "cannot remove %s", path) : 0;
}

static int repair_source(struct trace *t, const struct trace_source *src, const char *root,
			 const char *to_root, const struct repair_options *o, struct repaired *r,
			 struct diag *d)
{
	const char *below = src->path + strlen(root);
	uint32_t before = r->n_streams, n_streams = 0;
	struct ctf_meta meta = { 0 };
	char to[4096];
	int err;

	if (snprintf(to, sizeof to, "%s%s", to_root, below) >= (int)sizeof to)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", to_root);
	err = io_make_dirs(to);
	if (err)
		return diag_fail(d, err, "cannot make %s: %s", to, strerror(-err));
	err = copy_duet_dirs(root, to_root, below, d);
	if (!err)
		err = repair_metadata(src->path, to, &meta, o, r, d);
	for (uint32_t i = 0; i < trace_n_streams(t) && !err; i++) {
		if (trace_stream(t, i)->source != src)
			continue;
		err = repair_one(trace_stream_file(t, i), &meta, to, o, r, d);
		n_streams++;
	}
	ctf_meta_close(&meta);
	if (!err && n_streams && r->n_streams == before)
		return remove_metadata(to, d); /* readers fail on metadata without a stream */
	r->n_traces++;
	return err;
}

int repair_prepare(struct repair_target *t, const char *to, struct diag *d)
{
	size_t n = strlen(to);
	int err;

	for (; n > 1 && to[n - 1] == '/'; n--)
		;
	if (snprintf(t->path, sizeof t->path, "%.*s", (int)n, to) >= (int)sizeof t->path)
		return diag_fail(d, -ENAMETOOLONG, "%.100s...: the path is too long", to);
	if (rmdir(t->path) && errno != ENOENT)
		return diag_fail(d, -errno, "%s is not an empty directory: name another directory",
				 t->path);
	snprintf(t->work, sizeof t->work, "%s.%d.part", t->path, (int)getpid());
	err = io_make_dirs(t->work);
	return err ? diag_fail(d, err, "cannot make %s: %s", t->work, strerror(-err)) : 0;
}

void repair_drop(struct repair_target *t)
{
	if (*t->work)
		io_remove_tree(t->work);
	*t->work = 0;
}

int repair(const char *from, struct repair_target *to, const struct repair_options *o,
	   struct repaired *result, struct diag *d)
{
	struct trace_options options = { .warn = o->warn,
					 .context = o->context,
					 .reads_headers = true };
	size_t n = strlen(from);
	struct trace *t;
	char root[4096];
	int err;

	assert(o->warn && *to->work);
	*result = (struct repaired){ 0 };
	for (; n > 1 && from[n - 1] == '/'; n--)
		;
	if (snprintf(root, sizeof root, "%.*s", (int)n, from) >= (int)sizeof root)
		return diag_fail(d, -ENAMETOOLONG, "%.100s...: the path is too long", from);
	err = trace_open(&t, (const char *const[]){ root }, 1, &options, d);
	if (err)
		return err;
	if (o->begin)
		o->begin(o->context, t);
	for (uint32_t i = 0; i < trace_n_sources(t) && !err; i++)
		err = repair_source(t, trace_source(t, i), root, to->work, o, result, d);
	trace_close(t);
	if (!err && !result->n_traces)
		err = diag_fail(d, -EINVAL,
				o->is_cut ? "%s: nothing was recorded in that time"
					  : "%s: it has no undamaged packet",
				root);
	if (!err && rename(to->work, to->path))
		err = diag_errno(d, "cannot rename %s to %s", to->work, to->path);
	if (!err)
		*to->work = 0;
	return err;
}
