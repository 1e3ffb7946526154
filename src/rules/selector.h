/* SPDX-License-Identifier: MIT */
/*
 * rules/selector.h - the conditions of a rule: programs and levels it applies to (rules/rules.h).
 *
 * Header only: libduet decides itself whether a rule applies to it.  A rule begins with its
 * conditions, each a letter and a value, ended by a TAB:
 *
 *   n GLOB      the program's name
 *   p PID:NS    the program has pid PID in pid namespace NS
 *   u UID       its user
 *   l LEVEL     the event has this level or a more important one
 *   g PATH      its cgroup in the unified hierarchy, as the program sees it, is PATH or below
 *   c TEXT      its container: the number of its pid or mount namespace, or a glob on its host name
 *
 * For each small letter one of its conditions must hold.  A condition with a capital letter must
 * not hold.  An unknown condition never holds, small or capital, and its rule does not apply.
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
	const char *cgroup;			 /* "" or NULL: unknown */
	uint32_t pid, uid;			 /* as the program sees them */
	uint32_t pid_namespace, mount_namespace; /* 0: unknown */
};

/* The number at *p, which moves past it.  UINT64_MAX: there is none, or it is too large. */
static inline uint64_t selector_number(const char **p, const char *end)
{
	uint64_t n = 0;
	const char *begin = *p;

	for (; *p < end && **p >= '0' && **p <= '9' && n <= UINT32_MAX; (*p)++)
		n = n * 10 + (uint64_t)(**p - '0');
	return *p == begin || n > UINT32_MAX ? UINT64_MAX : n;
}

/* Whether [@p, @end) is @n and nothing else.  False if @n is 0, which means unknown. */
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

/* Whether the conditions at *p hold for an event of @level in @w; *p moves past them. */
static inline bool selector_holds(const char **p, const char *end, const struct selector *w,
				  uint32_t level)
{
	uint32_t required = 0, met = 0;
	bool holds = true;

	while (*p < end && selector_is_letter(**p)) {
		char letter = (char)(**p | 0x20);
		const char *value = *p + 1,
			   *tab = (const char *)memchr(value, '\t', (size_t)(end - value));
		uint32_t bit = 1u << (letter - 'a');
		bool is_met;

		if (!tab || !memchr("npuclg", letter, 6)) {
			*p = end;
			return false;
		}
		is_met = selector_condition_holds(letter, value, tab, w, level);
		if (**p == letter) {
			required |= bit;
			met |= is_met ? bit : 0;
		} else if (is_met) {
			holds = false;
		}
		*p = tab + 1;
	}
	return holds && required == met;
}

/* selector_letters - the letters that the rules use, as bits: some properties of a program are
 * costly to read. */
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
