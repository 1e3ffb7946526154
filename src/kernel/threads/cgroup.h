/* SPDX-License-Identifier: MIT */
/*
 * kernel/threads/cgroup.h - whose events are recorded: the processes in some cgroups, those below
 * among them, and those that come.
 *
 * The kernel follows births by itself.  Who is moved into one it tells
 * (kernel/threads/thread_events.h); then the cgroups' lists are read.  So what a process does
 * between its coming and the reading of the list, some milliseconds, is missed.  Who leaves goes on
 * being followed.
 */
#ifndef KERNEL_THREADS_CGROUP_H
#define KERNEL_THREADS_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "abi/clock.h"
#include "base/diag.h"
#include "kernel/threads/thread_events.h"

struct kernel_cgroups;

/* kernel_cgroups_open - @dirs: their directories.  @root, @clock: as for
 * kernel_thread_events_open().  0 or -errno. */
int kernel_cgroups_open(struct kernel_cgroups **c, const char *const *dirs, int n, int root,
			const struct abi_clock *clock, struct diag *d);
/* kernel_cgroups_close - accepts NULL. */
void kernel_cgroups_close(struct kernel_cgroups *c);

/* kernel_cgroups_begin - the kernel tells who comes, from now on.  0 or -errno. */
int kernel_cgroups_begin(struct kernel_cgroups *c, struct diag *d);

/* kernel_cgroups_have_changed - whether somebody may have come since it was asked last; says so
 * each second anyway. */
bool kernel_cgroups_have_changed(struct kernel_cgroups *c);

/*
 * kernel_cgroups_scan - call @add for each process that was not there when it was looked last.
 *
 * Until there is none new: what one that was not yet followed made meanwhile is in the cgroup as
 * well.
 * @add: 0, or -errno, which ends it; -ESRCH: it is gone.  Returns 0 or -errno.
 */
int kernel_cgroups_scan(struct kernel_cgroups *c, int (*add)(void *arg, pid_t pid), void *arg);

/* kernel_cgroups_pids - who is there, as of the last look; lent. */
const pid_t *kernel_cgroups_pids(const struct kernel_cgroups *c, size_t *n);

/* kernel_cgroups_fd - to wait for (EPOLLIN); -1 behind the last. */
int kernel_cgroups_fd(const struct kernel_cgroups *c, int i);

#endif
