/* SPDX-License-Identifier: MIT */
/* elf/file.h - an ELF file, open; and where in it an address of its program lies.  It may be
 * anything. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_file {
	int fd; /* -1: not open */
	Elf *elf;
};

/* elf_file_open - false if it is none; what is no regular file (a device, a FIFO) is not opened: it
 * might wait. */
bool elf_file_open(struct elf_file *f, const char *path);
void elf_file_close(struct elf_file *f);

/* elf_file_offset - of the byte that a program has at @address; false if the file has none. */
bool elf_file_offset(const struct elf_file *f, uint64_t address, uint64_t *offset);

/* elf_file_table - the first section of @type, or NULL; elf_file_section - the one of this name. */
Elf_Scn *elf_file_table(Elf *elf, uint32_t type, GElf_Shdr *h);
Elf_Scn *elf_file_section(Elf *elf, const char *name, GElf_Shdr *h);

/* elf_is_function - whether a symbol is one that is defined here. */
bool elf_is_function(const GElf_Sym *s);

#endif
