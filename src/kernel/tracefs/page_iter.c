/* SPDX-License-Identifier: MIT */
/* kernel/tracefs/page_iter.c - steps through the records of a page without changing it.
 *
 * The page's layout is in page_format.h. kernel/convert/page.c reads the same layout and
 * converts it. */
#include "kernel/tracefs/page_iter.h"

#include <assert.h>
#include <string.h>

#include "kernel/tracefs/page_format.h"

void kernel_walk_begin(struct kernel_walk *w, const uint8_t *page, size_t size)
{
	size_t used;

	*w = (struct kernel_walk){ .next = page, .end = page };
	if (size < KERNEL_PAGE_HEADER)
		return;
	used = load32(page + 8) & COMMIT_SIZE_MASK;
	if (used > size - KERNEL_PAGE_HEADER)
		return;
	w->ticks = load64(page);
	w->next = page + KERNEL_PAGE_HEADER;
	w->end = w->next + used;
}

static bool take(struct kernel_walk *w, struct kernel_record *r, size_t header, size_t size)
{
	if (size > (size_t)(w->end - w->next) || header > (size_t)(w->end - w->next) - size)
		return false;
	*r = (struct kernel_record){ w->next + header, size, w->ticks };
	w->next += header + size;
	return true;
}

bool kernel_walk_next(struct kernel_walk *w, struct kernel_record *r)
{
	assert(w->next <= w->end);
	while (w->end - w->next >= 4) {
		uint32_t header = load32(w->next), type = header & 31, delta = header >> 5, word;
		struct kernel_record skipped;

		if (type - 1 < TYPE_DATA_MAX) {
			w->ticks += delta;
			return take(w, r, 4, type * 4);
		}
		if (w->end - w->next < 8 || (type == TYPE_PADDING && !delta))
			return false;
		word = load32(w->next + 4);
		if (type == TYPE_LONG) {
			w->ticks += delta;
			return word >= 4 && take(w, r, 8, word - 4);
		}
		if (type == TYPE_PADDING) {
			w->ticks += delta;
			if (!take(w, &skipped, 4, word))
				return false;
			continue;
		}
		if (type == TYPE_EXTEND)
			w->ticks += delta | (uint64_t)word << 27;
		else
			w->ticks = delta | (uint64_t)word << 27 | (w->ticks & STAMP_TOP);
		w->next += 8;
	}
	return false;
}
