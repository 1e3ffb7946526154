/* SPDX-License-Identifier: MIT */
/*
 * rules/selector.h - for which programs, and how important events, a rule is (rules/rules.h).
 * Header only: libduet decides alone whether a rule means it.
 *
 * A rule begins with its conditions, each a letter and a value, ended by a TAB:
 *
 *   n GLOB      the program's name                 p PID:NS   the program is called PID in pid
 * namespace NS u UID       its user                           l LEVEL    the event is as important
 * as this, or more g PATH      its cgroup in the unified hierarchy, as it sees it, is this or below
 *   c TEXT      its container: the number of its pid or mount namespace, or a glob on the host name
 * it sees
 *
 * Of those with the same small letter one must hold, of each letter; of those with a capital, none
 * may. A condition that is not known does not hold, large or small: then the rule says nothing.
 */
#ifndef RULES_SELECTOR_H
#define RULES_SELECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rules/pattern.h"

struct selector {
	const char *name;
	const char *host;
	const char *cgroup;			 /* "" or NULL: not known */
	uint32_t pid, uid;			 /* as the program sees them */
	uint32_t pid_namespace, mount_namespace; /* 0: not known */
};

/* The number at *p, which moves behind it.  UINT64_MAX: there is none, or it is too large. */
static inline uint64_t selector_number(const char **p, const char *end)
{
	uint64_t n = 0;
	const char *begin = *p;

	for (; *p < end && **p >= '0' && **p <= '9' && n <= UINT32_MAX; (*p)++)
		n = n * 10 + (uint64_t)(**p - '0');
	return *p == begin || n > UINT32_MAX ? UINT64_MAX : n;
}

/* Whether [@p, @end) is @n and nothing else; 0, which means that @n is not known, is not. */
static inline bool selector_is_number(const char *p, const char *end, uint32_t n)
{
	return n && selector_number(&p, end) == n && p == end;
}

static inline bool selector_is_glob(const char *p, const char *end, const char *text)
{
	return pattern_glob(p, end, text, text + strlen(text));
}

static inline bool selector_is_process(const char *p, const char *end, const struct selector *w)
{
	return selector_number(&p, end) == w->pid && p < end && *p == ':' &&
	       selector_is_number(p + 1, end, w->pid_namespace);
}

static inline bool selector_is_in_cgroup(const char *p, const char *end, const char *cgroup)
{
	size_t n = (size_t)(end - p);

	n -= n == 1 && *p == '/'; /* the root: all are below */
	return cgroup && *cgroup && !strncmp(p, cgroup, n) && (!cgroup[n] || cgroup[n] == '/');
}

static inline bool selector_condition_holds(char letter, const char *p, const char *end,
					    const struct selector *w, uint32_t level)
{
	uint64_t n;

	switch (letter) {
	case 'n':
		return selector_is_glob(p, end, w->name);
	case 'p':
		return selector_is_process(p, end, w);
	case 'u':
		return selector_number(&p, end) == w->uid && p == end;
	case 'c':
		return selector_is_number(p, end, w->pid_namespace) ||
		       selector_is_number(p, end, w->mount_namespace) ||
		       selector_is_glob(p, end, w->host);
	case 'g':
		return selector_is_in_cgroup(p, end, w->cgroup);
	case 'l':
		return (n = selector_number(&p, end)) != UINT64_MAX && level <= n && p == end;
	}
	return false;
}

static inline bool selector_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the conditions at *p, which moves behind them, hold for an event of @level in @w. */
static inline bool selector_holds(const char **p, const char *end, const struct selector *w,
				  uint32_t level)
{
	uint32_t asked = 0, held = 0;
	bool holds = true;

	while (*p < end && selector_is_letter(**p)) {
		char letter = (char)(**p | 0x20);
		const char *value = *p + 1,
			   *tab = (const char *)memchr(value, '\t', (size_t)(end - value));
		uint32_t bit = 1u << (letter - 'a');
		bool is_so;

		if (!tab || !memchr("npuclg", letter, 6)) {
			*p = end;
			return false;
		}
		is_so = selector_condition_holds(letter, value, tab, w, level);
		if (**p == letter) {
			asked |= bit;
			held |= is_so ? bit : 0;
		} else if (is_so) {
			holds = false;
		}
		*p = tab + 1;
	}
	return holds && asked == held;
}

/* Which letters, as bits, the rules ask for: not all that a program may be asked is cheap to know.
 */
static inline uint32_t selector_letters(const char *rules, uint32_t size)
{
	uint32_t letters = 0;
	const char *p = rules, *all = rules + size;

	while (p < all) {
		const char *end = (const char *)memchr(p, 0, (size_t)(all - p)), *tab;

		end = end ? end : all;
		while (p < end && selector_is_letter(*p) &&
		       (tab = (const char *)memchr(p, '\t', (size_t)(end - p)))) {
			letters |= 1u << ((*p | 0x20) - 'a');
			p = tab + 1;
		}
		p = end + 1;
	}
	return letters;
}

#define SELECTOR_LETTER(c) (1u << ((c) - 'a'))

#endif
