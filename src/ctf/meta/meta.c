/* SPDX-License-Identifier: MIT */
/* ctf/meta/meta.c - the memory of the metadata, its file, and look-ups in it. */
#include "ctf/meta/meta.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/meta/ctf2.h"
#include "ctf/compressed/compressed.h"

enum { ARENA_CHUNK = 64 * 1024, GAPS_MAX = 1024 };
static const off_t FILE_MAX = 256 << 20;

struct ctf_arena {
	struct ctf_arena *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

void *ctf_meta_alloc(struct ctf_meta *m, size_t size)
{
	struct ctf_arena *a = m->arena;
	size_t chunk;
	void *p;

	if (size > SIZE_MAX / 4)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if (!a || size > a->size - a->used) {
		chunk = size > ARENA_CHUNK ? size : ARENA_CHUNK;
		a = calloc(1, sizeof *a + chunk);
		if (!a)
			return NULL;
		a->size = chunk;
		a->next = m->arena;
		m->arena = a;
	}
	p = a->bytes + a->used;
	a->used += size;
	assert(a->used <= a->size);
	return p;
}

char *ctf_meta_string(struct ctf_meta *m, const char *text, size_t size)
{
	char *s = ctf_meta_alloc(m, size + 1);

	if (s)
		memcpy(s, text, size);
	return s;
}

/* In signed order the smallest number comes first: its highest bit is inverted. */
static int compare_labels(const void *a, const void *b)
{
	const struct ctf_label *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

bool ctf_labels_overlap(const struct ctf_type *t)
{
	uint64_t flip = t->is_signed ? 1ull << 63 : 0;
	struct ctf_label *sorted = calloc(t->n_members + (size_t)1, sizeof *sorted);
	bool do_overlap = !sorted;

	for (uint32_t i = 0; sorted && i < t->n_members; i++) {
		sorted[i].first = t->labels[i].first ^ flip;
		sorted[i].last = t->labels[i].last ^ flip;
	}
	if (sorted)
		qsort(sorted, t->n_members, sizeof *sorted, compare_labels);
	for (uint32_t i = 1; !do_overlap && i < t->n_members; i++)
		do_overlap = sorted[i].first <= sorted[i - 1].last;
	free(sorted);
	return do_overlap;
}

void *ctf_meta_grow(struct ctf_meta *m, void *array, uint32_t n, size_t element_size)
{
	uint32_t capacity;
	void *bigger;

	assert(element_size && (array || !n));
	if (n & (n - 1) || (n && n < 4)) /* the array is full only at powers of two from 4 on */
		return array;
	if (n > UINT32_MAX / 2)
		return NULL;
	capacity = n ? 2 * n : 4;
	bigger = ctf_meta_alloc(m, capacity * element_size);
	if (bigger && n)
		memcpy(bigger, array, n * element_size);
	return bigger;
}

void ctf_meta_close(struct ctf_meta *m)
{
	free(m->parser);
	while (m->arena) {
		struct ctf_arena *a = m->arena;

		m->arena = a->next;
		free(a);
	}
	*m = (struct ctf_meta){ 0 };
}

const char *ctf_meta_env(const struct ctf_meta *m, const char *key)
{
	for (uint32_t i = 0; i < m->n_env; i++)
		if (!strcmp(m->env[i].key, key))
			return m->env[i].text;
	return NULL;
}

const struct ctf_clock *ctf_meta_clock(const struct ctf_meta *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_clocks; i++)
		if (!name || !strcmp(m->clocks[i].name, name))
			return &m->clocks[i];
	return NULL;
}

struct ctf_stream_class *ctf_meta_stream(const struct ctf_meta *m, uint64_t id)
{
	for (struct ctf_stream_class *s = m->streams; s; s = s->next)
		if (s->id == id)
			return s;
	return NULL;
}

bool ctf_meta_add_gap(struct ctf_meta *m, size_t from, size_t to)
{
	struct ctf_gap *gaps =
		m->n_gaps < GAPS_MAX ? ctf_meta_grow(m, m->gaps, m->n_gaps, sizeof *gaps) : NULL;

	assert(from <= to);
	if (!gaps)
		return false;
	gaps[m->n_gaps++] = (struct ctf_gap){ from, to };
	m->gaps = gaps;
	return true;
}

static uint32_t get_u32(const char *p, bool is_swapped)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return is_swapped ? __builtin_bswap32(v) : v;
}

size_t ctf_meta_unpack(char *bytes, size_t size, bool *is_damaged)
{
	enum { HEADER = 37, AT_CONTENT = 24, AT_PACKET = 28 };
	static const uint32_t magic = 0x75D11D57;
	bool is_swapped = size >= HEADER && get_u32(bytes, true) == magic;
	size_t from = 0, to = 0;

	*is_damaged = false;
	while (from < size) {
		uint32_t content, packet;

		if (size - from < HEADER || get_u32(bytes + from, is_swapped) != magic)
			break;
		content = get_u32(bytes + from + AT_CONTENT, is_swapped) / 8;
		packet = get_u32(bytes + from + AT_PACKET, is_swapped) / 8;
		if (content < HEADER || packet < content || content > size - from)
			break;
		memmove(bytes + to, bytes + from + HEADER, content - HEADER);
		to += content - HEADER;
		if (packet > size - from)
			return to; /* only its padding is cut */
		from += packet;
	}
	*is_damaged = from < size;
	return to;
}

/* Also for a caller that has read the plain file up to @from, and now finds it compressed. */
static int read_compressed(const char *path, uint64_t from, char **bytes, size_t *size,
			   struct diag *d)
{
	char packed[PATH_MAX];
	uint64_t n = 0;
	int err;

	if (snprintf(packed, sizeof packed, "%s" COMPRESSED_SUFFIX, path) >= (int)sizeof packed)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", path);
	err = compressed_read(packed, FILE_MAX, bytes, &n, d);
	if (err)
		return err == -ENOENT
			       ? diag_fail(d, err, "cannot open %s: %s", path, strerror(ENOENT))
			       : err;
	*size = n > from ? (size_t)(n - from) : 0;
	memmove(*bytes, *bytes + (n - *size), *size + 1); /* with its NUL */
	return 0;
}

int ctf_meta_read_file(const char *path, uint64_t from, char **bytes, size_t *size, struct diag *d)
{
	int fd = io_open_file(AT_FDCWD, path);
	struct stat st;
	ssize_t n;

	if (fd == -ENOENT)
		return read_compressed(path, from, bytes, size, d);
	if (fd < 0)
		return diag_fail(d, fd, "cannot open %s: %s", path, strerror(-fd));
	if (fstat(fd, &st) || st.st_size > FILE_MAX || from > INT64_MAX) {
		close(fd);
		return diag_fail(d, -EINVAL, "%s: not a file of metadata", path);
	}
	*size = (uint64_t)st.st_size > from ? (size_t)st.st_size - (size_t)from : 0;
	*bytes = malloc(*size + 1);
	n = !*bytes				   ? -ENOMEM
	    : lseek(fd, (off_t)from, SEEK_SET) < 0 ? -errno
						   : io_read(fd, *bytes, *size);
	close(fd);
	if (n < 0) {
		free(*bytes);
		return diag_fail(d, (int)n, "cannot read %s: %s", path, strerror((int)-n));
	}
	(*bytes)[n] = 0;
	*size = (size_t)n;
	return 0;
}

int ctf_meta_text(const char *path, char **text, size_t *size, bool *is_damaged, struct diag *d)
{
	int err = ctf_meta_read_file(path, 0, text, size, d);

	*is_damaged = false;
	if (err)
		return err;
	if (*size >= 4 &&
	    (get_u32(*text, false) == 0x75D11D57 || get_u32(*text, true) == 0x75D11D57))
		*size = ctf_meta_unpack(*text, *size, is_damaged);
	return 0;
}

/* Without a `stream` block the trace has one stream class, without context and event header, unless
 * a part of the text was skipped: that part may have been the block. */
static int add_only_stream(struct ctf_meta *m, struct diag *d)
{
	if (!m->has_trace || m->streams || m->n_gaps)
		return 0;
	m->streams = ctf_meta_alloc(m, sizeof *m->streams);
	m->n_streams = 1;
	return m->streams ? 0 : diag_fail(d, -ENOMEM, "no memory");
}

/* CTF 2 metadata begins with a record separator. */
int ctf_meta_read(struct ctf_meta *m, const char *text, size_t size, struct diag *d)
{
	int err;

	*m = (struct ctf_meta){ 0 };
	if (size && text[0] == 0x1e)
		return ctf_meta_parse_json(m, text, size, d);
	err = ctf_meta_parse(m, text, size, d);
	return err ? err : add_only_stream(m, d);
}
