/* SPDX-License-Identifier: MIT */
/*
 * elf/symbols.h - the function at a place in a program or library on disk.
 *
 * Files are opened when first asked for, and their functions sorted once.  A file that is another
 * than the one recorded (build IDs differ) has no functions; a stripped one has those of its
 * separate debug file in /usr/lib/debug/.build-id, if that is installed.  Names are as the linker
 * knows them.
 *
 * One thread at a time.  Files may be anything: libelf and bounds checked here.
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
 * @build_id: in hexadecimal, as recorded; "" if unknown: then the file is believed.
 *
 * Returns its name, lent until symbols_close(); NULL if there is none.
 */
const char *symbols_find(struct symbols *s, const char *path, const char *build_id,
			 uint64_t offset);

/* symbols_locate - the same, and where: @into: bytes behind the function's beginning, 0 if there is
 * none; @address: as the file itself counts them (what addr2line takes), @offset if it does not
 * say. */
const char *symbols_locate(struct symbols *s, const char *path, const char *build_id,
			   uint64_t offset, uint64_t *into, uint64_t *address);

/* elf_build_id - of a file, in hexadecimal.  False, and "", if it has none. */
_Bool elf_build_id(const char *path, char hex[ELF_BUILD_ID_HEX]);

#endif
