/* SPDX-License-Identifier: MIT */
/*
 * collect/files.h - the parts of a recording's directory that are no trace, and where the traces lie.
 *
 *	PATH/ust/uid/UID/BITS-bit    applications
 *	PATH/kernel                  the kernel
 *	PATH/.duet/clock             what all clocks said, line by line
 */
#ifndef COLLECT_FILES_H
#define COLLECT_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "collect/drain.h"

/* Whether the directory @path can be read and is empty. */
bool files_are_none(const char *path);
/* files_remove - what a recording has made in @path; the directory itself stays. */
void files_remove(const char *path);

/* files_open_application - the trace of applications in the recording @path. */
int files_open_application(struct drain **d, struct pool *pool, const char *path,
			   uint64_t clock_offset_ns, struct diag *diag);

/* files_open_clock - NULL, with errno, if it cannot be written. */
FILE *files_open_clock(const char *path, const struct abi_clock *clock);
/* files_add_clock - a line of now. */
void files_add_clock(FILE *f, const struct abi_clock *clock);

#endif
