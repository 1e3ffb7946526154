/* SPDX-License-Identifier: MIT */
/*
 * analysis/names/lines.h - the source line of an address of a file: "worker.c:88".
 *
 * Only for what is printed: the first address of a file opens its DWARF.  Answers are kept.
 */
#ifndef ANALYSIS_NAMES_LINES_H
#define ANALYSIS_NAMES_LINES_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

enum { LINE_BYTES = 96 };

struct lines;
struct lines *lines_open(void);	   /* NULL: no memory */
void lines_close(struct lines *l); /* accepts NULL */

/*
 * lines_text - the line of @address, in the file's own numbering, of the file @path with @build_id (as
 * symbols_file() takes it).
 *
 * Returns @buffer; "" if it is unknown, or @l is NULL.
 */
const char *lines_text(struct lines *l, const char *path, const char *build_id, uint64_t address,
		       char buffer[LINE_BYTES]);
/* lines_of - the same, with symbols that the caller has. */
const char *lines_of(struct symbols *s, const char *path, const char *build_id, uint64_t address,
		     char buffer[LINE_BYTES]);
/* lines_build_id - @id in hexadecimal, cut to the room. */
void lines_build_id(const uint8_t *id, size_t size, char *text, size_t room);

#endif
