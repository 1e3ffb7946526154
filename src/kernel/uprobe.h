/* SPDX-License-Identifier: MIT */
/*
 * kernel/uprobe.h - probes in programs that know nothing of duet: at functions, and at markers (USDT).
 *
 * The kernel puts a breakpoint into the file's pages, and records as for any of its events; so these go to the
 * same instance, follow the same processes and stand in the same trace.
 *
 * uprobe_events is the kernel's, not an instance's.  What we make there is of a group with our instance's name
 * (duet_<pid>_<start time>_<n>); only our instance switches it on; it is removed with the instance, and if
 * we are killed by the next recorder.  Lines are only appended: many may do so at once.
 *
 *	-u      FILE:FUNCTION[%return] [NAME=EXPRESSION[:TYPE]]...
 *	--usdt  FILE:PROVIDER:NAME [NAME[:str]]...
 *
 *	FILE        a path, a command in PATH, or a library in the usual directories
 *	FUNCTION    a glob; C++ as the linker knows it or as it is written
 *	EXPRESSION  arg1 .. arg6, retval, or the kernel's: %di, +8(%sp), @0x1234 (uprobetracer.rst)
 *	TYPE        u8 .. u64, s8 .. s64, or str: the text that it points to; default u64
 */
#ifndef KERNEL_UPROBE_H
#define KERNEL_UPROBE_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/text.h"
#include "kernel/select.h"

struct kernel_uprobe {
	const char *text;
	bool is_usdt;
	const char *filter; /* asked by the kernel; NULL: none */
};

/*
 * kernel_uprobes_make - make the probes, and choose their events.
 *
 * @root: of tracefs.  @instance: the name of ours.  0 or -errno: then kernel_uprobes_remove takes back what was
 * made.  What cannot be fetched is left out, and told in @d although 0 is returned.
 */
int kernel_uprobes_make(int root, const char *instance, const struct kernel_uprobe *wanted, int n,
			struct kernel_selection *s, struct diag *d);
/* kernel_uprobes_remove - all of @instance, which records no more. */
void kernel_uprobes_remove(int root, const char *instance);
/* kernel_uprobes_reap - those whose owner is dead, after kernel_instance_reap. */
void kernel_uprobes_reap(int root);

/* kernel_uprobe_is_ours - whether a tracefs system is made by a recorder. */
bool kernel_uprobe_is_ours(const char *system);

/* kernel_uprobe_file - FILE as a path; false: there is none. */
bool kernel_uprobe_file(const char *name, char *path, size_t size);

#endif
