/* SPDX-License-Identifier: MIT */
/* kernel/threads/thread_changes.h - turns changes of threads (kernel/threads/thread_events.h) into
 * versions in the table of threads. */
#ifndef KERNEL_THREADS_THREAD_CHANGES_H
#define KERNEL_THREADS_THREAD_CHANGES_H

#include "kernel/threads/thread_table.h"

/* Contexts that the kernel reports are never taken from /proc: /proc shows a later state, because
 * events are converted some time after they were recorded. */
#define KERNEL_CONTEXTS_REPORTED                                                                   \
	(KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_PROCNAME) | KERNEL_CONTEXT_BIT(KERNEL_CONTEXT_CGROUP))

/* threads_change - a callback for kernel_thread_events_read(); @table: a struct thread_table. */
void threads_change(void *table, const struct kernel_change *change);

#endif
