/* SPDX-License-Identifier: MIT */
/*
 * elf/probe_points.h - the places in a program or library on disk where the kernel may set a probe.
 *
 * These are its functions, and the markers of sys/sdt.h (USDT), which lie in notes of the section
 * .note.stapsdt.
 *
 * A C++ function has the linker's name (_ZN4shop5placeEi).  If libstdc++ is installed it also has
 * the source's name with parameters (shop::place(int)) and without (shop::place).
 *
 * The file is untrusted: libelf and the code here check its bounds.
 */
#ifndef ELF_PROBE_POINTS_H
#define ELF_PROBE_POINTS_H

#include <stdint.h>

#include "base/diag.h"

struct elf_function {
	const char *name;    /* the linker's name */
	const char *written; /* the source's name; NULL: the same */
	uint64_t offset;     /* in the file */
};

struct elf_marker {
	const char *provider, *name;
	const char *arguments; /* "-4@%edi 8@-16(%rbp)" */
	uint64_t offset;
	uint64_t semaphore; /* offset of its counter; 0: none */
};

/*
 * elf_functions, elf_markers - call @visit for each of @path; a result other than 0 ends the scan
 * and is returned.
 *
 * 0; -ENOEXEC if it is no ELF file; another negative errno.  Texts are valid during the visit.
 */
int elf_functions(const char *path, int (*visit)(void *arg, const struct elf_function *f),
		  void *arg, struct diag *d);
int elf_markers(const char *path, int (*visit)(void *arg, const struct elf_marker *m), void *arg,
		struct diag *d);

/* elf_function_is - whether @pattern, a glob, matches one of the function's names. */
_Bool elf_function_is(const struct elf_function *f, const char *pattern);

#endif
