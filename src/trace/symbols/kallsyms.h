/* SPDX-License-Identifier: MIT */
/*
 * trace/symbols/kallsyms.h - finds the kernel function that holds an address, from the recording.
 *
 * The source is .duet/kallsyms (docs/formats/trace.md).  It is read at the first search.  Its
 * content is untrusted: malformed lines are skipped.
 */
#ifndef TRACE_SYMBOLS_KALLSYMS_H
#define TRACE_SYMBOLS_KALLSYMS_H

#include <stdint.h>

struct kallsyms;

/* kallsyms_open - use the first of the @n recordings @paths that has the file.  @paths is borrowed
 * until kallsyms_close().  Returns NULL if there is no memory. */
struct kallsyms *kallsyms_open(const char *const *paths, int n);
void kallsyms_close(struct kallsyms *k); /* accepts NULL */

/* kallsyms_find - returns the function's name, valid until kallsyms_close(); NULL if unknown. */
const char *kallsyms_find(struct kallsyms *k, uint64_t address);
/* kallsyms_find_in - the same; sets @begin to the function's address, and @end to the next one's, 0:
 * unknown. */
const char *kallsyms_find_in(struct kallsyms *k, uint64_t address, uint64_t *begin, uint64_t *end);

#endif
