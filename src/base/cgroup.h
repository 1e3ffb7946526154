/* SPDX-License-Identifier: MIT */
/* base/cgroup.h - control groups of the unified hierarchy (version 2), by their paths in it or in
 * the file system. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <limits.h>
#include <sys/types.h>

#include "base/diag.h"

struct cgroup {
	char path[PATH_MAX]; /* in the hierarchy: "/system.slice/web.service"; the root is "/" */
	char dir[PATH_MAX];  /* where it is mounted */
};

/* cgroup_find - @name: its path in the hierarchy, or its directory.  0 or -errno: there is no such.
 */
int cgroup_find(struct cgroup *c, const char *name, struct diag *d);

/* cgroup_of - the path of the one that thread @tid is in, as we see it, in @path of @size bytes,
 * cut if need be.  0; -ENOENT: it is in none, or the thread is gone, or may not be looked at. */
int cgroup_of(pid_t tid, char *path, size_t size);

#endif
