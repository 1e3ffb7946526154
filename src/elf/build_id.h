/* SPDX-License-Identifier: MIT */
/*
 * elf/build_id.h - the build ID of a file: the linker's hash of what it made, in a note.
 *
 * The file is untrusted: libelf and the code here check bounds.
 */
#ifndef ELF_BUILD_ID_H
#define ELF_BUILD_ID_H

#include <libelf.h>
#include <stdbool.h>

enum { ELF_BUILD_ID_HEX = 64 + 1 };

/* elf_build_id - the build ID of file @path in hexadecimal.  False, and "", if it has none. */
bool elf_build_id(const char *path, char hex[ELF_BUILD_ID_HEX]);

/* elf_build_id_of - the same of an open file.  A debug file has it in a section: its program headers
 * are those of the program, and lead elsewhere. */
bool elf_build_id_of(Elf *elf, char hex[ELF_BUILD_ID_HEX]);

#endif
