/* SPDX-License-Identifier: MIT */
/*
 * base/cgroup.h - control groups of the unified hierarchy (version 2), named by a path in the
 * hierarchy or by a directory.
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <limits.h>
#include <sys/types.h>

#include "base/diag.h"

struct cgroup {
	char path[PATH_MAX]; /* in the hierarchy: "/system.slice/web.service"; the root is "/" */
	char dir[PATH_MAX];  /* where it is mounted */
};

/* cgroup_find - find the cgroup @name, a path in the hierarchy or a directory.  Returns 0; -ENOENT:
 * there is none; -EOPNOTSUPP: it is threaded; another negative errno. */
int cgroup_find(struct cgroup *c, const char *name, struct diag *d);

/*
 * cgroup_of - the cgroup of thread @tid, as this process sees it.
 *
 * @path: receives the path, cut to @size bytes.
 *
 * Returns 0; -ENOENT: it is in none, the thread has exited, or /proc denies access.
 */
int cgroup_of(pid_t tid, char *path, size_t size);

#endif
