/* SPDX-License-Identifier: MIT */
/*
 * symbol/each.h - all functions of a file, by each of their names: for probes.
 */
#ifndef SYMBOL_EACH_H
#define SYMBOL_EACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct each_function {
	const char *name;    /* the linker's name, without a version */
	const char *written; /* the source's name; NULL: the same */
	uint64_t offset;     /* in the file */
};

/*
 * each_function - call @visit for each name of each function of @path, ascending by address.
 *
 * A result other than 0 ends the walk and is returned.  0; -ENOEXEC if it is no ELF program or
 * library; another negative errno.  Texts are valid during the visit.
 */
int each_function(const char *path, int (*visit)(void *arg, const struct each_function *f),
		  void *arg, struct diag *d);

/* each_function_is - whether @pattern, a glob, matches one of the function's names. */
bool each_function_is(const struct each_function *f, const char *pattern);

#endif
