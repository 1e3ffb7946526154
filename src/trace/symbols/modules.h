/* SPDX-License-Identifier: MIT */
/*
 * trace/symbols/modules.h - finds the file that was mapped at an address of a process, from the
 * recording.
 *
 * The source is .duet/maps (docs/formats/trace.md).  The collector writes it when programs attach,
 * and later if their mappings change.  Its content is untrusted: malformed lines are skipped.
 */
#ifndef TRACE_SYMBOLS_MODULES_H
#define TRACE_SYMBOLS_MODULES_H

#include <stdint.h>

#include "base/diag.h"

struct modules;

struct module_location {
	/* valid until modules_close(); build_id is hexadecimal, or "" */
	const char *path, *build_id;
	uint64_t offset; /* bytes in the file */
	uint32_t number; /* of the mapping, unique: an index for caches */
};

/* modules_open - read the maps of the @n recordings @paths.  A recording without maps is no error.
 * Returns 0 or -ENOMEM. */
int modules_open(struct modules **m, const char *const *paths, int n, struct diag *d);
void modules_close(struct modules *m); /* accepts NULL */

/* modules_find - locate @address of process @pid at time @clock, in units of the trace's clock.
 * Returns false if it is unknown. */
_Bool modules_find(const struct modules *m, int64_t pid, uint64_t clock, uint64_t address,
		   struct module_location *place);

#endif
