/* SPDX-License-Identifier: MIT */
/* find/system/internal.h - the groups of checks, and how one of them is reported. */
#ifndef FIND_SYSTEM_INTERNAL_H
#define FIND_SYSTEM_INTERNAL_H

#include "find/system/system.h"

struct checking {
	const struct find_by *by;
	const char *directory; /* for recordings */
	const char *group;
	find_report *report;
	void *arg;
};

/* check_fine - all is well with @name. */
void check_fine(const struct checking *c, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* check_bad - it is not: @value, and the @remedy.  Texts are shown printable. */
void check_bad(const struct checking *c, const char *name, enum find_level level,
	       const char *remedy, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* check_diag - the same for the reason of a failure; its second line is the remedy. */
void check_diag(const struct checking *c, const char *name, enum find_level level,
		const struct diag *d);

void check_kernel(struct checking *c);
void check_rights(struct checking *c);
void check_paths(struct checking *c);
void check_versions(struct checking *c);
void check_limits(struct checking *c);
void check_libraries(struct checking *c);

/* check_size - "64 MiB", of at least 32 bytes. */
const char *check_size(uint64_t bytes, char text[32]);

#endif
