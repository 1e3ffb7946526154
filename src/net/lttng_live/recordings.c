/* SPDX-License-Identifier: MIT */
/* net/lttng_live/recordings.c - finds recordings and their streams, and reads packets, indexes and
 * metadata. */
#include "net/lttng_live/recordings.h"

#include <assert.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "base/monotonic.h"

enum { RECORDINGS_MAX = 1024, DEEP_MAX = 8 };
#define UPDATE_NS 20000000ull
#define SCAN_NS 500000000ull
#define MARGIN_NS 20000000ull /* for writers that were interrupted: see trace/refresh.c */

/* Makes room for one more element. */
static bool grow(void *list_streams, uint32_t n, uint32_t most, size_t size)
{
	void *bigger;

	if (n >= most)
		return false;
	if (n & (n - 1)) /* the capacity is the next power of two */
		return true;
	bigger = realloc(*(void **)list_streams, (n ? 2 * (size_t)n : 1) * size);
	if (bigger)
		*(void **)list_streams = bigger;
	return bigger;
}

int live_files_open(struct live_files *f, const char *const *roots, int n)
{
	*f = (struct live_files){ .roots = calloc((size_t)n + 1, sizeof *f->roots) };
	gethostname(f->host, sizeof f->host - 1);
	for (int i = 0; f->roots && i < n; i++) {
		f->roots[i] = strdup(roots[i]);
		if (!f->roots[i])
			break;
		for (size_t k = strlen(f->roots[i]); k > 1 && f->roots[i][k - 1] == '/'; k--)
			f->roots[i][k - 1] = 0;
		f->n_roots++;
	}
	if (f->n_roots == n)
		return 0;
	live_files_close(f);
	return -ENOMEM;
}

void live_files_close(struct live_files *f)
{
	for (int i = 0; i < f->n_roots; i++)
		free(f->roots[i]);
	for (uint32_t i = 0; i < f->n_recordings; i++)
		free(f->recordings[i].path);
	for (uint32_t i = 0; i < f->n_traces; i++)
		free(f->traces[i].path);
	for (uint32_t i = 0; i < f->n_streams; i++)
		free(f->streams[i].name);
	free(f->roots);
	free(f->recordings);
	free(f->traces);
	free(f->streams);
	*f = (struct live_files){ 0 };
}

/* ---------------------------------------------------------------- recordings */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A relay stores recordings in HOST/NAME; others were made on this machine. */
static void name_recording(const struct live_files *f, struct live_recording *r, bool is_below)
{
	char parent[PATH_MAX];

	snprintf(r->name, sizeof r->name, "%s", last_part(r->path));
	snprintf(r->host, sizeof r->host, "%s", f->host);
	if (!is_below)
		return;
	snprintf(parent, sizeof parent, "%.*s",
		 (int)(strlen(r->path) - strlen(last_part(r->path)) - 1), r->path);
	snprintf(r->host, sizeof r->host, "%.63s", last_part(parent));
}

static bool is_recording(const char *path)
{
	return progress_find(path) == (int)strlen(path);
}

static void add_recording(struct live_files *f, const char *path, bool is_below)
{
	struct live_recording r = { .path = NULL };

	for (uint32_t i = 0; i < f->n_recordings; i++)
		if (!strcmp(f->recordings[i].path, path))
			return;
	r.path = strdup(path);
	if (!r.path || !grow(&f->recordings, f->n_recordings, RECORDINGS_MAX, sizeof r)) {
		free(r.path);
		return;
	}
	name_recording(f, &r, is_below);
	f->recordings[f->n_recordings++] = r;
}

/* Searches @depth levels of directories, as a relay makes them. */
static void search_directory(struct live_files *f, const char *path, int depth)
{
	DIR *dir;
	struct dirent *e;

	if (is_recording(path))
		return add_recording(f, path, depth < 2);
	dir = depth ? opendir(path) : NULL;
	while (dir && (e = readdir(dir))) {
		char below[PATH_MAX];

		if (*e->d_name != '.' &&
		    snprintf(below, sizeof below, "%s/%s", path, e->d_name) < (int)sizeof below)
			search_directory(f, below, depth - 1);
	}
	if (dir)
		closedir(dir);
}

void live_files_scan(struct live_files *f)
{
	uint64_t now_ns = monotonic_ns();

	if (f->scanned_ns && now_ns - f->scanned_ns < SCAN_NS)
		return;
	f->scanned_ns = now_ns;
	for (int i = 0; i < f->n_roots; i++)
		search_directory(f, f->roots[i], 2);
	for (uint32_t i = 0; i < f->n_recordings; i++)
		live_files_update(f, i);
}

/* ---------------------------------------------------------------- traces and streams */

static bool add_stream(struct live_files *f, uint32_t trace, const char *name)
{
	struct live_stream s = { f->traces[trace].recording, trace, name ? strdup(name) : NULL };

	if ((name && !s.name) || !grow(&f->streams, f->n_streams, LIVE_STREAMS_MAX, sizeof s)) {
		free(s.name);
		return false;
	}
	f->streams[f->n_streams++] = s;
	f->recordings[s.recording].n_streams++;
	return true;
}

static bool has_stream(const struct live_files *f, uint32_t trace, const char *name)
{
	for (uint32_t i = 0; i < f->n_streams; i++)
		if (f->streams[i].trace == trace && f->streams[i].name &&
		    !strcmp(f->streams[i].name, name))
			return true;
	return false;
}

/* Returns its number, or UINT32_MAX.  The metadata is its first stream.  A trace without a packet
 * is not listed: Babeltrace 2 drops a trace that has only metadata, and never takes it up again. */
static uint32_t find_or_add_trace(struct live_files *f, uint32_t recording, const char *path)
{
	size_t base = strlen(f->recordings[recording].path);
	struct live_trace t = { .recording = recording };

	for (uint32_t i = 0; i < f->n_traces; i++)
		if (f->traces[i].recording == recording && !strcmp(f->traces[i].path, path))
			return i;
	t.path = strdup(path);
	if (!t.path || !grow(&f->traces, f->n_traces, LIVE_STREAMS_MAX, sizeof t)) {
		free(t.path);
		return UINT32_MAX;
	}
	t.below = t.path + (t.path[base] ? base + 1 : base);
	f->traces[f->n_traces] = t;
	if (!add_stream(f, f->n_traces, NULL)) {
		free(t.path);
		return UINT32_MAX;
	}
	return f->n_traces++;
}

static bool is_file(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path &&
	       !lstat(path, &st) && S_ISREG(st.st_mode);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

/* A file is a stream if its index names a packet. */
static bool is_stream(const char *dir, const char *name)
{
	return strlen(name) < LIVE_NAME_MAX && progress_index_end(dir, name) > 0;
}

static void list_streams(struct live_files *f, uint32_t recording, const char *path, int depth)
{
	bool is_trace = is_file(path, "metadata");
	DIR *dir = opendir(path);
	struct dirent *e;
	char below[PATH_MAX];

	while (dir && (e = readdir(dir))) {
		if (*e->d_name == '.' || !strcmp(e->d_name, "index") ||
		    !strncmp(e->d_name, "snapshot-", 9) ||
		    snprintf(below, sizeof below, "%s/%s", path, e->d_name) >= (int)sizeof below)
			continue;
		if (is_directory(below)) {
			if (depth)
				list_streams(f, recording, below, depth - 1);
		} else if (is_trace && is_stream(path, e->d_name)) {
			uint32_t trace = find_or_add_trace(f, recording, path);

			if (trace != UINT32_MAX && !has_stream(f, trace, e->d_name))
				add_stream(f, trace, e->d_name);
		}
	}
	if (dir)
		closedir(dir);
}

void live_files_update(struct live_files *f, uint32_t number)
{
	struct live_recording *r = &f->recordings[number];
	uint64_t now_ns = monotonic_ns(), before_ns = r->progress.written_ns;
	bool is_first = !r->checked_ns;

	assert(number < f->n_recordings);
	if (!is_first &&
	    (now_ns - r->checked_ns < UPDATE_NS || r->progress.state != PROGRESS_GROWS))
		return;
	r->checked_ns = now_ns;
	progress_read(r->path, &r->progress);
	if (is_first || r->progress.written_ns > before_ns || r->progress.state != PROGRESS_GROWS)
		list_streams(f, number, r->path, DEEP_MAX);
	if (r->progress.written_ns > MARGIN_NS)
		r->known_ns = r->progress.written_ns - MARGIN_NS;
}

/* ---------------------------------------------------------------- bytes */

static int open_file(const struct live_files *f, uint32_t stream, bool is_index)
{
	const struct live_stream *s = &f->streams[stream];
	const char *dir = f->traces[s->trace].path, *name = s->name ? s->name : "metadata";
	char path[PATH_MAX];
	struct stat st;
	int fd;

	assert(stream < f->n_streams && s->trace < f->n_traces);
	if (snprintf(path, sizeof path, is_index ? "%s/index/%s.idx" : "%s/%s", dir, name) >=
	    (int)sizeof path)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -EINVAL;
	}
	return fd < 0 ? -errno : fd;
}

enum { HEAD = sizeof(struct abi_ctf_index_header), ENTRY = sizeof(struct abi_ctf_index_entry) };

uint64_t live_files_n_packets(const struct live_files *f, uint32_t stream)
{
	int fd = open_file(f, stream, true);
	struct stat st = { .st_size = 0 };

	if (fd < 0)
		return 0;
	fstat(fd, &st);
	close(fd);
	return st.st_size < HEAD ? 0 : (uint64_t)(st.st_size - HEAD) / ENTRY;
}

bool live_files_packet(const struct live_files *f, uint32_t stream, uint64_t i,
		       struct live_packet *p)
{
	struct abi_ctf_index_entry e;
	int fd = i < INT64_MAX / ENTRY / 2 ? open_file(f, stream, true) : -1;
	ssize_t n = fd < 0 ? 0 : pread(fd, &e, sizeof e, (off_t)(HEAD + i * ENTRY));

	if (fd >= 0)
		close(fd);
	if (n != ENTRY)
		return false;
	*p = (struct live_packet){ .offset = be64toh(e.offset),
				   .bytes = be64toh(e.packet_bits) / 8,
				   .content_bits = be64toh(e.content_bits),
				   .begin_ns = be64toh(e.begin_ns),
				   .end_ns = be64toh(e.end_ns),
				   .discarded = be64toh(e.discarded),
				   .class_id = be64toh(e.stream_id) };
	return p->bytes >= sizeof(struct abi_ctf_packet) && p->bytes <= LIVE_PACKET_MAX &&
	       p->content_bits <= p->bytes * 8 && p->offset < INT64_MAX / 2 &&
	       p->begin_ns <= p->end_ns;
}

int live_files_read(const struct live_files *f, uint32_t stream, uint64_t offset, uint8_t *to,
		    uint32_t n)
{
	int fd = open_file(f, stream, false);
	uint32_t done = 0;
	ssize_t got = fd < 0 ? fd : 1;

	while (fd >= 0 && done < n &&
	       (got = pread(fd, to + done, n - done, (off_t)(offset + done))) > 0)
		done += (uint32_t)got;
	if (fd >= 0)
		close(fd);
	return done == n ? 0 : fd < 0 ? fd : -EIO;
}

uint64_t live_files_metadata_size(const struct live_files *f, uint32_t stream)
{
	int fd = open_file(f, stream, false);
	struct stat st = { .st_size = 0 };

	if (fd < 0)
		return 0;
	fstat(fd, &st);
	close(fd);
	return (uint64_t)st.st_size;
}

static bool parse_uuid(const char *text, uint8_t uuid[16])
{
	const char *at = strstr(text, "uuid = \"");
	unsigned byte;

	for (int i = 0; at && i < 16; i++) {
		at += i ? 2 : 8;
		at += *at == '-';
		if (sscanf(at, "%2x", &byte) != 1)
			return false;
		uuid[i] = (uint8_t)byte;
	}
	return at;
}

/* The size up to the last complete block, in the form that ctf/write/writer.h writes; types
 * belong to the head of the metadata. */
static size_t size_of_blocks(const char *text, size_t size)
{
	static const char block_end[] = "\n};\n\n";

	for (size_t n = sizeof block_end - 1; size >= n; size--)
		if (!memcmp(text + size - n, block_end, n))
			return size;
	return 0;
}

long live_files_metadata(struct live_files *f, uint32_t stream, uint64_t from, uint32_t most,
			 char **text)
{
	struct live_trace *t = &f->traces[f->streams[stream].trace];
	int fd = open_file(f, stream, false);
	ssize_t n;

	*text = NULL;
	if (fd < 0)
		return fd;
	*text = malloc(most + (size_t)1);
	n = *text && from < INT64_MAX ? pread(fd, *text, most, (off_t)from) : -1;
	close(fd);
	if (n > 0) {
		(*text)[n] = 0;
		if (!t->has_uuid)
			t->has_uuid = parse_uuid(*text, t->uuid);
		n = (ssize_t)size_of_blocks(*text, (size_t)n);
	}
	if (n <= 0) {
		free(*text);
		*text = NULL;
	}
	return n < 0 ? -EIO : (long)n;
}
