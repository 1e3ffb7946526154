/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/page_iter.h - the records of a sub-buffer one after the other, left as they are.
 *
 * For who looks; who converts has page.c.  Ends where a page ends, or makes no sense: page.c tells
 * why. Pure; nothing beyond the bytes given is read.
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
	const uint8_t *bytes; /* from the common fields on */
	size_t size;
	uint64_t ticks;
};

void kernel_walk_begin(struct kernel_walk *w, const uint8_t *page, size_t size);
bool kernel_walk_next(struct kernel_walk *w, struct kernel_record *r);

#endif
