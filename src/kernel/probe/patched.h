/* SPDX-License-Identifier: MIT */
/*
 * kernel/probe/patched.h - whether a probe would end a running process whose code is not that of its file.
 *
 * The kernel takes the instruction under a uprobe from the file: it executes that one, continues behind
 * it, and puts its first byte back in the end.  Where a tracer inside the process has put a jump in its
 * place (duet record --graph, --usdt; uftrace), the rest of the jump is then executed as instructions.
 */
#ifndef KERNEL_PROBE_PATCHED_H
#define KERNEL_PROBE_PATCHED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

/*
 * patched_check - compare the code of all running processes with their file.
 *
 * @path: the file.  @offsets: of the probes, in the file; they are sorted.  @pid: the process that gets
 * the breakpoints; 0: all do.  @probe: the user's text, for the message.
 *
 * Returns 0 if no process that we may read differs at one of the offsets, and -EBUSY with the process
 * in @d if one does.  A process that patches itself later finds the breakpoint and leaves the function
 * alone.
 */
int patched_check(const char *path, uint64_t *offsets, size_t n, pid_t pid, const char *probe,
		  struct diag *d);

#endif
