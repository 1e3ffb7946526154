/* SPDX-License-Identifier: MIT */
/*
 * net/compress.h - bytes of a file in less room, on their way over a link.
 *
 * One Zstandard frame (RFC 8878) for each message, which says how many bytes it is made of.  A
 * message knows nothing of those before it: so a connection has no state more, and a relay no
 * memory for it.
 */
#ifndef NET_COMPRESS_H
#define NET_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this duet was built with libzstd. */
bool net_compress_is_supported(void);

/* net_compress - @n bytes at @from into the @room bytes at @to; @level 1 .. 19.  How many they are
 * now; 0: they do not fit. */
uint32_t net_compress(uint8_t *to, uint32_t room, const uint8_t *from, uint32_t n, int level);

/* net_decompress - whether the @n bytes at @from, anybody's, were @size bytes; these are at @to
 * now. */
bool net_decompress(uint8_t *to, uint32_t size, const uint8_t *from, uint32_t n);

#endif
