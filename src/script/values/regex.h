/* SPDX-License-Identifier: MIT */
/*
 * values/regex.h - the regular expressions of =~ and !~: POSIX extended ones.
 *
 * Matching takes time in proportion to the text times the expression, whatever both are: all
 * alternatives are followed at once (Thompson 1968; with groups as in Pike's sam, see Russ Cox,
 * "Regular Expression Matching: the Virtual Machine Approach", 2009).  The leftmost match is found,
 * and of those the longest.  Whether there is a match at all is known faster, from a table of states
 * (regex_dfa.c).
 */
#ifndef SCRIPT_VALUES_REGEX_H
#define SCRIPT_VALUES_REGEX_H

#include "script/syntax/source.h"

enum { SCRIPT_REGEX_GROUPS = 10 /* the whole match and nine */ };

struct script_regex;

struct script_regex_match {
	uint32_t n_groups; /* of the expression, with the whole match */
	int32_t begin[SCRIPT_REGEX_GROUPS], end[SCRIPT_REGEX_GROUPS]; /* -1: did not take part */
};

/*
 * script_regex_compile - compile @pattern, of @size bytes.
 *
 * @at: becomes the byte of the pattern that is wrong.
 * Returns NULL with the reason in @d.  The result lies in @a.
 */
struct script_regex *script_regex_compile(struct script_arena *a, const char *pattern, size_t size,
					  uint32_t *at, struct diag *d);
/* script_regex_match - whether @r matches anywhere in @text; @m may be NULL. */
bool script_regex_match(struct script_regex *r, const char *text, size_t size,
			struct script_regex_match *m);
/* script_regex_find - the same with @m, without asking first whether there is a match. */
bool script_regex_find(struct script_regex *r, const char *text, size_t size,
		       struct script_regex_match *m);

#endif
