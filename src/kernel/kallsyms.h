/* SPDX-License-Identifier: MIT */
/* kernel/kallsyms.h - the kernel's functions, kept with a recording: their addresses change at each boot. */
#ifndef KERNEL_KALLSYMS_H
#define KERNEL_KALLSYMS_H

#include "base/diag.h"

/*
 * kernel_kallsyms_write - make the file @path: a line "ADDRESS NAME" or "ADDRESS NAME [MODULE]" for each function,
 * in hexadecimal, not sorted (docs/formats/trace.md).  About 3 MB, 60 ms.
 *
 * Returns 0; -EPERM if the kernel hides addresses from us; or -errno.
 */
int kernel_kallsyms_write(const char *path, struct diag *d);

#endif
