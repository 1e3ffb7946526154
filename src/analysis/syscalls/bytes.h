/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/bytes.h - integers in memory that may be unaligned, in the machine's byte order.  The caller checks the bounds. */
#ifndef ANALYSIS_SYSCALLS_BYTES_H
#define ANALYSIS_SYSCALLS_BYTES_H

#include <stdint.h>
#include <string.h>

/* bytes_number - the unsigned integer of @size bytes at @p, at most 8.  Little-endian machines only. */
static inline uint64_t bytes_number(const void *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

static inline uint16_t bytes_u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint32_t bytes_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t bytes_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

#endif
