/* SPDX-License-Identifier: MIT */
/* symbol/internal.h - shared by the sources of this room. */
#ifndef SYMBOL_INTERNAL_H
#define SYMBOL_INTERNAL_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "elf/build_id.h"
#include "symbol/symbol.h"

enum { SEGMENTS_MAX = 64 };

struct segment {
	uint64_t offset, address, size;
	uint64_t memory; /* bytes in memory: with .bss, which the file does not have */
	bool is_code;
};

struct alias {
	uint64_t begin, end;
	const char *name; /* in a string table, which the Dwfl keeps mapped */
};

struct dwarf; /* units.c */

/* All that is known of one address. */
struct answer {
	uint64_t address;
	struct symbol_frame *frames; /* owned; NULL: the room is free */
	uint32_t n;
	struct symbol_line line;
};

struct answers {
	struct answer *at;
	size_t n, n_rooms; /* a power of two, at most half of them used */
};

struct symbol_file {
	struct symbols *cache;
	char *path, *build_id; /* as asked for */
	Dwfl *dwfl;	       /* NULL: nothing was found */
	Dwfl_Module *module;
	Elf *elf; /* the dwfl's; of the program itself, or of its debug file if only that is there */
	bool is_program; /* elf is not a debug file, so its offsets are those of memory mappings */
	char id[ELF_BUILD_ID_HEX];
	struct segment segments[SEGMENTS_MAX];
	int n_segments;
	bool has_functions; /* they were read */
	struct symbol_function *functions;
	size_t n_functions;
	struct alias *aliases; /* by address, then shortest first */
	size_t n_aliases;
	uint32_t *by_name;	 /* indices of aliases, by name */
	bool has_variables;	 /* they were read */
	struct alias *variables; /* by address, then shortest first */
	size_t n_variables;
	struct dwarf *dwarf;
	struct answers answers;
};

/* find_program - open the Dwfl of @f by its path and build ID.  Leaves it NULL if there is none. */
void find_program(struct symbol_file *f);

/* find_alternate - the file with build ID @id that `.gnu_debugaltlink` names @name, in a debug file
 * @of.  An open descriptor, or -1. */
int find_alternate(const char *of, const char *name, const char *id);

void answers_free(struct answers *a);

/* functions_read - fill functions and aliases of @f. */
void functions_read(struct symbol_file *f);

/* dwarf_of - the DWARF of @f, opened at the first call; NULL: it has none. */
struct dwarf *dwarf_of(struct symbol_file *f);
void dwarf_free(struct dwarf *d);

/* dwarf_function - the DIE of the function that holds @address.  False if there is none. */
bool dwarf_function(struct dwarf *d, uint64_t address, Dwarf_Die *function);

#endif
