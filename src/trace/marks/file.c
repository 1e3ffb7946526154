/* SPDX-License-Identifier: MIT */
/*
 * trace/marks/file.c - the file of marks: reads its table, one mark of it, and writes all.
 *
 * The file is opened before the sandbox is entered, so it is overwritten in place.
 *
 *   (1) a reader holds a shared lock, a writer an exclusive one; without its lock a process leaves the file alone
 *   (2) the header is zeroes while the rest is written: an incomplete file has no header
 *   (3) a process reads a mark only while the header is the one of the table that it has; otherwise it reads the
 *       table anew
 *   (4) a process that finds marks of another one adds its own later ones to them
 *
 * A lock is held for milliseconds; a process that does not get it in LOCK_TRIES does without.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "trace/marks/internal.h"

static const char magic[8] = "duetnam";

/* ---------------------------------------------------------------- which recording */

static void add(uint64_t hash[2], const void *bytes, size_t size)
{
	for (int i = 0; i < 2; i++)
		hash[i] =
			(hash[i] ^ hash_bytes(bytes, size)) * 0x9E3779B97F4A7C15u + (uint64_t)i + 1;
}

/* The size of the file; -1: there is none. */
static int64_t add_file(uint64_t hash[2], const char *path)
{
	struct stat st = { 0 };
	int64_t about[5];

	if (stat(path, &st))
		return -1;
	about[0] = (int64_t)st.st_dev;
	about[1] = (int64_t)st.st_ino;
	about[2] = st.st_size;
	about[3] = st.st_mtim.tv_sec;
	about[4] = st.st_mtim.tv_nsec;
	add(hash, about, sizeof about);
	return st.st_size;
}

/* In the order in which they are read: numbers of hosts and streams follow it. */
bool marks_identify(const struct trace *t, uint64_t hash[2])
{
	const uint32_t n[] = { trace_n_sources(t), trace_n_streams(t) };
	char path[4096];
	bool is_mapped = true;

	hash[0] = hash[1] = 0;
	add(hash, n, sizeof n);
	for (uint32_t i = 0; i < trace_n_sources(t); i++) {
		const struct trace_source *s = trace_source(t, i);

		if ((size_t)snprintf(path, sizeof path, "%s/metadata", s->path) < sizeof path)
			add_file(hash, path);
		add(hash, &s->shift_ns, sizeof s->shift_ns);
	}
	for (uint32_t i = 0; i < trace_n_streams(t); i++) {
		const struct trace_stream_info *s = trace_stream(t, i);
		uint32_t source = s->source->number;

		add(hash, &source, sizeof source);
		is_mapped = add_file(hash, s->path) == (int64_t)s->size_bytes && is_mapped;
	}
	return is_mapped;
}

/* ---------------------------------------------------------------- reading */

enum { LOCK_TRIES = 40, LOCK_PAUSE_MS = 5 };

static bool lock(const struct marks_made *m, int how)
{
	for (int i = 0; flock(m->file.fd, how | LOCK_NB); i++) {
		if (i == LOCK_TRIES || (errno != EWOULDBLOCK && errno != EINTR))
			return false;
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return true;
}

static bool read_at(int fd, void *bytes, uint64_t size, uint64_t at)
{
	char *to = bytes;

	while (size) {
		ssize_t n = pread(fd, to, size, (off_t)at);

		if (n <= 0 && (n == 0 || errno != EINTR))
			return false;
		if (n < 0)
			continue;
		to += n;
		at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return true;
}

static uint64_t checksum_of(const struct marks_header *h, const struct marks_entry *table)
{
	struct marks_header clean = *h;
	uint64_t hash[2] = { 0, 0 };

	clean.checksum = 0;
	add(hash, &clean, sizeof clean);
	add(hash, table, h->n * sizeof *table);
	return hash[0];
}

static bool is_whole(const struct marks_header *h, uint64_t size)
{
	return h->n <= MARKS_MOST && h->every && h->every <= UINT64_MAX / 4 &&
	       h->file_bytes == size && h->table_at >= sizeof *h && h->table_at <= size &&
	       h->n * sizeof(struct marks_entry) == size - h->table_at;
}

/* The bytes of marks fill the file from the header to the table, in their order. */
static bool are_in_order(const struct marks_header *h, const struct marks_entry *table)
{
	uint64_t at = sizeof *h;

	for (uint32_t i = 0; i < h->n; i++) {
		if (table[i].at != at || table[i].size > h->table_at - at ||
		    (i && table[i].time_ns <= table[i - 1].time_ns))
			return false;
		at += table[i].size;
	}
	return at == h->table_at;
}

static void take(struct marks_made *m, const struct marks_header *h, const struct marks_entry *e)
{
	free(m->at);
	m->at = calloc(h->n + (size_t)1, sizeof *m->at);
	m->n_rooms = 0;
	if (!m->at)
		return;
	m->n_rooms = h->n + 1;
	m->every = h->every > m->every ? h->every : m->every;
	for (m->n = 0; m->n < h->n; m->n++) {
		m->at[m->n] = (struct mark){ .time_ns = e[m->n].time_ns,
					     .at = e[m->n].at,
					     .size = e[m->n].size,
					     .checksum = e[m->n].checksum };
		m->bytes += e[m->n].size;
	}
}

static const char *read_table(struct marks_made *m, uint64_t size)
{
	struct marks_entry *table;
	struct marks_header h;
	bool is_sound;

	if (size < sizeof h || !read_at(m->file.fd, &h, sizeof h, 0))
		return "it is damaged";
	m->seen = h;
	/* A file of something else is not written over. */
	if (memcmp(h.magic, magic, sizeof magic) && memcmp(h.magic, "\0\0\0\0\0\0\0", 8)) {
		m->is_over = true;
		return "it is something else";
	}
	if (h.version != MARKS_VERSION)
		return *h.magic ? "it was made by another version"
				: "it was not written to its end";
	if (memcmp(m->fingerprint, h.fingerprint, sizeof h.fingerprint) != 0)
		return "the recording has changed";
	table = is_whole(&h, size) ? malloc(h.n * sizeof *table + 1) : NULL;
	is_sound = table && read_at(m->file.fd, table, h.n * sizeof *table, h.table_at) &&
		   checksum_of(&h, table) == h.checksum && are_in_order(&h, table);
	if (is_sound)
		take(m, &h, table);
	free(table);
	return is_sound ? NULL : "it is damaged";
}

/* The caller holds the lock: another reader may replace the table. */
static const char *read_locked(struct marks_made *m)
{
	struct stat st;

	m->seen = (struct marks_header){ 0 };
	if (fstat(m->file.fd, &st))
		m->is_over = true;
	return !m->is_over && st.st_size ? read_table(m, (uint64_t)st.st_size) : NULL;
}

const char *marks_read_table(struct marks_made *m)
{
	const char *wrong;

	m->is_over = !lock(m, LOCK_SH);
	if (m->is_over)
		return NULL;
	wrong = read_locked(m);
	flock(m->file.fd, LOCK_UN);
	return wrong;
}

/* Whether the file is still the one whose table was read.  Under a lock. */
static bool is_unchanged(const struct marks_made *m)
{
	struct marks_header now;

	if (!read_at(m->file.fd, &now, sizeof now, 0))
		now = (struct marks_header){ 0 };
	return !memcmp(&now, &m->seen, sizeof now);
}

static char *read_bytes(const struct marks_made *m, const struct mark *k)
{
	char *bytes = malloc(k->size + 1);

	if (bytes && read_at(m->file.fd, bytes, k->size, k->at) &&
	    hash_bytes(bytes, k->size) == k->checksum)
		return bytes;
	free(bytes);
	return NULL;
}

char *marks_read_mark(const struct marks_made *m, const struct mark *k, bool *has_changed)
{
	char *bytes = NULL;

	*has_changed = !lock(m, LOCK_SH);
	if (*has_changed)
		return NULL;
	*has_changed = !is_unchanged(m);
	if (!*has_changed)
		bytes = read_bytes(m, k);
	flock(m->file.fd, LOCK_UN);
	return bytes;
}

/* ---------------------------------------------------------------- writing */

/* Reads those that are in the file alone: the file is replaced. */
static bool read_all(struct marks_made *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (!m->at[i].bytes && !(m->at[i].bytes = read_bytes(m, &m->at[i])))
			return false;
	return true;
}

static int put(int fd, const void *bytes, uint64_t size, uint64_t at)
{
	return lseek(fd, (off_t)at, SEEK_SET) < 0 ? -errno : io_write(fd, bytes, size);
}

static int write_marks(struct marks_made *m, struct marks_entry *table, struct marks_header *h)
{
	static const struct marks_header zeroes;
	int fd = m->file.fd, err = put(fd, &zeroes, sizeof zeroes, 0);

	h->table_at = sizeof *h;
	for (uint32_t i = 0; i < m->n && !err; i++) {
		const struct mark *k = &m->at[i];

		table[i] = (struct marks_entry){ k->time_ns, h->table_at, k->size, k->checksum };
		err = put(fd, k->bytes, k->size, h->table_at);
		h->table_at += k->size;
	}
	h->file_bytes = h->table_at + m->n * sizeof *table;
	if (!err)
		err = put(fd, table, m->n * sizeof *table, h->table_at);
	if (!err && ftruncate(fd, (off_t)h->file_bytes))
		err = -errno;
	h->checksum = checksum_of(h, table);
	return err ? err : put(fd, h, sizeof *h, 0);
}

static void replace(struct marks_made *m, const uint64_t fingerprint[2])
{
	struct marks_header h = { .version = MARKS_VERSION, .n = m->n, .every = m->every };
	struct marks_entry *table = malloc(m->n * sizeof *table + 1);

	memcpy(h.magic, magic, sizeof magic);
	memcpy(h.fingerprint, fingerprint, sizeof h.fingerprint);
	/* A full disk: an incomplete file takes no room. */
	if (table && read_all(m) && write_marks(m, table, &h))
		(void)!ftruncate(m->file.fd, 0);
	free(table);
}

/* Appends the marks of @m to @others, the marks of the file; @others has all marks afterwards. */
static bool add_later(struct marks_made *others, struct marks_made *m)
{
	int64_t last_ns = others->n ? others->at[others->n - 1].time_ns : INT64_MIN;
	uint32_t before = others->n;
	struct mark *all = reallocarray(others->at, others->n + (size_t)m->n + 1, sizeof *all);

	if (!all)
		return false;
	others->at = all;
	others->n_rooms = others->n + m->n + 1;
	for (uint32_t i = 0; i < m->n && others->n < MARKS_MOST; i++) {
		struct mark *k = &m->at[i];

		if (!k->bytes || k->time_ns <= last_ns)
			continue;
		others->at[others->n++] = *k;
		others->bytes += k->size;
		k->bytes = NULL;
	}
	return others->n > before;
}

/* Another process wrote the file meanwhile. */
static void join(struct marks_made *m)
{
	struct marks_made others = { .file = m->file, .bytes_most = m->bytes_most };

	memcpy(others.fingerprint, m->fingerprint, sizeof others.fingerprint);
	if (!read_locked(&others) && !others.is_over && add_later(&others, m)) {
		others.every = others.every ? others.every : m->every;
		if (read_all(&others)) {
			marks_thin(&others);
			replace(&others, m->fingerprint);
		}
	}
	marks_forget(&others);
	free(others.at);
}

void marks_write(struct marks_made *m)
{
	uint64_t now[2];

	if (!marks_identify(m->trace, now) || memcmp(now, m->fingerprint, sizeof now) != 0 ||
	    !lock(m, LOCK_EX))
		return;
	if (is_unchanged(m))
		replace(m, now);
	else
		join(m);
	flock(m->file.fd, LOCK_UN);
}
