/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/page_format.h - what the words of a sub-buffer mean.
 *
 * Told by tracefs: events/header_page and events/header_event; the rest is in the kernel's
 * include/linux/ring_buffer.h.
 */
#ifndef KERNEL_TRACEFS_PAGE_FORMAT_H
#define KERNEL_TRACEFS_PAGE_FORMAT_H

#include <stdint.h>
#include <string.h>

enum { KERNEL_PAGE_HEADER = 16 };

enum {
	TYPE_LONG = 0,	    /* a u32 size, which counts itself, follows */
	TYPE_DATA_MAX = 28, /* in units of 4 bytes */
	TYPE_PADDING = 29,  /* without time: nothing follows; else skip as TYPE_LONG */
	TYPE_EXTEND = 30,   /* more bits of time since the record before */
	TYPE_STAMP = 31,    /* absolute time */
};

enum { COMMIT_SIZE_MASK = 0xfffff, COMMIT_STORED = 1 << 30 };
#define COMMIT_MISSED (1u << 31)

/* Of an absolute stamp only 59 bits are recorded. */
#define STAMP_TOP (0xf8ull << 56)

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

#endif
