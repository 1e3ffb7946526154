/* SPDX-License-Identifier: MIT */
/*
 * trace/text/places.h - the variable at an address of a process, and the line of a function.
 *
 * The recording has the code that each process mapped (trace/symbols/modules.h).  The data of a
 * file lies at a fixed distance from its code, so the code of a file also locates its variables,
 * wherever it was mapped at that time.  A file that is not the recorded one (build ID) has no names.
 *
 * One thread at a time.
 */
#ifndef TRACE_TEXT_PLACES_H
#define TRACE_TEXT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/text.h"

struct places;
struct symbol_file;
struct modules;
struct symbols;

struct variable_place {
	struct symbol_file *file; /* NULL: none */
	const char *path;	  /* borrowed until places_close() */
	uint64_t address;	  /* in the file's own numbering */
};

/* places_open - for the @n recordings @paths, which are borrowed.  0 or -ENOMEM, with the reason in @d. */
int places_open(struct places **p, const char *const *paths, int n, struct diag *d);
void places_close(struct places *p); /* accepts NULL */

/* Both are the places'. */
struct modules *places_modules(const struct places *p);
struct symbols *places_symbols(const struct places *p);

/* places_has - whether the recording has mappings of process @pid of the host. */
bool places_has(const struct places *p, int64_t pid);

/* places_find - the file whose code or data lies at @address of process @pid at time @clock, in units of
 * the trace's clock.  False if it is unknown. */
bool places_find(const struct places *p, int64_t pid, uint64_t clock, uint64_t address,
		 struct variable_place *place);

/* places_name - both: append the variable at @address.  False, and nothing, if it is unknown. */
bool places_name(const struct places *p, int64_t pid, uint64_t clock, uint64_t address,
		 struct text *t);

/* places_refresh - the recordings have grown: read the mappings that are new.  0 or -ENOMEM. */
int places_refresh(struct places *p);

/* places_is_stack - whether @address lies on the stack of the process's first thread. */
bool places_is_stack(const struct places *p, int64_t pid, uint64_t clock, uint64_t address);

/* places_variable - append "audit_lock in server", "state+0x8 in server"; "server+0x4040" if the file
 * has no such symbol. */
void places_variable(const struct places *p, const struct variable_place *place, struct text *t);

/* places_file_name - the last component of @path, without the kernel's " (deleted)": returns its
 * begin, and sets its size. */
const char *places_file_name(const char *path, int *size);

#endif
