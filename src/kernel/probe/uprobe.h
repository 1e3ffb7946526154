/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/uprobe.h - probes in programs that need no preparation: at functions, and at markers
 * (USDT).
 *
 * The kernel puts a breakpoint into the file's pages and records an event like any other. So these
 * events go to the same instance, follow the same processes and appear in the same trace.
 *
 * Adding and removing them: kernel/probe/probe.h. Probes in the kernel: kernel/probe/kprobe.h.
 *
 * -u      FILE:FUNCTION[%return] [NAME=EXPRESSION[:TYPE]]...
 * --usdt  FILE:PROVIDER:NAME [NAME[:str]]...
 *
 * FILE        a path, a command in PATH, or a library in the usual directories
 * FUNCTION    a glob; C++ names as in the symbol table or as written in the source
 * EXPRESSION  arg1 .. arg6, retval, or the kernel's: %di, +8(%sp), @0x1234 (uprobetracer.rst)
 * TYPE        u8 .. u64, s8 .. s64, or str: the text that it points to; default u64
 */
#ifndef KERNEL_PROBE_UPROBE_H
#define KERNEL_PROBE_UPROBE_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/probe/probe.h"

/*
 * kernel_uprobes_make - make all requested probes, also those in the kernel, and select their
 * events.
 *
 * @root: of tracefs. @instance: the name of duet's instance.
 * Returns 0, or -errno: then kernel_probes_remove() removes the probes made so far. Arguments that
 * cannot be fetched are left out and reported in @d although the result is 0.
 */
int kernel_uprobes_make(int root, const char *instance, const struct kernel_uprobe *probe, int n,
			struct kernel_selection *s, struct diag *d);
/* kernel_uprobe_file - resolve FILE to a path; false: not found. */
bool kernel_uprobe_file(const char *name, char *path, size_t size);

#endif
