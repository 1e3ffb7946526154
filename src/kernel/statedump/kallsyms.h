/* SPDX-License-Identifier: MIT */
/* kernel/statedump/kallsyms.h - stores the kernel's functions with a recording, because their
 * addresses change at each boot. */
#ifndef KERNEL_STATEDUMP_KALLSYMS_H
#define KERNEL_STATEDUMP_KALLSYMS_H

#include "base/diag.h"

/*
 * kernel_kallsyms_write - write the file @path: a line "ADDRESS NAME" or "ADDRESS NAME [MODULE]"
 * for each function, in hexadecimal, not sorted (docs/formats/trace.md). About 3 MB, 60 ms.
 *
 * Returns 0; -EPERM if the kernel hides addresses from this process; or -errno.
 */
int kernel_kallsyms_write(const char *path, struct diag *d);

/*
 * kernel_kallsyms_again - append the functions of modules that were loaded, or moved, since the
 * last call.
 *
 * @path: NULL: only update @modules; a missing file is not created.
 * @modules: the list from the last call, NULL at first; the caller frees it.
 * Without new modules the call only reads one small file of /proc. A module that is loaded and
 * removed between two calls is missed.
 *
 * Returns 0 or -errno.
 */
int kernel_kallsyms_again(const char *path, char **modules);

#endif
