/* SPDX-License-Identifier: MIT */
/* kernel/threads/thread_changes.h - what the kernel tells of threads
 * (kernel/threads/thread_events.h) as versions in the table of them. */
#ifndef KERNEL_THREADS_THREAD_CHANGES_H
#define KERNEL_THREADS_THREAD_CHANGES_H

#include "kernel/threads/thread_table.h"

/* What the kernel tells is not taken from a look, which knows what was only later: events are
 * converted some time after they were recorded. */
#define KERNEL_CONTEXTS_TOLD                                                                       \
	(KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME) | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP))

/* threads_change - for kernel_thread_events_read(); @table: a struct thread_table. */
void threads_change(void *table, const struct kernel_change *change);

#endif
