/* SPDX-License-Identifier: MIT */
/*
 * rules/membership.h - the sessions that a program belongs to, as $DUET_SESSION states.
 *
 *	(nothing)     all sessions that are not private
 *	web+db        these alone
 *	+record-47    this one, which may be private, and all that are not
 *
 * A private session is for programs that name it, such as the command that `duet record` runs.  Any
 * bytes are safe.  Header only: libduet uses it.
 */
#ifndef RULES_MEMBERSHIP_H
#define RULES_MEMBERSHIP_H

#include <stdbool.h>
#include <string.h>

static inline bool member_is_named(const char *sessions, const char *name)
{
	size_t n = strlen(name);

	while (*sessions) {
		const char *end = strchrnul(sessions, '+');

		if ((size_t)(end - sessions) == n && n && !memcmp(sessions, name, n))
			return true;
		sessions = *end ? end + 1 : end;
	}
	return false;
}

/* Whether a program with @sessions belongs to session @name. */
static inline bool member_of(const char *sessions, const char *name, bool is_private)
{
	return member_is_named(sessions, name) || ((!*sessions || *sessions == '+') && !is_private);
}

#endif
