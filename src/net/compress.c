/* SPDX-License-Identifier: MIT */
/* net/compress.c - Zstandard, or a build without it that compresses nothing. */
#include "net/compress.h"

#ifdef DUET_ZSTD
#include <assert.h>
#include <zstd.h>

bool net_compress_is_supported(void)
{
	return true;
}

uint32_t net_compress(uint8_t *to, uint32_t room, const uint8_t *from, uint32_t n, int level)
{
	size_t k = ZSTD_compress(to, room, from, n, level);

	assert(level >= 1 && level <= 19);
	return ZSTD_isError(k) ? 0 : (uint32_t)k;
}

bool net_decompress(uint8_t *to, uint32_t size, const uint8_t *from, uint32_t n)
{
	/* an error code is larger than any size */
	return ZSTD_decompress(to, size, from, n) == size;
}

#else

bool net_compress_is_supported(void)
{
	return false;
}

uint32_t net_compress(uint8_t *to, uint32_t room, const uint8_t *from, uint32_t n, int level)
{
	(void)to;
	(void)room;
	(void)from;
	(void)n;
	(void)level;
	return 0;
}

bool net_decompress(uint8_t *to, uint32_t size, const uint8_t *from, uint32_t n)
{
	(void)to;
	(void)size;
	(void)from;
	(void)n;
	return false;
}

#endif
