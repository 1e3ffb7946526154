/* SPDX-License-Identifier: MIT */
/*
 * rules/pattern.h - match events by patterns.  Header only: libduet uses it too.
 *
 * A pattern is a glob (`*` any run, `?` any one character) on "channel:name".  A pattern without a
 * colon is matched with the channel and with the name: `shop` is all of channel shop, `malloc` the
 * event of that name in any channel.
 */
#ifndef RULES_PATTERN_H
#define RULES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Iterative glob with one backtracking point (the last star): linear in practice, no recursion. */
static inline bool pattern_glob(const char *p, const char *p_end, const char *s, const char *s_end)
{
	const char *star = NULL, *retry = NULL;

	while (s < s_end) {
		if (p < p_end && *p == '*') {
			star = p++;
			retry = s;
		} else if (p < p_end && (*p == '?' || *p == *s)) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

/* @pattern runs to @p_end; @channel and @name are NUL-terminated. */
static inline bool pattern_matches_event(const char *pattern, const char *p_end,
					 const char *channel, const char *name)
{
	const char *colon = (const char *)memchr(pattern, ':', (size_t)(p_end - pattern));
	const char *c_end = channel + strlen(channel), *n_end = name + strlen(name);

	if (colon)
		return pattern_glob(pattern, colon, channel, c_end) &&
		       pattern_glob(colon + 1, p_end, name, n_end);
	return pattern_glob(pattern, p_end, channel, c_end) ||
	       pattern_glob(pattern, p_end, name, n_end);
}

#endif
