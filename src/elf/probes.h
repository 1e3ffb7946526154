/* SPDX-License-Identifier: MIT */
/*
 * elf/probes.h - where in a program or library on disk the kernel may set a probe: its functions,
 * and the markers of sys/sdt.h (USDT), which lie in notes of the section .note.stapsdt.
 *
 * Names of C++ functions are known as the linker has them (_ZN4shop5placeEi), as they are written
 * (shop::place(int)) and so without parameters (shop::place), if libstdc++ is there to say.
 *
 * The file may be anything: libelf and bounds checked here.
 */
#ifndef ELF_PROBES_H
#define ELF_PROBES_H

#include <stdint.h>

#include "base/diag.h"

struct elf_function {
	const char *name;    /* as the linker knows it */
	const char *written; /* as it is written; NULL: the same */
	uint64_t offset;     /* in the file */
};

struct elf_marker {
	const char *provider, *name;
	const char *arguments; /* "-4@%edi 8@-16(%rbp)" */
	uint64_t offset;
	uint64_t semaphore; /* offset of its counter; 0: none */
};

/*
 * elf_functions, elf_markers - visit all of @path; the visit's result other than 0 ends it, and is
 * returned.
 *
 * 0; -ENOEXEC if it is no ELF file; another negative errno.  Texts are valid during the visit.
 */
int elf_functions(const char *path, int (*visit)(void *arg, const struct elf_function *f),
		  void *arg, struct diag *d);
int elf_markers(const char *path, int (*visit)(void *arg, const struct elf_marker *m), void *arg,
		struct diag *d);

/* elf_function_is - whether @pattern, a glob on one of its names, means the function. */
_Bool elf_function_is(const struct elf_function *f, const char *pattern);

#endif
