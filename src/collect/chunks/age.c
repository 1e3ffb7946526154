/* SPDX-License-Identifier: MIT */
/* collect/chunks/age.c - ages of trace chunks: see age.h. */
#include "collect/chunks/age.h"

#include <stdlib.h>

#include "collect/chunks/chunks.h"

/* Lists are in the same order, but for those that came and went: the search begins at *@hint, behind
 * the one found last. */
static const struct chunk_age *find(const struct chunk_ages *a, const struct trace_chunk *p,
				    int *hint)
{
	for (int i = 0; i < a->n; i++) {
		int k = (*hint + i) % a->n;

		if (a->at[k].number == p->number && a->at[k].end_ns == p->end_ns) {
			*hint = k + 1;
			return &a->at[k];
		}
	}
	return NULL;
}

bool chunk_ages_update(struct chunk_ages *a, const struct trace_chunk *p, int n, uint64_t wall_ns,
		       uint64_t boot_ns)
{
	struct chunk_age *fresh = calloc((size_t)n + 1, sizeof *fresh);
	int hint = 0;

	if (!fresh)
		return false;
	for (int i = 0; i < n; i++) {
		const struct chunk_age *known = find(a, &p[i], &hint);
		uint64_t age_ns = wall_ns > p[i].end_ns ? wall_ns - p[i].end_ns : 0;

		fresh[i] = (struct chunk_age){ .number = p[i].number,
					       .end_ns = p[i].end_ns,
					       .ended_ns = known ? known->ended_ns
								 : (int64_t)(boot_ns - age_ns) };
	}
	free(a->at);
	*a = (struct chunk_ages){ fresh, n };
	return true;
}
