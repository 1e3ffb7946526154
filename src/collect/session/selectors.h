/* SPDX-License-Identifier: MIT */
/*
 * collect/session/selectors.h - the programs and levels that a rule is for, as people say it: rules/selector.h is what comes of it.
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
enum choice { CHOICE_PROGRAM, CHOICE_UID, CHOICE_CONTAINER, CHOICE_CGROUP, CHOICE_LEVEL, N_CHOICES };
extern const char *const choice_keys[N_CHOICES];

/*
 * choice_add - append conditions to @who: @list has items between commas, "!" before one excludes.
 *
 *   program     a glob on its name
 *   uid         a number, or a user's name
 *   container   what collect/tenant/container.h calls it now, or its host name then; or a namespace's number
 *   cgroup      of the unified hierarchy, by its path or directory: those in it and below
 *   level       one name or number: as important as this, or more
 *
 * Returns 0 or -errno.
 */
int choice_add(struct text *who, enum choice what, const char *list, struct diag *d);
/* choice_add_pid - only this process. */
void choice_add_pid(struct text *who, pid_t pid);

/* What is known of a program that runs. */
struct choice_app {
	struct who who;
	char cgroup[PATH_MAX];
	char host[sizeof((struct utsname *)0)->nodename];
};
/* choice_look_at - as far as @letters (who_letters) ask for it.  @a is lent. */
void choice_look_at(struct choice_app *c, const struct app *a, uint32_t letters);

#endif
