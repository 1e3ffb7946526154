/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/cgroup.h - the processes in some cgroups and their descendants, including
 * processes that enter later.
 *
 * The kernel itself follows children. It also reports processes that move into a cgroup
 * (kernel/threads/thread_events.h); then the cgroups' process lists are read. Events of a process
 * between its entry and the reading of the list, some milliseconds, are missed. A process that
 * leaves is still followed.
 */
#ifndef KERNEL_THREADS_CGROUP_H
#define KERNEL_THREADS_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "kernel/threads/thread_events.h"

struct kernel_cgroups;

/* kernel_cgroups_open - @dirs: the cgroups' directories. @root, @clock: as for
 * kernel_thread_events_open(). 0 or -errno. */
int kernel_cgroups_open(struct kernel_cgroups **c, const char *const *dirs, int n, int root,
			const struct abi_clock *clock, struct diag *d);
/* kernel_cgroups_close - accepts NULL. */
void kernel_cgroups_close(struct kernel_cgroups *c);

/* kernel_cgroups_begin - the kernel reports new members from now on. 0 or -errno. */
int kernel_cgroups_begin(struct kernel_cgroups *c, struct diag *d);

/* kernel_cgroups_have_changed - whether a process may have entered since the last call. Returns
 * true at least once a second. */
bool kernel_cgroups_have_changed(struct kernel_cgroups *c);

/*
 * kernel_cgroups_scan - call @add for each process that was not a member at the last scan.
 *
 * Repeats until a pass finds no new process: children that a process made before it was followed
 * are in the cgroup too.
 * @add: returns 0, or -errno, which ends the scan; -ESRCH: the process has ended. Returns 0 or
 * -errno.
 */
int kernel_cgroups_scan(struct kernel_cgroups *c, int (*add)(void *arg, pid_t pid), void *arg);

/* kernel_cgroups_pids - the members at the last scan; not to be freed. */
const pid_t *kernel_cgroups_pids(const struct kernel_cgroups *c, size_t *n);

/* kernel_cgroups_fd - the @i-th descriptor to wait for (EPOLLIN); -1 after the last. */
int kernel_cgroups_fd(const struct kernel_cgroups *c, int i);

#endif
