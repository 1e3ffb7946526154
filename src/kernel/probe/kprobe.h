/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/kprobe.h - probes in the kernel's own functions: events with arguments and results.
 *
 * --kprobe  FUNCTION[+OFFSET | %return] [NAME=EXPRESSION[:TYPE]]...
 * --fprobe  FUNCTION[%return] [NAME=EXPRESSION[:TYPE]]...
 *
 * FUNCTION    a name, MODULE:NAME, or a glob on those that can be traced
 * EXPRESSION  arg1 .. arg6, retval, or the kernel's: %di, +8($arg1), task->pid
 *             (kprobetrace.rst, fprobetrace.rst); $arg* alone: all, by their names, where the
 *             kernel has BTF (6.5)
 * TYPE        u8 .. u64, s8 .. s64, or str: the text that it points to, the kernel's or a
 *             program's; default u64
 *
 * A kprobe is a breakpoint, or a jump where that is possible. An fprobe is a call at a function's
 * entry.
 */
#ifndef KERNEL_PROBE_KPROBE_H
#define KERNEL_PROBE_KPROBE_H

#include "kernel/tracefs/format.h"
#include "kernel/probe/probe.h"

/* How many calls of a function may be in progress with all their returns recorded; the kernel's
 * default may be 10. fprobes have no limit since Linux 6.14. */
enum { KERNEL_RETURNS_MAX = 512 };

/* kernel_kprobe_make - make the probes of @p->probe. 0 or -errno. */
int kernel_kprobe_make(struct kernel_probes *p);
/*
 * kernel_kprobe_graph - replaces a graph of the functions @patterns alone where the kernel has no
 * graph tracer in instances. It puts a probe at their entries and one at their returns, with the
 * names and, except for the duration, the fields of a graph's events. 0 or -errno.
 */
int kernel_kprobe_graph(int root, const char *instance, const char *const *patterns, int n,
			struct kernel_selection *s, struct diag *d);
/* kernel_kprobe_rename - rename the fields of such a probe's event, if @name is one. */
void kernel_kprobe_rename(struct kernel_format *f, const char *name);

#endif
