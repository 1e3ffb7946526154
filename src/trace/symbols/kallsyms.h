/* SPDX-License-Identifier: MIT */
/*
 * trace/symbols/kallsyms.h - which function of the kernel an address lies in, as the recording
 * tells it.
 *
 * From .duet/kallsyms (docs/formats/trace.md).  It is read when first asked for, and believed no
 * more than anything else in a recording: a line that makes no sense is passed over.
 */
#ifndef TRACE_SYMBOLS_KALLSYMS_H
#define TRACE_SYMBOLS_KALLSYMS_H

#include <stdint.h>

struct kallsyms;

/* kallsyms_open - of the first of the recordings @paths that has them; lent until kallsyms_close().
 * NULL: no memory. */
struct kallsyms *kallsyms_open(const char *const *paths, int n);
void kallsyms_close(struct kallsyms *k); /* accepts NULL */

/* kallsyms_find - the function's name, lent until kallsyms_close(); NULL if nobody knows. */
const char *kallsyms_find(struct kallsyms *k, uint64_t address);

#endif
