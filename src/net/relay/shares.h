/* SPDX-License-Identifier: MIT */
/*
 * net/relay/shares.h - how much of the relay's disk each host may have: disk/disk.h.
 *
 * A host is the directory OUTPUT/HOST, named by its sender.  Its recordings are counted when it
 * first connects, and again, at most once a second, while it may not write: retention may have removed
 * some.  A host beyond its share is read no further; it keeps its data, and the others go on.
 *
 * One thread.
 */
#ifndef NET_RELAY_SHARES_H
#define NET_RELAY_SHARES_H

#include <limits.h>

#include "disk/disk.h"

struct share {
	struct share *next;
	struct disk_budget budget;
	char path[PATH_MAX]; /* of the host's directory */
};

struct shares {
	struct disk_rule rule;
	struct share *first;
};

/* shares_of - the share of the host whose directory is @path; NULL: no limit, or no memory. */
struct share *shares_of(struct shares *s, const char *path);
/* share_take - before @bytes are written on the file system of @fd.  Counts anew if they do not fit. */
bool share_take(struct share *s, int fd, uint64_t bytes);
void shares_fini(struct shares *s);

#endif
