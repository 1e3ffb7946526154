/* SPDX-License-Identifier: MIT */
/*
 * rules/nearest.h - propose the name that the user may have meant.
 *
 *	struct nearest n = { "vew" };
 *	nearest_try(&n, "view");
 *	cmd_error(..., "no verb \"vew\"%s", nearest_text(&n, text));	... : did you mean view?
 *
 * The distance is Damerau's (CACM 7(3), 1964): letters that are wrong, missing, too many, or
 * swapped. Of names at one distance the one with swapped letters is meant: fingers swap more often than they
 * miss.  No name is proposed if more than a third of the letters would have to change.  Header only.
 */
#ifndef RULES_NEAREST_H
#define RULES_NEAREST_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NEAREST_MAX = 64 };		       /* longer names are not proposed */
enum { NEAREST_LETTER = 3, NEAREST_SWAP = 2 }; /* costs */

struct nearest {
	const char *wanted; /* borrowed */
	char best[NEAREST_MAX];
	unsigned distance; /* of `best`, if there is one */
};

static inline unsigned nearest_least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Both are shorter than NEAREST_MAX. */
static inline unsigned nearest_distance(const char *a, const char *b)
{
	unsigned rows[3][NEAREST_MAX + 1], *two = rows[0], *one = rows[1], *now = rows[2];
	size_t n = strlen(b);

	assert(n < NEAREST_MAX);
	for (unsigned k = 0; k <= n; k++)
		one[k] = k * NEAREST_LETTER;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned *spare = two;

		now[0] = i * NEAREST_LETTER;
		for (unsigned k = 1; k <= n; k++) {
			now[k] = nearest_least(one[k - 1] +
						       (a[i - 1] != b[k - 1] ? NEAREST_LETTER : 0),
					       nearest_least(one[k], now[k - 1]) + NEAREST_LETTER);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				now[k] = nearest_least(now[k], two[k - 2] + NEAREST_SWAP);
		}
		two = one;
		one = now;
		now = spare;
	}
	return one[n];
}

static inline void nearest_try(struct nearest *n, const char *name)
{
	size_t wanted = strlen(n->wanted), size = strlen(name);
	unsigned d;

	if (wanted >= NEAREST_MAX || size >= NEAREST_MAX || !strcmp(name, n->best))
		return;
	d = nearest_distance(n->wanted, name);
	if (d > (wanted > size ? wanted : size) / 3 * NEAREST_LETTER ||
	    (*n->best && d >= n->distance))
		return;
	assert(size < sizeof n->best);
	n->distance = d;
	memcpy(n->best, name, size + 1);
}

/* nearest_text - ": did you mean view?", or "".  @buffer holds it. */
static inline const char *nearest_text(const struct nearest *n, char buffer[NEAREST_MAX + 32])
{
	*buffer = 0;
	if (*n->best)
		snprintf(buffer, NEAREST_MAX + 32, ": did you mean %s?", n->best);
	return buffer;
}

#endif
