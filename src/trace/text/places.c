/* SPDX-License-Identifier: MIT */
/* trace/text/places.c - see places.h. */
#include "trace/text/places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"
#include "trace/symbols/public.h"

struct places {
	struct modules *modules;
	struct symbols *symbols;
	const char *const *paths;
	int n_paths;
	uint64_t size_bytes; /* of the recorded mappings, when they were read */
};

int places_open(struct places **result, const char *const *paths, int n, struct diag *d)
{
	struct places *p = calloc(1, sizeof *p);
	int err = -ENOMEM;

	*result = NULL;
	if (p) {
		p->symbols = symbols_open();
		p->paths = paths;
		p->n_paths = n;
		p->size_bytes = modules_size(paths, n);
	}
	if (p && p->symbols)
		err = modules_open(&p->modules, paths, n, d);
	if (err) {
		places_close(p);
		return diag_fail(d, err, "no memory for names of variables");
	}
	*result = p;
	return 0;
}

void places_close(struct places *p)
{
	if (!p)
		return;
	modules_close(p->modules);
	symbols_close(p->symbols);
	free(p);
}

struct modules *places_modules(const struct places *p)
{
	return p->modules;
}

struct symbols *places_symbols(const struct places *p)
{
	return p->symbols;
}

int places_refresh(struct places *p)
{
	uint64_t size_bytes = modules_size(p->paths, p->n_paths);
	struct modules *newer;

	if (size_bytes == p->size_bytes)
		return 0;
	if (modules_open(&newer, p->paths, p->n_paths, NULL))
		return -ENOMEM;
	modules_close(p->modules);
	p->modules = newer;
	p->size_bytes = size_bytes;
	return 0;
}

bool places_has(const struct places *p, int64_t pid)
{
	return modules_has(p->modules, pid);
}

struct search {
	struct symbols *symbols;
	uint64_t address;
	struct variable_place *place;
};

static bool accept(void *context, const struct module_location *at, uint64_t begin)
{
	struct search *s = context;
	struct symbol_file *f =
		*at->path == '/' ? symbols_file(s->symbols, at->path, at->build_id) : NULL;
	uint64_t bias;

	if (!f || !symbol_bias(f, at->offset, begin, &bias) || !symbol_holds(f, s->address - bias))
		return false;
	*s->place = (struct variable_place){ .file = f,
					     .path = symbol_path(f),
					     .address = s->address - bias };
	return true;
}

bool places_find(const struct places *p, int64_t pid, uint64_t clock, uint64_t address,
		 struct variable_place *place)
{
	struct search s = { p->symbols, address, place };

	return modules_below(p->modules, pid, clock, address, accept, &s);
}

bool places_is_stack(const struct places *p, int64_t pid, uint64_t clock, uint64_t address)
{
	struct module_location at;

	return modules_find(p->modules, pid, clock, address, &at) && !strcmp(at.path, "[stack]");
}

const char *places_file_name(const char *path, int *size)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
	size_t n = strlen(name), end = sizeof deleted - 1;

	if (n > end && !strcmp(name + n - end, deleted))
		n -= end;
	*size = n < 256 ? (int)n : 256;
	return name;
}

void places_variable(const struct places *p, const struct variable_place *place, struct text *t)
{
	uint64_t into;
	const char *name = symbol_variable_at(place->file, place->address, &into);
	int size;
	const char *file = places_file_name(place->path, &size);

	if (!name) {
		text_addf(t, "%.*s+0x%" PRIx64, size, file, place->address);
		return;
	}
	text_addf(t, "%.200s", symbol_written(p->symbols, name));
	if (into)
		text_addf(t, "+0x%" PRIx64, into);
	text_addf(t, " in %.*s", size, file);
}

bool places_name(const struct places *p, int64_t pid, uint64_t clock, uint64_t address,
		 struct text *t)
{
	struct variable_place place;

	if (!places_find(p, pid, clock, address, &place))
		return false;
	places_variable(p, &place, t);
	return true;
}
