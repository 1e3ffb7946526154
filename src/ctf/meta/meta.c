/* SPDX-License-Identifier: MIT */
/* ctf/meta/meta.c - the memory of the metadata, its file, and look-ups in it. */
#include "ctf/meta/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/decode/class.h"
#include "ctf/meta/ctf2.h"
#include "ctf/compressed/compressed.h"

enum { ARENA_CHUNK = 64 * 1024, BY_ID_MAX = 16384, GAPS_MAX = 1024 };
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
	return p;
}

char *ctf_meta_string(struct ctf_meta *m, const char *text, size_t size)
{
	char *s = ctf_meta_alloc(m, size + 1);

	if (s)
		memcpy(s, text, size);
	return s;
}

void *ctf_meta_grow(struct ctf_meta *m, void *array, uint32_t n, size_t element_size)
{
	uint32_t capacity;
	void *bigger;

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

static int compare_id(const void *a, const void *b)
{
	uint32_t x = (*(struct ctf_event_class *const *)a)->id;
	uint32_t y = (*(struct ctf_event_class *const *)b)->id;

	return x < y ? -1 : x > y;
}

struct ctf_event_class *ctf_stream_event(const struct ctf_stream_class *s, uint32_t id)
{
	struct ctf_event_class key = { .id = id }, *k = &key, **found;

	if (id < s->n_by_id)
		return s->by_id[id].class;
	if (!s->n_sparse)
		return NULL;
	found = bsearch(&k, s->sparse, s->n_sparse, sizeof *s->sparse, compare_id);
	return found ? *found : NULL;
}

static uint32_t round_up(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/* Tables are replaced, not moved, so that readers in the middle of a packet can continue to use
 * the old one. */
static int grow_tables(struct ctf_meta *m, struct ctf_stream_class *s, uint32_t n_by_id,
		       uint32_t n_sparse)
{
	struct ctf_event_class **sparse = s->sparse;
	struct ctf_by_id *by_id = s->by_id;

	if (!by_id || n_by_id > s->n_by_id)
		by_id = ctf_meta_alloc(m, round_up(n_by_id) * sizeof *by_id);
	if (!sparse || n_sparse > s->n_sparse)
		sparse = ctf_meta_alloc(m,
					(n_sparse + (size_t)1) * sizeof(struct ctf_event_class *));
	if (!by_id || !sparse)
		return -ENOMEM;
	if (s->by_id && by_id != s->by_id)
		memcpy(by_id, s->by_id, s->n_by_id * sizeof *by_id);
	if (s->sparse && sparse != s->sparse)
		memcpy(sparse, s->sparse, s->n_sparse * sizeof(struct ctf_event_class *));
	s->n_by_id = by_id == s->by_id ? s->n_by_id : round_up(n_by_id);
	s->by_id = by_id;
	s->sparse = sparse;
	return 0;
}

/* Ids below a limit go into a table.  If two classes have one id, the first is used. */
static int link_events(struct ctf_meta *m, struct ctf_stream_class *s,
		       struct ctf_event_class *first)
{
	uint32_t n_sparse = s->n_sparse, top = 0;

	for (struct ctf_event_class *e = first; e; e = e->next) {
		if (e->stream_id != s->id)
			continue;
		if (e->id >= BY_ID_MAX)
			n_sparse++;
		else if (e->id >= top)
			top = e->id + 1;
	}
	if (grow_tables(m, s, top, n_sparse))
		return -ENOMEM;
	for (struct ctf_event_class *e = first; e; e = e->next) {
		if (e->stream_id != s->id)
			continue;
		if (e->id >= BY_ID_MAX)
			s->sparse[s->n_sparse++] = e;
		else if (!s->by_id[e->id].class)
			s->by_id[e->id].class = e;
	}
	qsort(s->sparse, s->n_sparse, sizeof *s->sparse, compare_id);
	return 0;
}

/* Whether an event from @first on belongs to @s. */
static bool has_new_event(const struct ctf_stream_class *s, const struct ctf_event_class *first)
{
	while (first && first->stream_id != s->id)
		first = first->next;
	return first || !s->packet_program;
}

static int link_all(struct ctf_meta *m, struct diag *d)
{
	struct ctf_event_class *first = m->last_linked ? m->last_linked->next : m->events;
	int err = m->packet_header_program ? 0 : ctf_class_compile_packets(m, d);

	for (struct ctf_stream_class *s = m->streams; s && !err; s = s->next) {
		if (!has_new_event(s, first))
			continue;
		err = link_events(m, s, first);
		if (!err)
			err = ctf_class_compile_stream(m, s, first, d);
	}
	for (; first; first = first->next)
		m->last_linked = first;
	return err;
}

int ctf_meta_link(struct ctf_meta *m, struct diag *d)
{
	if (!m->has_trace || !m->streams)
		return diag_fail(d, -EINVAL, "it describes no %s",
				 m->has_trace ? "stream" : "trace");
	return link_all(m, d);
}

bool ctf_meta_add_gap(struct ctf_meta *m, size_t from, size_t to)
{
	struct ctf_gap *gaps =
		m->n_gaps < GAPS_MAX ? ctf_meta_grow(m, m->gaps, m->n_gaps, sizeof *gaps) : NULL;

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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return read_compressed(path, from, bytes, size, d);
	if (fd < 0)
		return diag_errno(d, "cannot open %s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX || from > INT64_MAX) {
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

/* CTF 2 metadata begins with a record separator. */
int ctf_meta_read(struct ctf_meta *m, const char *text, size_t size, struct diag *d)
{
	*m = (struct ctf_meta){ 0 };
	return size && text[0] == 0x1e ? ctf_meta_parse_json(m, text, size, d)
				       : ctf_meta_parse(m, text, size, d);
}

int ctf_meta_open(struct ctf_meta *m, const char *path, struct diag *d)
{
	struct diag why = { 0 };
	bool is_cut = false;
	size_t size = 0;
	char *text = NULL;
	int err, damage;

	*m = (struct ctf_meta){ 0 };
	err = ctf_meta_text(path, &text, &size, &is_cut, d);
	if (err)
		return err;
	damage = ctf_meta_read(m, text, size, &why);
	free(text);
	if (!damage && is_cut)
		damage = diag_fail(&why, -EINVAL, "a packet of it is not whole");
	err = damage && !(m->has_trace && m->streams) ? damage : ctf_meta_link(m, &why);
	if (m->n_gaps > 1)
		diag_fail(d, err, "%.400s: %.500s, and %u more places", path, why.text,
			  m->n_gaps - 1);
	else if (err || damage)
		diag_fail(d, err, "%.400s: %.600s", path, why.text);
	if (err)
		ctf_meta_close(m);
	return err ? err : damage ? 1 : 0;
}
