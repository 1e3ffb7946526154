/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/discover.h - finding tenants: who has a runtime directory on this machine.
 *
 *   users        /dev/shm/duet-<uid>, owned by <uid>
 *   containers   duet-<uid> in the /dev/shm of each mount namespace that has one of its own,
 * reached through /proc/<pid>/root of a process in it
 *
 * Each look begins anew.  Who looks each second may keep a memory: then a process that was there in
 * the two looks before is asked again for its namespace in each tenth only.  What a directory's
 * owner, or a container's root, may have put in the way - links, mounts, other file systems, FIFOs
 * - ends the search there, and nowhere else; nothing waits for him.  Needs root, or finds little.
 */
#ifndef COLLECT_TENANT_DISCOVER_H
#define COLLECT_TENANT_DISCOVER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "collect/tenant/tenant.h"

struct tenants_memory;
struct tenants_memory *tenants_remember(void); /* NULL: no memory; free(3) it */

struct tenants_scan {
	bool users, containers;
	struct tenants_memory *memory; /* of looks before; or NULL */
	int inotify;		       /* is to tell of new directories from now on; -1: none */
	/* Of each: its directory is lent, @st is its.  Not 0 ends the look. */
	int (*visit)(void *arg, const struct tenant *t, const struct stat *st);
	void *arg;
};

/* tenants_sweep - programs_sweep of our own runtime directory @dir; and if collectors of tenants
 * were killed, whose sessions are still named there, also in the directories of all tenants. */
void tenants_sweep(int dir);

/* tenants_each - what visit returned at last; 0 also if there is nobody. */
int tenants_each(const struct tenants_scan *l);

#endif
