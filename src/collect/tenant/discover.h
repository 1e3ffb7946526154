/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/discover.h - find tenants: users and containers with a runtime directory on this
 * machine.
 *
 *   users        /dev/shm/duet-<uid>, owned by <uid>: first of the uids of all running programs, then
 *                of the names in /dev/shm
 *   containers   duet-<uid> in the /dev/shm of each mount namespace that has its own, reached through
 *                /proc/<pid>/root of a process in it
 *
 * A scan starts from nothing.  A caller that scans each second may keep a cache: then the namespace
 * of a process that both previous scans saw is read only in every tenth scan.
 *
 * Users may fill their /dev/shm with other names, and make any number of mount namespaces.  So a
 * scan of either has a limit, goes on behind it in the next scan (with a cache), and reports that
 * it is not whole: whatever it did not find may still be there.
 *
 * A tenant or a container's root may put links, mounts, other file systems or FIFOs in the way.
 * They end the search of that directory only, and the scan never blocks on them.  Without root the
 * scan finds little.
 */
#ifndef COLLECT_TENANT_DISCOVER_H
#define COLLECT_TENANT_DISCOVER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "collect/session/tenant.h"

struct tenants_cache;
struct tenants_cache *tenants_cache_new(void); /* for the process's life; NULL: no memory */

struct tenants_scan {
	bool users, containers;
	struct tenants_cache *cache; /* of earlier scans, or NULL */
	int inotify;		     /* watches new directories from now on; -1: none */
	/*
	 * Called for each tenant; its directory is borrowed, @st describes it.  Not 0 ends the
	 * scan.
	 */
	int (*visit)(void *arg, const struct tenant *t, const struct stat *st);
	/*
	 * Called where a limit ended the search: in the container of that name ("": among the users
	 * of this machine), or among the containers of that payer.  Or NULL.
	 */
	void (*incomplete)(void *arg, const char *container, uid_t payer);
	void *arg;
};

/*
 * tenants_sweep - programs_sweep of our own runtime directory @dir.
 *
 * If it still names sessions of killed tenant collectors, it also sweeps the directories of all
 * tenants.
 */
void tenants_sweep(int dir);

/* tenants_each - run one scan.  Returns the last result of visit; 0 also if there is no tenant. */
int tenants_each(const struct tenants_scan *l);

#endif
