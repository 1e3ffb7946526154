/* SPDX-License-Identifier: MIT */
/*
 * collect/session/selectors.h - the programs and levels that a rule is for, as people say it:
 * rules/selector.h is what comes of it.
 *
 * One thread.
 */
#ifndef COLLECT_SESSION_SELECTORS_H
#define COLLECT_SESSION_SELECTORS_H

#include <limits.h>
#include <sys/utsname.h>

#include "base/diag.h"
#include "base/text.h"
#include "rules/selector.h"
#include "collect/session/programs.h"

/* What may be asked for; also the keys of a request (docs/formats/control.md). */
enum selector_kind {
	SELECTOR_PROGRAM,
	SELECTOR_UID,
	SELECTOR_CONTAINER,
	SELECTOR_CGROUP,
	SELECTOR_LEVEL,
	N_SELECTOR_KINDS
};
extern const char *const selector_keys[N_SELECTOR_KINDS];

/*
 * selector_add - append conditions to @who: @list has items between commas, "!" before one
 * excludes.
 *
 *   program     a glob on its name
 *   uid         a number, or a user's name
 *   container   what collect/tenant/container.h calls it now, or its host name then; or a
 * namespace's number cgroup      of the unified hierarchy, by its path or directory: those in it
 * and below level       one name or number: as important as this, or more
 *
 * Returns 0 or -errno.
 */
int selector_add(struct text *selector, enum selector_kind what, const char *list, struct diag *d);
/* selector_add_pid - only this process. */
void selector_add_pid(struct text *selector, pid_t pid);

/* What is known of a program that runs. */
struct selector_program {
	struct selector selector;
	char cgroup[PATH_MAX];
	char host[sizeof((struct utsname *)0)->nodename];
};
/* selector_inspect - as far as @letters (selector_letters) ask for it.  @a is lent. */
void selector_inspect(struct selector_program *c, const struct program *a, uint32_t letters);

#endif
