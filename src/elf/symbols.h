/* SPDX-License-Identifier: MIT */
/*
 * elf/symbols.h - the function at an offset in a program or library on disk.
 *
 * A file is opened at its first lookup, and its functions are sorted once.  If its build ID differs
 * from the recorded one, it has no functions.  A stripped file has those of its separate debug file
 * in /usr/lib/debug/.build-id, if that is installed.  Names are the linker's.
 *
 * One thread at a time.  Files are untrusted: libelf and the code here check bounds.
 */
#ifndef ELF_SYMBOLS_H
#define ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

enum { ELF_BUILD_ID_HEX = 64 + 1 };

struct symbols;

struct symbols *symbols_open(void);    /* NULL: no memory */
void symbols_close(struct symbols *s); /* accepts NULL */

/*
 * symbols_find - the function of file @path that holds its byte @offset.
 *
 * @build_id: in hexadecimal, as recorded; "" if unknown: then any file is accepted.
 *
 * Returns its name, valid until symbols_close(); NULL if there is none.
 */
const char *symbols_find(struct symbols *s, const char *path, const char *build_id,
			 uint64_t offset);

/*
 * symbols_locate - the same, with the position.
 *
 * @into: receives the bytes from the function's start; 0 if there is no function.
 * @address: receives the address in the file's own numbering, as addr2line takes it; @offset if the
 * file has none.
 */
const char *symbols_locate(struct symbols *s, const char *path, const char *build_id,
			   uint64_t offset, uint64_t *into, uint64_t *address);

/* elf_build_id - the file's build ID in hexadecimal.  False, and "", if it has none. */
_Bool elf_build_id(const char *path, char hex[ELF_BUILD_ID_HEX]);

#endif
