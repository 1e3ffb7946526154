/* SPDX-License-Identifier: MIT */
/*
 * symbol/frames.c - source lines, and the functions inlined at an address.
 *
 * Answers are kept for each address: a report asks for the same ones again and again.
 */
#include <assert.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "rules/pattern.h"
#include "symbol/units.h"

/* ---------------------------------------------------------------- one DIE */

/* The linker's name of @die; the source's if it has no other.  Attributes of the DIE that it stands
 * for (DW_AT_abstract_origin, DW_AT_specification) are its own. */
static const char *name_of(Dwarf_Die *die)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute a;
	const char *name = NULL;

	for (size_t i = 0; i < sizeof names / sizeof *names && !name; i++)
		if (dwarf_attr_integrate(die, names[i], &a))
			name = dwarf_formstring(&a);
	return name;
}

static uint32_t number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word value;

	if (!dwarf_attr(die, attribute, &a) || dwarf_formudata(&a, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* The source file that attribute @name of @die has as its number.  libdw's dwarf_decl_file() refuses
 * number 0, which is the unit's own file from DWARF 5 on. */
static const char *file_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Die unit;
	Dwarf_Half version;
	size_t n;

	if (!dwarf_attr_integrate(die, name, &a) || dwarf_formudata(&a, &number) ||
	    !dwarf_cu_die(a.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) ||
	    (!number && version < 5) || dwarf_getsrcfiles(&unit, &files, &n) || number >= n)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

/* The source line from which inlined function @die is called. */
static struct symbol_line call_of(Dwarf_Die *die)
{
	return (struct symbol_line){ file_of(die, DW_AT_call_file), number_of(die, DW_AT_call_line),
				     number_of(die, DW_AT_call_column) };
}

static struct symbol_line line_at(Dwarf_Die *unit, uint64_t address)
{
	Dwarf_Line *l = dwarf_getsrc_die(unit, address);
	struct symbol_line line = { .source = NULL };
	int number = 0, column = 0;

	if (!l)
		return line;
	line.source = dwarf_linesrc(l, NULL, NULL);
	if (!dwarf_lineno(l, &number) && number > 0)
		line.line = (uint32_t)number;
	if (!dwarf_linecol(l, &column) && column > 0)
		line.column = (uint32_t)column;
	return line;
}

/* ---------------------------------------------------------------- inlined functions */

enum { NESTING_MAX = 256 }; /* of blocks */

/* The innermost chain is @dies, outermost first.  Returns their number. */
static unsigned find_inlined(Dwarf_Die *parent, uint64_t address, Dwarf_Die *dies, unsigned n,
			     int nesting)
{
	Dwarf_Die child;

	if (nesting > NESTING_MAX || dwarf_child(parent, &child))
		return n;
	do {
		int tag = dwarf_tag(&child);
		unsigned found;

		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&child, address) == 1) {
			if (n == SYMBOL_FRAMES_MAX - 1) { /* drop the outermost */
				memmove(dies, dies + 1, (n - 1) * sizeof *dies);
				n--;
			}
			dies[n] = child;
			return find_inlined(&child, address, dies, n + 1, nesting + 1);
		}
		if (tag != DW_TAG_lexical_block || !dwarf_haspc(&child, address))
			continue;
		found = find_inlined(&child, address, dies, n, nesting + 1);
		if (found != n)
			return found;
	} while (dwarf_next(&child));
	return n;
}

/* Fills @frames, innermost first; returns how many. */
static unsigned frames_at(struct symbol_file *f, Dwarf_Die *function, struct symbol_line line,
			  uint64_t address, struct symbol_frame *frames)
{
	const struct symbol_function *known = symbol_at(f, address);
	Dwarf_Die dies[SYMBOL_FRAMES_MAX];
	unsigned n = function->addr ? find_inlined(function, address, dies, 0, 0) : 0;
	const char *outer = known ? known->name : function->addr ? name_of(function) : NULL;

	for (unsigned i = 0; i < n; i++) {
		Dwarf_Die *die = &dies[n - 1 - i];
		const char *name = name_of(die);

		frames[i] = (struct symbol_frame){ name ? name : "?", line, true };
		line = call_of(die);
	}
	if (!outer && !n)
		return 0;
	frames[n] = (struct symbol_frame){ outer ? outer : "?", line, false };
	return n + 1;
}

/* ---------------------------------------------------------------- answers */

void answers_free(struct answers *a)
{
	for (size_t i = 0; i < a->n_rooms; i++)
		free(a->at[i].frames);
	free(a->at);
}

static struct answer *room_of(const struct answers *a, uint64_t address)
{
	size_t i = (address * 0x9e3779b97f4a7c15ull >> 20) & (a->n_rooms - 1);

	while (a->at[i].frames && a->at[i].address != address)
		i = (i + 1) & (a->n_rooms - 1);
	return &a->at[i];
}

static bool grow(struct answers *a)
{
	struct answers wider = { .n = a->n, .n_rooms = a->n_rooms ? 2 * a->n_rooms : 1024 };

	if (a->n * 2 < a->n_rooms)
		return true;
	wider.at = calloc(wider.n_rooms, sizeof *wider.at);
	if (!wider.at)
		return false;
	for (size_t i = 0; i < a->n_rooms; i++)
		if (a->at[i].frames)
			*room_of(&wider, a->at[i].address) = a->at[i];
	free(a->at);
	*a = wider;
	return true;
}

static const struct answer *ask(struct symbol_file *f, uint64_t address)
{
	struct dwarf *d = dwarf_of(f);
	struct answers *a = &f->answers;
	struct symbol_frame frames[SYMBOL_FRAMES_MAX];
	Dwarf_Die unit, function = { .addr = NULL };
	struct answer *room, found = { .address = address };
	bool has_unit;

	if (!grow(a))
		return NULL;
	room = room_of(a, address);
	if (room->frames)
		return room;
	has_unit = d && dwarf_position(d, address, &unit, &function);
	if (has_unit)
		found.line = line_at(&unit, address);
	found.n = frames_at(f, &function, found.line, address, frames);
	assert(found.n <= SYMBOL_FRAMES_MAX && (has_unit || found.n <= 1));
	found.frames = malloc((found.n + 1) * sizeof *frames);
	if (!found.frames)
		return NULL;
	memcpy(found.frames, frames, found.n * sizeof *frames);
	*room = found;
	a->n++;
	return room;
}

/* ---------------------------------------------------------------- questions */

bool symbol_has_dwarf(struct symbol_file *f)
{
	return dwarf_of(f);
}

struct symbol_line symbol_line_of(struct symbol_file *f, uint64_t address)
{
	const struct answer *a = ask(f, address);

	return a ? a->line : (struct symbol_line){ .source = NULL };
}

unsigned symbol_frames(struct symbol_file *f, uint64_t address, const struct symbol_frame **frames)
{
	const struct answer *a = ask(f, address);

	*frames = a ? a->frames : NULL;
	return a ? a->n : 0;
}

const char *symbol_source(struct symbol_file *f, uint64_t address)
{
	struct dwarf *d = dwarf_of(f);
	Dwarf_Die function;

	return d && dwarf_function(d, address, &function) ? file_of(&function, DW_AT_decl_file)
							  : NULL;
}

bool symbol_source_is(struct symbol_file *f, uint64_t address, const char *pattern)
{
	const char *path = symbol_source(f, address), *pattern_end = pattern + strlen(pattern),
		   *slash = path ? strrchr(path, '/') : NULL, *end = path ? path + strlen(path) : 0;

	return path && (pattern_glob(pattern, pattern_end, path, end) ||
			(slash && pattern_glob(pattern, pattern_end, slash + 1, end)));
}
