/* SPDX-License-Identifier: MIT */
/*
 * symbol/variables.c - the table of a file's variables, sorted by address.
 *
 * The symbols are those that functions.c reads.  Variables of threads (STT_TLS) have offsets instead
 * of addresses, so they are not in the table.  A symbol without a size, as assembler makes them,
 * holds nothing but its first byte: the distance to the next symbol says nothing about it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/internal.h"

static bool is_variable(const GElf_Sym *s, GElf_Word section)
{
	int type = GELF_ST_TYPE(s->st_info);

	return (type == STT_OBJECT || type == STT_COMMON) && section != SHN_UNDEF &&
	       section != SHN_ABS && s->st_value;
}

/* The shortest name of an address first: others have versions or prefixes. */
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

static void variables_read(struct symbol_file *f)
{
	int n = f->module ? dwfl_module_getsymtab(f->module) : 0;

	if (f->has_variables)
		return;
	f->has_variables = true;
	f->variables = n > 0 ? malloc((size_t)n * sizeof *f->variables) : NULL;
	for (int i = 0; f->variables && i < n; i++) {
		GElf_Sym s;
		GElf_Word section;
		const char *name = dwfl_module_getsym(f->module, i, &s, &section);

		if (!name || !*name || !is_variable(&s, section) ||
		    s.st_size > UINT64_MAX - s.st_value)
			continue;
		f->variables[f->n_variables++] =
			(struct alias){ s.st_value, s.st_value + (s.st_size ? s.st_size : 1),
					name };
	}
	if (f->n_variables)
		qsort(f->variables, f->n_variables, sizeof *f->variables, by_begin);
}

bool symbol_bias(const struct symbol_file *f, uint64_t offset, uint64_t begin, uint64_t *bias)
{
	const uint64_t page = 4095; /* a mapping begins with the page that the segment begins in */

	for (int i = 0; f->is_program && i < f->n_segments; i++) {
		const struct segment *g = &f->segments[i];

		if (!g->is_code || offset < (g->offset & ~page) ||
		    offset - (g->offset & ~page) >= g->size + page)
			continue;
		*bias = begin - (g->address + (offset - g->offset));
		return true;
	}
	return false;
}

bool symbol_holds(const struct symbol_file *f, uint64_t address)
{
	for (int i = 0; i < f->n_segments; i++)
		if (address >= f->segments[i].address &&
		    address - f->segments[i].address < f->segments[i].memory)
			return true;
	return false;
}

const char *symbol_variable_at(struct symbol_file *f, uint64_t address, uint64_t *into)
{
	size_t low = 0, high;

	*into = 0;
	variables_read(f);
	high = f->n_variables;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->variables[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Of variables that overlap, the one that begins last is the smallest around the address. */
	for (int steps = 0; low && steps < 16; steps++, low--) {
		const struct alias *v = &f->variables[low - 1];

		if (address >= v->end)
			continue;
		while (low > 1 && v[-1].begin == v->begin && address < v[-1].end) {
			v--; /* the shortest of its names */
			low--;
		}
		assert(address >= v->begin);
		*into = address - v->begin;
		return v->name;
	}
	return NULL;
}
