/* SPDX-License-Identifier: MIT */
/* symbol/each.c - a walk over the functions of a file. */
#include "symbol/each.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/internal.h"

static bool offset_of(const struct symbol_file *f, uint64_t address, uint64_t *offset)
{
	for (int i = 0; i < f->n_segments; i++) {
		const struct segment *g = &f->segments[i];

		if (address < g->address || address - g->address >= g->size)
			continue;
		*offset = g->offset + (address - g->address);
		return true;
	}
	return false;
}

/* Drops the version: "malloc@@GLIBC_2.2.5" is malloc. */
static int visit_name(struct symbol_file *f, const char *name, uint64_t offset,
		      int (*visit)(void *arg, const struct each_function *f), void *arg)
{
	char *plain = strndup(name, strcspn(name, "@"));
	const char *written = plain ? symbol_written(f->cache, plain) : NULL;
	const struct each_function found = { plain, written != plain ? written : NULL, offset };
	int result = plain ? visit(arg, &found) : -ENOMEM;

	free(plain);
	return result;
}

int each_function(const char *path, int (*visit)(void *arg, const struct each_function *f),
		  void *arg, struct diag *d)
{
	struct symbols *s = symbols_open();
	struct symbol_file *f = s ? symbols_file(s, path, "") : NULL;
	const struct symbol_function *functions;
	uint64_t offset;
	size_t n = 0;
	int err = f ? 0 : diag_fail(d, -ENOMEM, "no memory for the functions of %s", path);

	if (f && !f->module)
		err = diag_fail(d, -ENOEXEC, "%s: cannot be read, or is no ELF file", path);
	if (!err)
		n = symbol_functions(f, &functions);
	for (size_t i = 0; i < n && !err; i++)
		for (uint32_t k = 0; k < functions[i].n_aliases && !err; k++)
			if (offset_of(f, functions[i].begin, &offset))
				err = visit_name(f, symbol_alias(f, &functions[i], k), offset,
						 visit, arg);
	symbols_close(s);
	return err;
}

bool each_function_is(const struct each_function *f, const char *pattern)
{
	return demangled_is(f->name, f->written, pattern);
}
