/* SPDX-License-Identifier: MIT */
/*
 * base/hash.h - FNV-1a, the one hash function of the tree.
 *
 * Fowler, Noll and Vo, 1991; FNV-1a of draft-eastlake-fnv.  It is short, needs no table and spreads
 * names well.  It does not withstand chosen input: a table keyed by it must bound its size.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* hash_bytes - 64 bits for @n bytes. */
static inline uint64_t hash_bytes(const char *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (n--)
		h = (h ^ (uint8_t)*p++) * 0x100000001b3ull;
	return h;
}

/* hash_text32 - 32 bits for a terminated string.  Flame graphs take their colours from it. */
static inline uint32_t hash_text32(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

#endif
