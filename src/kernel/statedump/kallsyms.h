/* SPDX-License-Identifier: MIT */
/* kernel/statedump/kallsyms.h - the kernel's functions, kept with a recording: their addresses
 * change at each boot. */
#ifndef KERNEL_STATEDUMP_KALLSYMS_H
#define KERNEL_STATEDUMP_KALLSYMS_H

#include "base/diag.h"

/*
 * kernel_kallsyms_write - make the file @path: a line "ADDRESS NAME" or "ADDRESS NAME [MODULE]" for
 * each function, in hexadecimal, not sorted (docs/formats/trace.md).  About 3 MB, 60 ms.
 *
 * Returns 0; -EPERM if the kernel hides addresses from us; or -errno.
 */
int kernel_kallsyms_write(const char *path, struct diag *d);

/*
 * kernel_kallsyms_again - append to it the functions of modules that have come, or moved, since the
 * last call.
 *
 * @path: NULL: only see which there are; nothing happens to a file that is not there.  @modules: of
 * the last call, at first to NULL; to be freed.  If there is nothing new it is one small file of
 * /proc that is read.  A module that came and went between two calls is missed.
 *
 * Returns 0 or -errno.
 */
int kernel_kallsyms_again(const char *path, char **modules);

#endif
