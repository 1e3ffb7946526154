/* SPDX-License-Identifier: MIT */
/* elf/symbols.c - cache the sorted function tables of files, and look up offsets in them. */
#include "elf/symbols.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"

enum { MODULES_MAX = 4096, SEGMENTS_MAX = 64 };

struct function {
	uint64_t begin, end;
	const char *name; /* in the file's string table */
};

struct segment {
	uint64_t offset, address, size;
};

struct module {
	char *path, *build_id;
	struct elf_file file, debug;
	struct function *functions; /* by begin */
	size_t n_functions;
	struct segment segments[SEGMENTS_MAX];
	int n_segments;
};

struct symbols {
	struct module *modules;
	unsigned n_modules;
	unsigned last; /* index of the module found last */
};

/* ---------------------------------------------------------------- build IDs */

static bool note_id(Elf_Data *data, char *hex)
{
	size_t at = 0, name, desc;
	GElf_Nhdr n;

	while (data && (at = gelf_getnote(data, at, &n, &name, &desc)) > 0) {
		const unsigned char *id = (const unsigned char *)data->d_buf + desc;

		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name, "GNU", 4) || !n.n_descsz ||
		    n.n_descsz > (ELF_BUILD_ID_HEX - 1) / 2)
			continue;
		for (size_t i = 0; i < n.n_descsz; i++)
			snprintf(hex + 2 * i, 3, "%02x", id[i]);
		return true;
	}
	return false;
}

static bool id_of(Elf *elf, char hex[ELF_BUILD_ID_HEX])
{
	size_t n;
	GElf_Phdr p;

	hex[0] = 0;
	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_NOTE &&
		    note_id(elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
						 p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
			    hex))
			return true;
	return false;
}

_Bool elf_build_id(const char *path, char hex[ELF_BUILD_ID_HEX])
{
	struct elf_file f;
	bool has;

	hex[0] = 0;
	if (!elf_file_open(&f, path))
		return false;
	has = id_of(f.elf, hex);
	elf_file_close(&f);
	return has;
}

/* ---------------------------------------------------------------- functions */

static void add_functions(struct module *m, Elf *elf, uint32_t type)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_table(elf, type, &h);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n = data && h.sh_entsize ? data->d_size / h.sh_entsize : 0;

	free(m->functions);
	m->n_functions = 0;
	m->functions = n && n < INT_MAX ? malloc(n * sizeof *m->functions) : NULL;
	for (size_t i = 0; m->functions && i < n; i++) {
		GElf_Sym s;
		const char *name;

		if (!gelf_getsym(data, (int)i, &s) || !elf_is_function(&s))
			continue;
		name = elf_strptr(elf, h.sh_link, s.st_name);
		if (name && *name)
			m->functions[m->n_functions++] =
				(struct function){ s.st_value, s.st_value + s.st_size, name };
	}
}

/* Sorts the shortest of several names of one function first: libc's aliases have prefixes. */
static int by_begin(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	size_t m, n;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	m = strlen(x->name);
	n = strlen(y->name);
	return m != n ? (m < n ? -1 : 1) : strcmp(x->name, y->name);
}

/* A function of size 0, as assembler makes them, extends to the next one. */
static void sort_functions(struct module *m)
{
	size_t kept = 0;

	qsort(m->functions, m->n_functions, sizeof *m->functions, by_begin);
	for (size_t i = 0; i < m->n_functions; i++) {
		struct function *f = &m->functions[i];

		if (kept && m->functions[kept - 1].begin == f->begin) {
			if (f->end > m->functions[kept - 1].end)
				m->functions[kept - 1].end = f->end;
			continue;
		}
		m->functions[kept++] = *f;
	}
	m->n_functions = kept;
	for (size_t i = 1; i < kept; i++)
		assert(m->functions[i - 1].begin < m->functions[i].begin);
	for (size_t i = 0; i < kept; i++)
		if (m->functions[i].end <= m->functions[i].begin)
			m->functions[i].end = i + 1 < kept ? m->functions[i + 1].begin : UINT64_MAX;
}

static void add_segments(struct module *m)
{
	size_t n;
	GElf_Phdr p;

	if (elf_getphdrnum(m->file.elf, &n))
		return;
	for (size_t i = 0; i < n && m->n_segments < SEGMENTS_MAX; i++)
		if (gelf_getphdr(m->file.elf, (int)i, &p) && p.p_type == PT_LOAD)
			m->segments[m->n_segments++] =
				(struct segment){ p.p_offset, p.p_vaddr, p.p_filesz };
}

static void open_debug(struct module *m, const char *id)
{
	char path[128 + ELF_BUILD_ID_HEX];

	if (strlen(id) < 4)
		return;
	snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if (elf_file_open(&m->debug, path))
		add_functions(m, m->debug.elf, SHT_SYMTAB);
}

static void load(struct module *m)
{
	char id[ELF_BUILD_ID_HEX];

	if (!elf_file_open(&m->file, m->path))
		return;
	id_of(m->file.elf, id);
	if (*m->build_id && strcmp(id, m->build_id))
		return;
	add_segments(m);
	add_functions(m, m->file.elf, SHT_SYMTAB);
	if (!m->n_functions)
		open_debug(m, id);
	if (!m->n_functions)
		add_functions(m, m->file.elf, SHT_DYNSYM);
	if (m->n_functions)
		sort_functions(m);
}

static struct module *find_module(struct symbols *s, const char *path, const char *build_id)
{
	struct module *m;

	assert(s->n_modules <= MODULES_MAX && (!s->n_modules || s->last < s->n_modules));
	for (unsigned i = 0; i < s->n_modules; i++) {
		m = &s->modules[(s->last + i) % s->n_modules];
		if (!strcmp(m->path, path) && !strcmp(m->build_id, build_id)) {
			s->last = (unsigned)(m - s->modules);
			return m;
		}
	}
	if (s->n_modules == MODULES_MAX)
		return NULL;
	m = &s->modules[s->n_modules];
	*m = (struct module){
		.path = strdup(path), .build_id = strdup(build_id), .file.fd = -1, .debug.fd = -1
	};
	if (!m->path || !m->build_id) {
		free(m->path);
		free(m->build_id);
		return NULL;
	}
	s->n_modules++;
	load(m);
	return m;
}

static const struct function *function_at(const struct module *m, uint64_t address)
{
	size_t low = 0, high = m->n_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->functions[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < m->functions[low - 1].end ? &m->functions[low - 1] : NULL;
}

const char *symbols_locate(struct symbols *s, const char *path, const char *build_id,
			   uint64_t offset, uint64_t *into, uint64_t *address)
{
	struct module *m = find_module(s, path, build_id);
	const struct function *f;

	*into = 0;
	*address = offset;
	for (int i = 0; m && i < m->n_segments; i++) {
		const struct segment *g = &m->segments[i];

		if (offset < g->offset || offset - g->offset >= g->size)
			continue;
		*address = g->address + (offset - g->offset);
		f = function_at(m, *address);
		assert(!f || f->begin <= *address);
		*into = f ? *address - f->begin : 0;
		return f ? f->name : NULL;
	}
	return NULL;
}

const char *symbols_find(struct symbols *s, const char *path, const char *build_id, uint64_t offset)
{
	uint64_t into, address;

	return symbols_locate(s, path, build_id, offset, &into, &address);
}

struct symbols *symbols_open(void)
{
	struct symbols *s = calloc(1, sizeof *s);

	if (s)
		s->modules = malloc(MODULES_MAX * sizeof *s->modules);
	if (s && !s->modules) {
		free(s);
		s = NULL;
	}
	return s;
}

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_modules; i++) {
		elf_file_close(&s->modules[i].file);
		elf_file_close(&s->modules[i].debug);
		free(s->modules[i].functions);
		free(s->modules[i].path);
		free(s->modules[i].build_id);
	}
	free(s->modules);
	free(s);
}
