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
/* modules_size - the bytes of these maps now: they have grown if it has changed. */
uint64_t modules_size(const char *const *paths, int n);
void modules_close(struct modules *m); /* accepts NULL */

/* modules_find - locate @address of process @pid at time @clock, in units of the trace's clock.
 * Returns false if it is unknown. */
_Bool modules_find(const struct modules *m, int64_t pid, uint64_t clock, uint64_t address,
		   struct module_location *place);

/*
 * modules_below - locate the code of process @pid at time @clock that begins nearest below @address:
 * the data of a program or library follows its code.
 *
 * @accepts: whether the mapping is the one.  @begin: the address of byte @location->offset.
 *
 * The mappings of that time come first, then later ones.  Returns false if none was accepted.
 */
_Bool modules_below(const struct modules *m, int64_t pid, uint64_t clock, uint64_t address,
		    _Bool (*accepts)(void *context, const struct module_location *location,
				     uint64_t begin),
		    void *context);

/* modules_has - whether anything is known of process @pid. */
_Bool modules_has(const struct modules *m, int64_t pid);

#endif
