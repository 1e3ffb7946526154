/* SPDX-License-Identifier: MIT */
/*
 * symbol/symbol.h - functions, source lines and inlined calls of programs and libraries on disk.
 *
 * A file is identified by its build ID.  These places are searched, and the first file with that
 * build ID is taken, for code, names and DWARF each:
 *
 *   - the recorded path; the debug files of /usr/lib/debug (by build ID, by .gnu_debuglink)
 *   - .gnu_debugdata in the file itself (MiniDebugInfo), .gnu_debugaltlink (dwz)
 *   - the cache of debuginfod: $DEBUGINFOD_CACHE_PATH,
 *     $XDG_CACHE_HOME/debuginfod_client, ~/.cache/debuginfod_client
 *
 * Nothing is asked over the network.  A file is opened at its first use; its DWARF is opened at the
 * first question that needs it.  Answers about addresses are kept, so a report may ask again.
 *
 * Addresses are those of the file's own numbering (st_value, as addr2line takes them).  Names are
 * the linker's; symbol_written() has the source's.
 *
 * All texts and structs returned here are owned by the cache and valid until symbols_close().
 * One thread at a time.  Files are untrusted: libelf, libdw and the code here check bounds.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;	    /* the cache */
struct symbol_file; /* one file of it */

struct symbol_function {
	uint64_t begin, end; /* addresses; end is behind the last byte */
	const char *name;    /* the shortest of its names */
	uint32_t alias;	     /* for symbol_alias() */
	uint32_t n_aliases;  /* all its names, at least 1 */
};

struct symbol_line {
	const char *source; /* path as the compiler recorded it; NULL: unknown */
	uint32_t line;	    /* 0: unknown */
	uint32_t column;    /* 0: unknown */
};

/* A function that holds an address: the one of the symbol table, or one inlined into it. */
struct symbol_frame {
	const char *name;      /* the linker's name, or that of the source if it has no other */
	struct symbol_line at; /* where control is in it */
	bool is_inlined;       /* into the next frame of the list */
};

enum { SYMBOL_FRAMES_MAX = 32 };

struct symbols *symbols_open(void);    /* NULL: no memory */
void symbols_close(struct symbols *s); /* accepts NULL */

/*
 * symbols_file - the file @path.
 *
 * @build_id: in hexadecimal, as recorded; "" if unknown: then any file at @path is accepted.
 *
 * Never fails for a bad file: that one has no functions.  NULL: no memory, or more than 4096 files.
 */
struct symbol_file *symbols_file(struct symbols *s, const char *path, const char *build_id);

/* symbol_path - the path that symbols_file() was given. */
const char *symbol_path(const struct symbol_file *f);

/* symbol_address - the address of byte @offset of the file.  False if no segment has it. */
bool symbol_address(const struct symbol_file *f, uint64_t offset, uint64_t *address);

/* symbol_functions - all functions, ascending by address, one for each begin.  Returns the
 * number. */
size_t symbol_functions(struct symbol_file *f, const struct symbol_function **functions);

/* symbol_at - the function that holds @address; NULL: none is known. */
const struct symbol_function *symbol_at(struct symbol_file *f, uint64_t address);

/* symbol_named - the function with linker's name @name, which may be an alias; NULL: there is none.
 * A name of several functions, as static ones may have, gives the one at the lowest address. */
const struct symbol_function *symbol_named(struct symbol_file *f, const char *name);

/* symbol_alias - name @i of function @n of the file, i < n->n_aliases. */
const char *symbol_alias(const struct symbol_file *f, const struct symbol_function *n, uint32_t i);

/* symbol_is - whether glob @pattern matches one of the function's names: each linker's name, and
 * its source's name with and without parameters. */
bool symbol_is(struct symbol_file *f, const struct symbol_function *n, const char *pattern);

/*
 * symbol_bias - the distance of addresses in a process from those of the file.
 *
 * @begin: where the process has mapped code, from byte @offset of the file on.
 *
 * Returns false if no segment of code begins there.
 */
bool symbol_bias(const struct symbol_file *f, uint64_t offset, uint64_t begin, uint64_t *bias);

/* symbol_holds - whether the file has @address in memory: code, data, or .bss. */
bool symbol_holds(const struct symbol_file *f, uint64_t address);

/*
 * symbol_variable_at - the variable that holds @address.
 *
 * @into: receives the bytes from its begin.
 *
 * Returns the linker's name; NULL: none is known, as of local variables of a stripped file.
 */
const char *symbol_variable_at(struct symbol_file *f, uint64_t address, uint64_t *into);

/*
 * symbol_written - linker's name @name as the source writes it: C++ and Rust demangled.
 *
 * Returns @name itself if it is neither, or cannot be demangled.
 */
const char *symbol_written(struct symbols *s, const char *name);

/* ---------------------------------------------------------------- from DWARF */

/* symbol_has_dwarf - whether there is DWARF for the file; else the functions below find nothing. */
bool symbol_has_dwarf(struct symbol_file *f);

/* symbol_source - the source file that defines the function at @address; NULL: unknown. */
const char *symbol_source(struct symbol_file *f, uint64_t address);

/* symbol_source_is - whether glob @pattern matches symbol_source()'s path or its last component. */
bool symbol_source_is(struct symbol_file *f, uint64_t address, const char *pattern);

/* symbol_line_of - source file and line of @address; source is NULL if unknown. */
struct symbol_line symbol_line_of(struct symbol_file *f, uint64_t address);

/*
 * symbol_frames - the functions that hold @address: the innermost inlined one first, last the one
 * that really is there.
 *
 * Returns how many; at most SYMBOL_FRAMES_MAX, the outermost are left out.  0: none is known.
 */
unsigned symbol_frames(struct symbol_file *f, uint64_t address, const struct symbol_frame **frames);

/* ---------------------------------------------------------------- by offset */

/*
 * symbols_find - the function of file @path that holds its byte @offset.
 *
 * Returns its linker's name; NULL if there is none.
 */
const char *symbols_find(struct symbols *s, const char *path, const char *build_id,
			 uint64_t offset);

/* symbols_find_written - the same, as the source writes the name: for people. */
const char *symbols_find_written(struct symbols *s, const char *path, const char *build_id,
				 uint64_t offset);

/*
 * symbols_locate - as symbols_find, with the position.
 *
 * @into: receives the bytes from the function's start; 0 if there is no function.
 * @address: receives the address in the file's own numbering; @offset if the file has none.
 */
const char *symbols_locate(struct symbols *s, const char *path, const char *build_id,
			   uint64_t offset, uint64_t *into, uint64_t *address);

#endif
