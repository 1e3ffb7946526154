/* SPDX-License-Identifier: MIT */
/*
 * kernel/tracefs/page_format.h - the header words of a sub-buffer and of its records.
 *
 * Sources: events/header_page and events/header_event in tracefs, and the kernel's
 * include/linux/ring_buffer.h for the rest.
 */
#ifndef KERNEL_TRACEFS_PAGE_FORMAT_H
#define KERNEL_TRACEFS_PAGE_FORMAT_H

#include <stdint.h>
#include <string.h>

enum { KERNEL_PAGE_HEADER = 16 };

/* u32 time, u16 id, u8 flags, u8 preempt count, s32 tid: a record's header and common fields. */
enum { KERNEL_EVENT_HEADER = 12 };

enum {
	TYPE_LONG = 0,	    /* a u32 size follows and counts itself */
	TYPE_DATA_MAX = 28, /* in units of 4 bytes */
	TYPE_PADDING = 29,  /* delta 0: rest of the page is empty; else skip as TYPE_LONG */
	TYPE_EXTEND = 30,   /* more bits of the time delta */
	TYPE_STAMP = 31,    /* absolute time */
};

enum { COMMIT_SIZE_MASK = 0xfffff, COMMIT_STORED = 1 << 30 };
#define COMMIT_MISSED (1u << 31)

/* An absolute timestamp records only the low 59 bits. */
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
