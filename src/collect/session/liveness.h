/* SPDX-License-Identifier: MIT */
/*
 * collect/session/liveness.h - which process a control page belongs to, if any.
 *
 * A page is called "app-<pid>-<proc>": what the process that made it is called in the /proc it
 * sees, and which /proc that is (base/runtime.h). It lives as long as a process maps it: that one,
 * or a child forked from it.  Asked in this order, as each step costs more:
 *
 *   (1) does anybody map it?              the lock that mappings keep: inproc/page.c
 *   (2) who does?  its namesake           where its /proc is ours, and the process is not younger
 *   (3) which pages does every process map?   all /proc/<pid>/maps, read once for all questions
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
	uint32_t proc; /* which /proc calls it so: base/runtime.h */
};

/* page_name_parse - false if @name is no page's. */
bool page_name_parse(const char *name, struct page_name *n);

struct liveness_user {
	char page[ABI_PAGE_NAME_BYTES];
	pid_t pid;
};

/* A look at the machine; what it has seen of all processes it does not look at again. */
struct liveness {
	char directory[512];	     /* the runtime directory, as maps show it */
	uint32_t proc;		     /* the one we look into; 0: none */
	bool looked;		     /* at all processes: */
	struct liveness_user *users; /* by page */
	size_t n_users, room;
};

/* liveness_open - begin to look, for pages in @dir.  False if it cannot be seen where that is.
 * liveness_close frees what it holds. */
bool liveness_open(struct liveness *l, int dir);
void liveness_close(struct liveness *l);

/* liveness_page_of - the page that process @pid maps.  False if it maps none, or does not let us
 * see. */
bool liveness_page_of(const struct liveness *l, pid_t pid, char page[ABI_PAGE_NAME_BYTES]);

/* liveness_is_used - step (1): whether any process maps the page that is open as @fd. */
bool liveness_is_used(int fd);

/* liveness_user_of - the process that uses page @name, whose program registered at @registered_ns
 * of CLOCK_BOOTTIME, as we call it; -1 if we do not see it. */
pid_t liveness_user_of(struct liveness *l, const char *name, uint64_t registered_ns);

#endif
