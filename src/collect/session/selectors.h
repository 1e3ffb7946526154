/* SPDX-License-Identifier: MIT */
/*
 * collect/session/selectors.h - the user's choice of programs and levels for a rule;
 * rules/selector.h is the compiled form.
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

/* Kinds of conditions; their names are the keys of a request (docs/formats/requests.md). */
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
 * selector_add - append conditions to @selector.
 *
 * @list: items separated by commas; "!" before an item excludes.
 *
 *   program     a glob on its name
 *   uid         a number, or a user's name
 *   container   its name now (session/container.h), or its host name later; or the number of a
 *               namespace
 *   cgroup      of the unified hierarchy, by path or directory: processes in it and below
 *   level       one name or number: this important, or more
 *
 * Returns 0 or -errno.
 */
int selector_add(struct text *selector, enum selector_kind what, const char *list, struct diag *d);
/* selector_add_pid - only this process. */
void selector_add_pid(struct text *selector, pid_t pid);

/* Properties of a running program. */
struct selector_program {
	struct selector selector;
	char cgroup[PATH_MAX];
	char host[sizeof((struct utsname *)0)->nodename];
};
/*
 * selector_program_read - read the properties that @letters (selector_letters) ask for.  @a is
 * borrowed.
 */
void selector_program_read(struct selector_program *c, const struct program *a, uint32_t letters);

#endif
