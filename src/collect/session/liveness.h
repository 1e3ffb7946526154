/* SPDX-License-Identifier: MIT */
/*
 * collect/session/liveness.h - which process uses a control page, if any.
 *
 * A page is named "app-<pid>-<proc>": the pid of the process that made it, in its own /proc, and
 * the identity of that /proc (base/runtime.h).  It is in use while a process maps it: that one, or
 * a child forked from it.  The steps, each more expensive than the one before:
 *
 *   (1) is it mapped at all?   the lock that a mapping holds: inproc/page.c
 *   (2) by its namesake?       if its /proc is ours and the process is not younger than the page
 *   (3) by any process?        /proc/<pid>/maps of all processes, read once for all questions
 */
#ifndef COLLECT_SESSION_LIVENESS_H
#define COLLECT_SESSION_LIVENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/control.h"

struct page_name {
	pid_t pid;
	uint32_t proc; /* identity of the /proc in which this pid is valid: base/runtime.h */
};

/* page_name_parse - false if @name is not a page's name. */
bool page_name_parse(const char *name, struct page_name *n);

struct liveness_user {
	char page[ABI_PAGE_NAME_BYTES];
	pid_t pid;
};

/* Caches what was read of all processes. */
struct liveness {
	char directory[512];	     /* the runtime directory, as it appears in maps */
	uint32_t proc;		     /* identity of our /proc; 0: unknown */
	bool has_read_all;	     /* all processes were read: */
	struct liveness_user *users; /* sorted by page */
	size_t n_users, capacity;
};

/*
 * liveness_open - start, for pages in directory @dir.  False if its path cannot be read.
 *
 * liveness_close - free the cache.
 */
bool liveness_open(struct liveness *l, int dir);
void liveness_close(struct liveness *l);

/*
 * liveness_page_of - the page that process @pid maps.  False if there is none, or it cannot be
 * read.
 */
bool liveness_page_of(const struct liveness *l, pid_t pid, char page[ABI_PAGE_NAME_BYTES]);

/* liveness_is_used - step (1): whether any process maps the page open as @fd. */
bool liveness_is_used(int fd);

/*
 * liveness_user_of - the pid, in our namespace, of the process that uses page @name.
 *
 * @registered_ns: its program's registration, of CLOCK_BOOTTIME.  -1 if it cannot be seen.
 */
pid_t liveness_user_of(struct liveness *l, const char *name, uint64_t registered_ns);

#endif
