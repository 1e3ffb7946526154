/* SPDX-License-Identifier: MIT */
/*
 * symbol/demangle.h - linker's names of C++ and Rust as the source writes them.
 *
 * Names are untrusted: the work for one is bounded by the length of its result, and a name whose
 * result is longer than DEMANGLED_MAX stays as it is.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum { DEMANGLED_MAX = 16384 };

/*
 * demangle - write the source's name of @name to @to, with its NUL.
 *
 * False if @name is no name of C++ or Rust, or is malformed, or the result has no room in
 * @size bytes.
 */
bool demangle(const char *name, char *to, size_t size);

/* Results that were asked for before.  One thread at a time. */
struct demangled;

struct demangled *demangled_open(void); /* NULL: no memory */
void demangled_close(struct demangled *d);

/* demangled_name - the source's name of @name, valid until demangled_close(); or @name. */
const char *demangled_name(struct demangled *d, const char *name);

/* demangled_is - whether glob @pattern matches linker's name @name without its version, or
 * @written, its source's name, with parameters or without. */
bool demangled_is(const char *name, const char *written, const char *pattern);

#endif
