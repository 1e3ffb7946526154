/* SPDX-License-Identifier: MIT */
/*
 * syntax/nearest.c - the nearest of some names, for "did you mean".
 *
 * The distance counts letters inserted, deleted, replaced or swapped with their neighbour: Wagner
 * and Fischer, The String-to-String Correction Problem (1974), extended by Lowrance and Wagner
 * (1975), in three rows.
 */
#include "script/syntax/source.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 127 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	unsigned rows[3][NAME_MOST + 1];

	for (unsigned j = 0; j <= n_b; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= n_a; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

		row[0] = i;
		for (unsigned j = 1; j <= n_b; j++) {
			row[j] = least(above[j], row[j - 1]) + 1;
			row[j] = least(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], two[j - 2] + 1);
		}
	}
	return rows[n_a % 3][n_b];
}

/* Of a short name one letter may be wrong, of a long one a third. */
static unsigned most_distance(size_t size)
{
	return size < 3 ? 1 : (unsigned)size / 3;
}

void script_nearest_try(struct script_nearest *n, const char *name)
{
	size_t size = strlen(name), wanted = n->wanted_size ? n->wanted_size : strlen(n->wanted);
	unsigned d;

	if (size > NAME_MOST || wanted > NAME_MOST || !size || !wanted)
		return;
	d = distance(n->wanted, wanted, name, size);
	if (d > most_distance(wanted) || d >= size || (n->best[0] && d > n->distance))
		return;
	/* Of names that are equally near, the one that ends alike: `prinf` is printf, not print. */
	if (n->best[0] && d == n->distance &&
	    (name[size - 1] != n->wanted[wanted - 1] ||
	     n->best[strlen(n->best) - 1] == n->wanted[wanted - 1]))
		return;
	n->distance = d;
	memcpy(n->best, name, size + 1);
}

const char *script_nearest_text(struct script_nearest *n, char text[160])
{
	text[0] = 0;
	if (n->best[0])
		snprintf(text, 160, " (did you mean `%s`?)", n->best);
	return text;
}
