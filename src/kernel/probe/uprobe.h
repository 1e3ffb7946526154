/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/uprobe.h - probes in programs that know nothing of duet: at functions, and at
 *markers (USDT).
 *
 * The kernel puts a breakpoint into the file's pages, and records as for any of its events; so
 *these go to the same instance, follow the same processes and stand in the same trace.
 *
 * How they are put there and taken back: kernel/probe/probe.h.  Those in the kernel:
 *kernel/probe/kprobe.h.
 *
 *	-u      FILE:FUNCTION[%return] [NAME=EXPRESSION[:TYPE]]...
 *	--usdt  FILE:PROVIDER:NAME [NAME[:str]]...
 *
 *	FILE        a path, a command in PATH, or a library in the usual directories
 *	FUNCTION    a glob; C++ as the linker knows it or as it is written
 *	EXPRESSION  arg1 .. arg6, retval, or the kernel's: %di, +8(%sp), @0x1234 (uprobetracer.rst)
 *	TYPE        u8 .. u64, s8 .. s64, or str: the text that it points to; default u64
 */
#ifndef KERNEL_PROBE_UPROBE_H
#define KERNEL_PROBE_UPROBE_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/probe/probe.h"

/*
 * kernel_uprobes_make - make the probes, also those in the kernel, and choose their events.
 *
 * @root: of tracefs.  @instance: the name of ours.  0 or -errno: then kernel_probes_remove takes
 * back what was made.  What cannot be fetched is left out, and told in @d although 0 is returned.
 */
int kernel_uprobes_make(int root, const char *instance, const struct kernel_uprobe *wanted, int n,
			struct kernel_selection *s, struct diag *d);
/* kernel_uprobe_file - FILE as a path; false: there is none. */
bool kernel_uprobe_file(const char *name, char *path, size_t size);

#endif
