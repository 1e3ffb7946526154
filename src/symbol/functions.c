/* SPDX-License-Identifier: MIT */
/*
 * symbol/functions.c - the table of a file's functions, sorted by address and by name.
 *
 * The symbols are those of .symtab; of the debug file's; or of .dynsym and of MiniDebugInfo
 * together.  libdwfl chooses.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"
#include "symbol/internal.h"

static bool read_aliases(struct symbol_file *f)
{
	int n = dwfl_module_getsymtab(f->module);

	f->aliases = n > 0 ? malloc((size_t)n * sizeof *f->aliases) : NULL;
	for (int i = 0; f->aliases && i < n; i++) {
		GElf_Sym s;
		GElf_Word section;
		const char *name = dwfl_module_getsym(f->module, i, &s, &section);

		if (!name || !*name || section == SHN_UNDEF || !elf_is_function(&s))
			continue;
		f->aliases[f->n_aliases++] = (struct alias){
			s.st_value,
			s.st_size <= UINT64_MAX - s.st_value ? s.st_value + s.st_size : s.st_value,
			name,
		};
	}
	return f->n_aliases;
}

/* Sorts the shortest of several names of one function first: libc's aliases have prefixes. */
static int by_begin(const void *a, const void *b)
{
	const struct alias *x = a, *y = b;
	size_t m, n;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	m = strlen(x->name);
	n = strlen(y->name);
	return m != n ? (m < n ? -1 : 1) : strcmp(x->name, y->name);
}

static void drop_repeated(struct symbol_file *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n_aliases; i++) {
		const struct alias *a = &f->aliases[i];

		if (kept && f->aliases[kept - 1].begin == a->begin &&
		    !strcmp(f->aliases[kept - 1].name, a->name)) {
			if (a->end > f->aliases[kept - 1].end)
				f->aliases[kept - 1].end = a->end;
			continue;
		}
		f->aliases[kept++] = *a;
	}
	f->n_aliases = kept;
}

static void join_aliases(struct symbol_file *f)
{
	for (size_t i = 0; i < f->n_aliases; i++) {
		const struct alias *a = &f->aliases[i];
		struct symbol_function *last = f->functions + f->n_functions;

		if (f->n_functions && last[-1].begin == a->begin) {
			last[-1].n_aliases++;
			if (a->end > last[-1].end)
				last[-1].end = a->end;
			continue;
		}
		*last = (struct symbol_function){ a->begin, a->end, a->name, (uint32_t)i, 1 };
		f->n_functions++;
	}
}

static uint64_t end_of_segment(const struct symbol_file *f, uint64_t address)
{
	for (int i = 0; i < f->n_segments; i++)
		if (address >= f->segments[i].address &&
		    address - f->segments[i].address < f->segments[i].size)
			return f->segments[i].address + f->segments[i].size;
	return UINT64_MAX;
}

/* A function of size 0, as assembler makes them, extends to the next one. */
static void extend_unsized(struct symbol_file *f)
{
	for (size_t i = 0; i < f->n_functions; i++) {
		struct symbol_function *n = &f->functions[i];
		uint64_t limit = end_of_segment(f, n->begin);

		assert(!i || f->functions[i - 1].begin < n->begin);
		if (n->end > n->begin)
			continue;
		if (i + 1 < f->n_functions && f->functions[i + 1].begin < limit)
			limit = f->functions[i + 1].begin;
		n->end = limit;
	}
}

static const struct alias *sorted_aliases; /* of by_alias_name() */

static int by_alias_name(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(sorted_aliases[x].name, sorted_aliases[y].name);

	return order ? order : (x > y) - (x < y);
}

void functions_read(struct symbol_file *f)
{
	if (f->has_functions)
		return;
	f->has_functions = true;
	if (!f->module || !read_aliases(f))
		return;
	qsort(f->aliases, f->n_aliases, sizeof *f->aliases, by_begin);
	drop_repeated(f);
	f->functions = malloc(f->n_aliases * sizeof *f->functions);
	if (!f->functions)
		return;
	join_aliases(f);
	extend_unsized(f);
}

/* ---------------------------------------------------------------- questions */

size_t symbol_functions(struct symbol_file *f, const struct symbol_function **functions)
{
	functions_read(f);
	*functions = f->functions;
	return f->n_functions;
}

const struct symbol_function *symbol_at(struct symbol_file *f, uint64_t address)
{
	size_t low = 0, high;

	functions_read(f);
	high = f->n_functions;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->functions[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < f->functions[low - 1].end ? &f->functions[low - 1] : NULL;
}

static bool sort_names(struct symbol_file *f)
{
	if (f->by_name)
		return true;
	f->by_name = f->functions ? malloc(f->n_aliases * sizeof *f->by_name) : NULL;
	if (!f->by_name)
		return false;
	for (size_t i = 0; i < f->n_aliases; i++)
		f->by_name[i] = (uint32_t)i;
	sorted_aliases = f->aliases;
	qsort(f->by_name, f->n_aliases, sizeof *f->by_name, by_alias_name);
	return true;
}

const struct symbol_function *symbol_named(struct symbol_file *f, const char *name)
{
	size_t low = 0, high;

	functions_read(f);
	if (!sort_names(f))
		return NULL;
	high = f->n_aliases;
	while (low < high) { /* the first that is not less */
		size_t middle = low + (high - low) / 2;

		if (strcmp(f->aliases[f->by_name[middle]].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == f->n_aliases || strcmp(f->aliases[f->by_name[low]].name, name) != 0)
		return NULL;
	return symbol_at(f, f->aliases[f->by_name[low]].begin);
}

const char *symbol_alias(const struct symbol_file *f, const struct symbol_function *n, uint32_t i)
{
	assert(i < n->n_aliases && n->alias + i < f->n_aliases);
	return f->aliases[n->alias + i].name;
}
