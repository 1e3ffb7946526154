/* SPDX-License-Identifier: MIT */
/*
 * collect/calls/plan_cache.h - plans kept from one session to the next.
 *
 *   $XDG_CACHE_HOME/duet, else $HOME/.cache/duet   0700, the user's own
 *     <build ID>-<hash of the key>                  a plan, with the key and the counts it was made with
 *
 * The key is all that a plan depends on: the file, its debug file, the selection, duet itself.  It is
 * compared as text, so equal hashes do no harm.  Without a directory, or with one that is not the
 * user's own, every plan is made anew.
 */
#ifndef COLLECT_CALLS_PLAN_CACHE_H
#define COLLECT_CALLS_PLAN_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/calls/selection.h"
#include "patch/patch.h"

enum { PLAN_CACHE_FILES = 256, PLAN_CACHE_PLAN_MOST = 16 << 20, PLAN_CACHE_SONAME = 256 };

/*
 * plan_cache_take - put the cached plan of @path into directory @plans, with the selection's
 * generation.
 *
 * @build_id: of the file, in hexadecimal, as the plan is called.  @counts, @n_counts, @soname: as
 * they were stored.
 *
 * Returns the number of its sites; 0 if it is not in the cache.
 */
int plan_cache_take(const struct selection *s, const char *path, const char *build_id, int plans,
		    struct patch_count *counts, uint32_t n_counts, char soname[PLAN_CACHE_SONAME]);

/* plan_cache_put - store the plan @build_id of directory @plans, which has @n_sites.  Any failure
 * only costs time later. */
void plan_cache_put(const struct selection *s, const char *path, const char *build_id, int plans,
		    const struct patch_count *counts, uint32_t n_counts, const char *soname,
		    int n_sites);

#endif
