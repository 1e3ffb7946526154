/* SPDX-License-Identifier: MIT */
/* symbol/symbol.c - the cache of files, and lookups by offset. */
#include "symbol/symbol.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/internal.h"

enum { FILES_MAX = 4096 };

struct symbols {
	struct symbol_file *files[FILES_MAX];
	unsigned n_files;
	unsigned last; /* index of the file found last */
	struct demangled *demangled;
};

static void close_file(struct symbol_file *f)
{
	answers_free(&f->answers);
	dwarf_free(f->dwarf);
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free(f->functions);
	free(f->aliases);
	free(f->by_name);
	free(f->variables);
	free(f->path);
	free(f->build_id);
	free(f);
}

struct symbols *symbols_open(void)
{
	struct symbols *s = calloc(1, sizeof *s);

	if (s)
		s->demangled = demangled_open();
	if (s && !s->demangled) {
		free(s);
		s = NULL;
	}
	return s;
}

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n_files; i++)
		close_file(s->files[i]);
	demangled_close(s->demangled);
	free(s);
}

struct symbol_file *symbols_file(struct symbols *s, const char *path, const char *build_id)
{
	struct symbol_file *f;

	assert(s->n_files <= FILES_MAX && (!s->n_files || s->last < s->n_files));
	for (unsigned i = 0, at = s->last; i < s->n_files; i++, at++) {
		at = at < s->n_files ? at : 0;
		f = s->files[at];
		if (!strcmp(f->path, path) && !strcmp(f->build_id, build_id)) {
			s->last = at;
			return f;
		}
	}
	f = s->n_files < FILES_MAX ? calloc(1, sizeof *f) : NULL;
	if (!f)
		return NULL;
	f->cache = s;
	f->path = strdup(path);
	f->build_id = strdup(build_id);
	if (!f->path || !f->build_id) {
		close_file(f);
		return NULL;
	}
	s->last = s->n_files;
	s->files[s->n_files++] = f;
	find_program(f);
	return f;
}

const char *symbol_path(const struct symbol_file *f)
{
	return f->path;
}

const char *symbol_written(struct symbols *s, const char *name)
{
	return demangled_name(s->demangled, name);
}

bool symbol_is(struct symbol_file *f, const struct symbol_function *n, const char *pattern)
{
	for (uint32_t i = 0; i < n->n_aliases; i++) {
		const char *name = symbol_alias(f, n, i);

		if (demangled_is(name, symbol_written(f->cache, name), pattern))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- by offset */

bool symbol_address(const struct symbol_file *f, uint64_t offset, uint64_t *address)
{
	for (int i = 0; f->is_program && i < f->n_segments; i++) {
		const struct segment *g = &f->segments[i];

		if (offset < g->offset || offset - g->offset >= g->size)
			continue;
		*address = g->address + (offset - g->offset);
		return true;
	}
	return false;
}

const char *symbols_locate(struct symbols *s, const char *path, const char *build_id,
			   uint64_t offset, uint64_t *into, uint64_t *address)
{
	struct symbol_file *f = symbols_file(s, path, build_id);
	const struct symbol_function *n;

	*into = 0;
	*address = offset;
	if (!f || !symbol_address(f, offset, address))
		return NULL;
	n = symbol_at(f, *address);
	assert(!n || n->begin <= *address);
	*into = n ? *address - n->begin : 0;
	return n ? n->name : NULL;
}

const char *symbols_find(struct symbols *s, const char *path, const char *build_id, uint64_t offset)
{
	uint64_t into, address;

	return symbols_locate(s, path, build_id, offset, &into, &address);
}

const char *symbols_find_written(struct symbols *s, const char *path, const char *build_id,
				 uint64_t offset)
{
	const char *name = symbols_find(s, path, build_id, offset);

	return name ? symbol_written(s, name) : NULL;
}
