/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/page_iter.h - iterates over the records of a sub-buffer without changing them.
 *
 * For code that only reads records; kernel/convert/page.c converts them. The iteration ends at the
 * end of the page or at the first malformed record; kernel/convert/page.c reports the reason. Pure:
 * nothing beyond the given bytes is read.
 */
#ifndef KERNEL_TRACEFS_PAGE_ITER_H
#define KERNEL_TRACEFS_PAGE_ITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_walk {
	const uint8_t *next, *end;
	uint64_t ticks;
};

struct kernel_record {
	const uint8_t *bytes; /* starts at the common fields */
	size_t size;
	uint64_t ticks;
};

void kernel_walk_begin(struct kernel_walk *w, const uint8_t *page, size_t size);
bool kernel_walk_next(struct kernel_walk *w, struct kernel_record *r);

#endif
