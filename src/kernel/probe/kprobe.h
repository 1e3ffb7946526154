/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/kprobe.h - probes in the kernel's own functions, as events with what they are called
 *with and return.
 *
 *	--kprobe  FUNCTION[+OFFSET | %return] [NAME=EXPRESSION[:TYPE]]...
 *	--fprobe  FUNCTION[%return] [NAME=EXPRESSION[:TYPE]]...
 *
 *	FUNCTION    a name, MODULE:NAME, or a glob on those that can be traced
 *	EXPRESSION  arg1 .. arg6, retval, or the kernel's: %di, +8($arg1), task->pid
 *(kprobetrace.rst, fprobetrace.rst); $arg* alone: all, by their names, where the kernel has BTF
 *(6.5) TYPE        u8 .. u64, s8 .. s64, or str: the text that it points to, the kernel's or a
 *program's; default u64
 *
 * A kprobe is a breakpoint, or a jump where that is possible; an fprobe a call at a function's
 *entry.
 */
#ifndef KERNEL_PROBE_KPROBE_H
#define KERNEL_PROBE_KPROBE_H

#include "kernel/tracefs/format.h"
#include "kernel/probe/probe.h"

/* So many calls of a function may be under way and all their returns be recorded: the kernel's own
 * limit may be 10.  Of fprobes it has none since Linux 6.14. */
enum { KERNEL_RETURNS_MAX = 512 };

/* kernel_kprobe_make - those that @p->wanted asks for.  0 or -errno. */
int kernel_kprobe_make(struct kernel_probes *p);
/*
 * kernel_kprobe_graph - what a graph of the functions @patterns alone records, where the kernel has
 * none in instances: a probe at their entries and one at their returns, of the names and, but for
 * the duration, the fields of a graph's events.  0 or -errno.
 */
int kernel_kprobe_graph(int root, const char *instance, const char *const *patterns, int n,
			struct kernel_selection *s, struct diag *d);
/* kernel_kprobe_rename - the fields of such a probe's event, if @name is one's. */
void kernel_kprobe_rename(struct kernel_format *f, const char *name);

#endif
