/* SPDX-License-Identifier: MIT */
/*
 * patch/tables.c - targets of jump tables with 32-bit entries.
 *
 * An entry is the distance from a base to a label.  The base is the table itself (switch), or a
 * label of the function (computed goto).  Which address computed in the function is a table, and
 * which a base, is not decoded: all pairs are tried, and each table is read as long as it leads into
 * code.  That finds too many targets, never too few.  Tables with 64-bit entries are found as
 * pointers in data: code.c.
 */
#include "patch/internal.h"

#include <string.h>

/* A budget for each range: a file may be made to cost time. */
enum { ENTRIES_MOST = 1 << 22, BASES_MOST = 2048 };

/* False: the budget is used up. */
static bool read_table(const struct patch_file *f, const struct patch_range *r, uint64_t table,
		       uint64_t base, void (*visit)(void *arg, uint64_t target), void *arg,
		       uint32_t *budget)
{
	uint64_t size;
	const uint8_t *p = patch_bytes(f, table, &size);
	const struct patch_section *code = patch_section_at(f, r->begin);

	for (; size >= 4; p += 4, size -= 4) {
		int32_t distance;
		uint64_t target;

		if (!--*budget)
			return false;
		memcpy(&distance, p, 4);
		target = base + (uint64_t)(int64_t)distance;
		if (target < code->address || target - code->address >= code->size)
			return true;
		if (r->is_deep || (target >= r->begin && target < r->end))
			visit(arg, target);
	}
	return true;
}

bool patch_table_targets(const struct patch_file *f, const struct patch_range *r,
			 const uint64_t *bases, uint32_t n,
			 void (*visit)(void *arg, uint64_t target), void *arg)
{
	uint32_t budget = ENTRIES_MOST;

	if (n > BASES_MOST)
		return false;
	for (uint32_t t = 0; t < n; t++) {
		const struct patch_section *s = patch_section_at(f, bases[t]);

		if (!s || s->is_code || !s->bytes || bases[t] % 4)
			continue;
		if (!read_table(f, r, bases[t], bases[t], visit, arg, &budget))
			return false;
		for (uint32_t b = 0; b < n; b++)
			if (bases[b] >= r->begin && bases[b] < r->end &&
			    !read_table(f, r, bases[t], bases[b], visit, arg, &budget))
				return false;
	}
	return true;
}
