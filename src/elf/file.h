/* SPDX-License-Identifier: MIT */
/*
 * elf/file.h - an open ELF file, and the offset in it of a program's address.
 *
 * The file is untrusted: libelf checks its bounds.  It is read, not mapped: if it is truncated meanwhile, a mapping
 * raises SIGBUS.  So libelf allocates each part that is used, and its size must have a bound: elf_data().
 */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_file {
	int fd; /* -1: not open */
	Elf *elf;
};

/* elf_file_open - open @path.  False if it is no ELF file, or no regular file: opening a device or
 * a FIFO might block. */
bool elf_file_open(struct elf_file *f, const char *path);
void elf_file_close(struct elf_file *f);

/* elf_file_offset - the offset of the byte at @address in the program; false if the file has
 * none. */
bool elf_file_offset(const struct elf_file *f, uint64_t address, uint64_t *offset);

/* elf_file_table - the first section of @type; elf_file_section - the section of @name.  Or
 * NULL. */
Elf_Scn *elf_file_table(Elf *elf, uint32_t type, GElf_Shdr *h);
Elf_Scn *elf_file_section(Elf *elf, const char *name, GElf_Shdr *h);

/* elf_data - the bytes of @scn; NULL if there are none, or more than ELF_PART_BYTES. */
enum { ELF_PART_BYTES = 16 << 20 };
Elf_Data *elf_data(Elf_Scn *scn, const GElf_Shdr *h);

/* elf_is_function - whether a symbol is a function defined in this file. */
bool elf_is_function(const GElf_Sym *s);

#endif
