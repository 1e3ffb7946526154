/* SPDX-License-Identifier: MIT */
/*
 * symbol/units.c - the DWARF of a file: which unit and which function hold an address.
 *
 * The ranges of all units are sorted once.  A unit's functions are read and sorted at the first
 * question about one of its addresses.
 *
 * dwarf_addrdie() of libdw would be shorter, but it believes .debug_aranges, which clang does not
 * write, and dwarf_getscopes() visits all of a unit for each address.
 */
#include <assert.h>
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/units.h"

enum {
	RANGES_MAX = 1 << 24, /* of one file; more are a damaged file's */
	NESTING_MAX = 64,     /* of namespaces and classes */
};

struct range {
	uint64_t begin, end;
	uint32_t unit;
	Dwarf_Off die; /* of a function; unused for units */
};

struct ranges {
	struct range *at;
	size_t n, n_rooms;
};

struct unit {
	Dwarf_Die die;
	bool is_read; /* its functions were */
	struct ranges functions;
};

struct dwarf {
	Dwarf *dw, *alternate;
	int alternate_fd;
	struct unit *units;
	size_t n_units, n_unit_rooms;
	struct ranges ranges;
};

/* ---------------------------------------------------------------- ranges */

static bool add_range(struct ranges *r, const struct range *range)
{
	if (range->begin >= range->end)
		return true;
	if (r->n == r->n_rooms) {
		size_t n = r->n_rooms ? 2 * r->n_rooms : 64;
		struct range *wider = n <= RANGES_MAX ? realloc(r->at, n * sizeof *wider) : NULL;

		if (!wider)
			return false;
		r->at = wider;
		r->n_rooms = n;
	}
	r->at[r->n++] = *range;
	return true;
}

/* Adds the ranges of @die. */
static void add_ranges(struct ranges *r, Dwarf_Die *die, struct range range)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		range.begin = begin;
		range.end = end;
		/* The linker puts functions that it left out at 0. */
		if (begin && !add_range(r, &range))
			return;
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1)
				    : (x->end > y->end) - (x->end < y->end);
}

static void sort_ranges(struct ranges *r)
{
	if (r->n)
		qsort(r->at, r->n, sizeof *r->at, by_begin);
}

static const struct range *range_at(const struct ranges *r, uint64_t address)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->at[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < r->at[low - 1].end ? &r->at[low - 1] : NULL;
}

/* ---------------------------------------------------------------- units */

static struct unit *add_unit(struct dwarf *d)
{
	if (d->n_units == d->n_unit_rooms) {
		size_t n = d->n_unit_rooms ? 2 * d->n_unit_rooms : 64;
		struct unit *wider = realloc(d->units, n * sizeof *wider);

		if (!wider)
			return NULL;
		d->units = wider;
		d->n_unit_rooms = n;
	}
	d->units[d->n_units] = (struct unit){ .is_read = false };
	return &d->units[d->n_units++];
}

static void read_units(struct dwarf *d)
{
	Dwarf_CU *at = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	while (!dwarf_get_units(d->dw, at, &at, NULL, &type, &die, &split)) {
		Dwarf_Die *of = type == DW_UT_skeleton && dwarf_tag(&split) > 0 ? &split : &die;
		struct range range = { .unit = (uint32_t)d->n_units };
		struct unit *u;

		if (type == DW_UT_type || dwarf_tag(&die) == DW_TAG_partial_unit)
			continue;
		u = add_unit(d);
		if (!u)
			return;
		u->die = *of;
		add_ranges(&d->ranges, &die, range);
	}
	sort_ranges(&d->ranges);
}

static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_module;
}

/* Functions are children of their unit, of a namespace (Rust, clang) or a type (Rust). */
static void read_functions(struct unit *u, Dwarf_Die *parent, int nesting)
{
	Dwarf_Die child;

	if (nesting > NESTING_MAX || dwarf_child(parent, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			add_ranges(&u->functions, &child,
				   (struct range){ .die = dwarf_dieoffset(&child) });
		else if (holds_functions(tag))
			read_functions(u, &child, nesting + 1);
	} while (dwarf_next(&child));
}

static struct unit *unit_at(struct dwarf *d, uint64_t address)
{
	const struct range *r = range_at(&d->ranges, address);
	struct unit *u;

	if (!r)
		return NULL;
	assert(r->unit < d->n_units);
	u = &d->units[r->unit];
	if (!u->is_read) {
		u->is_read = true;
		read_functions(u, &u->die, 0);
		sort_ranges(&u->functions);
	}
	return u;
}

static bool function_in(struct unit *u, uint64_t address, Dwarf_Die *function)
{
	const struct range *r = range_at(&u->functions, address);

	return r && dwarf_offdie(dwarf_cu_getdwarf(u->die.cu), r->die, function);
}

bool dwarf_function(struct dwarf *d, uint64_t address, Dwarf_Die *function)
{
	struct unit *u = unit_at(d, address);

	return u && function_in(u, address, function);
}

bool dwarf_position(struct dwarf *d, uint64_t address, Dwarf_Die *unit, Dwarf_Die *function)
{
	struct unit *u = unit_at(d, address);

	if (!u)
		return false;
	*unit = u->die;
	if (!function_in(u, address, function))
		*function = (Dwarf_Die){ .addr = NULL };
	return true;
}

/* ---------------------------------------------------------------- open, close */

static void open_alternate(struct symbol_file *f, struct dwarf *d)
{
	const char *name, *path = NULL;
	const uint8_t *bytes;
	char id[ELF_BUILD_ID_HEX];
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(d->dw, &name, (const void **)&bytes);

	if (n <= 0 || n > (ELF_BUILD_ID_HEX - 1) / 2)
		return;
	for (ssize_t i = 0; i < n; i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	dwfl_module_info(f->module, NULL, NULL, NULL, NULL, NULL, NULL, &path);
	if (!path)
		dwfl_module_info(f->module, NULL, NULL, NULL, NULL, NULL, &path, NULL);
	d->alternate_fd = find_alternate(path ? path : f->path, name, id);
	if (d->alternate_fd < 0)
		return;
	d->alternate = dwarf_begin(d->alternate_fd, DWARF_C_READ);
	if (d->alternate)
		dwarf_setalt(d->dw, d->alternate);
}

struct dwarf *dwarf_of(struct symbol_file *f)
{
	Dwarf_Addr bias = 0;
	struct dwarf *d = f->dwarf;

	if (d || !f->module)
		return d && d->dw ? d : NULL;
	f->dwarf = d = calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->alternate_fd = -1;
	d->dw = dwfl_module_getdwarf(f->module, &bias);
	if (d->dw && bias) /* prelink moved the file, but not its debug file */
		d->dw = NULL;
	if (!d->dw)
		return NULL;
	open_alternate(f, d);
	read_units(d);
	return d;
}

void dwarf_free(struct dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_units; i++)
		free(d->units[i].functions.at);
	free(d->units);
	free(d->ranges.at);
	if (d->dw && d->alternate)
		dwarf_setalt(d->dw, NULL);
	dwarf_end(d->alternate);
	if (d->alternate_fd >= 0)
		close(d->alternate_fd);
	free(d);
}
