/* SPDX-License-Identifier: MIT */
/*
 * kernel/statedump/statedump.h - what existed when recording began: threads, and open files.
 *
 * Read from /proc after recording has started, so that nothing falls between; what changes later,
 * events tell.  Written as LTTng's lttng_statedump_* events into a stream of its own.
 */
#ifndef KERNEL_STATEDUMP_STATEDUMP_H
#define KERNEL_STATEDUMP_STATEDUMP_H

#include "kernel/convert/cpu.h"

/*
 * kernel_statedump - write it all.
 *
 * @pids, @n_pids: whose open files to write down; all processes' if @n_pids is negative.  Threads
 * are always all there are: a switch may name any of them.
 */
int kernel_statedump(struct kernel_drain *k, const pid_t *pids, int n_pids, struct diag *d);

#endif
