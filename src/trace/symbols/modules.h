/* SPDX-License-Identifier: MIT */
/*
 * trace/symbols/modules.h - which file an address of a process lay in, as the recording tells it.
 *
 * From .duet/maps of recordings (docs/formats/trace.md), which the collector writes when programs
 * join, and later if their maps change.  It is believed no more than anything else in a recording:
 * a line that makes no sense is passed over.
 */
#ifndef TRACE_SYMBOLS_MODULES_H
#define TRACE_SYMBOLS_MODULES_H

#include <stdint.h>

#include "base/diag.h"

struct modules;

struct module_location {
	const char *path, *build_id; /* lent until modules_close(); build_id: hexadecimal, or "" */
	uint64_t offset;	     /* bytes in the file */
	uint32_t number;	     /* of the mapping, unique: for caches */
};

/* modules_open - of the recordings @paths; what has no maps is passed over.  Returns 0 or -ENOMEM.
 */
int modules_open(struct modules **m, const char *const *paths, int n, struct diag *d);
void modules_close(struct modules *m); /* accepts NULL */

/* modules_find - @address of process @pid at time @clock (of the trace's clock).  False if nobody
 * knows. */
_Bool modules_find(const struct modules *m, int64_t pid, uint64_t clock, uint64_t address,
		   struct module_location *place);

#endif
