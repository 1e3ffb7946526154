/* SPDX-License-Identifier: MIT */
/*
 * base/cgroup.c - find a cgroup by its name, and the cgroup of a thread, through /proc and the
 * mount.
 */
#include "base/cgroup.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/* Finds the mount of the whole hierarchy in lines such as "36 35 0:30 / /sys/fs/cgroup rw shared:9
 * - cgroup2 cgroup2 rw". */
static bool find_mount(char dir[PATH_MAX])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t capacity = 0;
	bool found = false;
	char *line = NULL;

	while (f && !found && getline(&line, &capacity, f) > 0) {
		char root[PATH_MAX];

		found = strstr(line, " - cgroup2 ") &&
			sscanf(line, "%*s %*s %*s %4095s %4095s", root, dir) == 2 &&
			!strcmp(root, "/");
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

int cgroup_find(struct cgroup *c, const char *name, struct diag *d)
{
	char mount[PATH_MAX], resolved[PATH_MAX], *path = resolved, procs[PATH_MAX + 16];
	size_t n;

	if (!find_mount(mount))
		return diag_fail(d, -ENOENT,
				 "cgroup %s: the unified hierarchy is not mounted\n"
				 "  mount -t cgroup2 cgroup2 /sys/fs/cgroup",
				 name);
	n = strlen(mount);
	if (!realpath(name, resolved) || strncmp(resolved, mount, n) != 0 ||
	    (resolved[n] && resolved[n] != '/'))
		n = 0;
	if (n)
		path += n;
	else
		snprintf(resolved, sizeof resolved, "%s%s", *name == '/' ? "" : "/", name);
	for (size_t size = strlen(path); size > 1 && path[size - 1] == '/';)
		path[--size] = 0;
	if (snprintf(c->path, sizeof c->path, "%s", *path ? path : "/") >= (int)sizeof c->path ||
	    snprintf(c->dir, sizeof c->dir, "%s%s", mount, c->path) >= (int)sizeof c->dir)
		return diag_fail(d, -ENAMETOOLONG, "cgroup %s: the path is too long", name);
	snprintf(procs, sizeof procs, "%s/cgroup.procs", c->dir);
	if (strstr(c->path, "/..") || access(procs, R_OK))
		return diag_fail(d, -ENOENT,
				 "cgroup %s: the unified hierarchy at %s has no such cgroup", name,
				 mount);
	assert(c->path[0] == '/');
	if (io_read_file(procs, resolved, sizeof resolved) == -EOPNOTSUPP)
		return diag_fail(d, -EOPNOTSUPP,
				 "cgroup %s: it is threaded and has no processes of its own\n  "
				 "name the cgroup above it that has them",
				 name);
	return 0;
}

int cgroup_of(pid_t tid, char *path, size_t size)
{
	char file[64], text[4096], *at;

	assert(tid > 0 && size > 0);
	snprintf(file, sizeof file, "/proc/%d/cgroup", (int)tid);
	if (io_read_file(file, text, sizeof text) <= 0)
		return -ENOENT;
	at = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::"); /* it is the last */
	if (!at)
		return -ENOENT;
	at = strstr(at, "::") + 2;
	snprintf(path, size, "%.*s", (int)strcspn(at, "\n"), at);
	return 0;
}
