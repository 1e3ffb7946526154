/* SPDX-License-Identifier: MIT */
/*
 * collect/living.h - which process a control page belongs to, if any.
 *
 * A page is called "app-<pid>-<proc>": what the process that made it is called in the /proc it sees, and
 * which /proc that is (base/runtime.h).
 * It lives as long as a process maps it: that one, or a child forked from it.  Asked in this order, as
 * each step costs more:
 *
 *   (1) does the namesake exist?              /proc/<pid>, where its /proc is ours
 *   (2) does it map the page?                 its /proc/<pid>/maps
 *   (3) which pages does every process map?   all of them, read once for all questions
 */
#ifndef COLLECT_LIVING_H
#define COLLECT_LIVING_H

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

struct living_user {
	char page[ABI_PAGE_NAME_BYTES];
	pid_t pid;
};

/* A look at the machine; what it has seen of all processes it does not look at again. */
struct living {
	char directory[512]; /* the runtime directory, as maps show it */
	uint32_t proc; /* the one we look into; 0: none */
	bool sees_all; /* the processes of all pid namespaces */
	bool looked; /* at all processes: */
	bool failed; /* that could not be done */
	struct living_user *users; /* by page */
	size_t n_users, room;
};

/* living_open - begin to look, for pages in @dir.  False if it cannot be seen where that is.
 * living_close frees what it holds. */
bool living_open(struct living *l, int dir);
void living_close(struct living *l);

/* living_page_of - the page that process @pid maps.  False if it maps none, or does not let us see. */
bool living_page_of(const struct living *l, pid_t pid, char page[ABI_PAGE_NAME_BYTES]);

/* living_user_of - a process that uses page @name: its pid; 0 if none does; -1 if that cannot be told. */
pid_t living_user_of(struct living *l, const char *name);

/* living_may_be_dead - step (1) alone: false if @name's namesake exists. */
bool living_may_be_dead(const struct living *l, const char *name);

#endif
