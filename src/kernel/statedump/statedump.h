/* SPDX-License-Identifier: MIT */
/*
 * kernel/statedump/statedump.h - the state when recording began: threads, open files, mappings and
 * parts of the machine.
 *
 * It is read from /proc after recording has started, so that no change is missed; events report
 * later changes. It is written as LTTng's lttng_statedump_* events into a stream of its own.
 */
#ifndef KERNEL_STATEDUMP_STATEDUMP_H
#define KERNEL_STATEDUMP_STATEDUMP_H

#include "kernel/convert/cpu.h"

/*
 * kernel_statedump - write the state.
 *
 * @pids, @n_pids: the processes with open files to write; all processes' if @n_pids is negative.
 * @only_followed: write the threads of @pids alone, and no parts of the machine; else the threads of the whole
 * machine, because a switch may name any of them.
 * @sockets: write the addresses of sockets too.
 */
int kernel_statedump(struct kernel_drain *k, const pid_t *pids, int n_pids, bool only_followed,
		     bool sockets, struct diag *d);

#endif
