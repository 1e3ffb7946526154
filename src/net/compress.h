/* SPDX-License-Identifier: MIT */
/*
 * net/compress.h - compression of a file's bytes for a link.
 *
 * Each message is one Zstandard frame (RFC 8878), with the size before compression in the
 * message.  A message does not depend on those before it, so a connection has no additional
 * state, and a relay needs no memory for it.
 */
#ifndef NET_COMPRESS_H
#define NET_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this duet was built with libzstd. */
bool net_compress_is_supported(void);

/* net_compress - compress @n bytes at @from into @room bytes at @to; @level 1 .. 19.  Returns the
 * compressed size; 0 if it does not fit. */
uint32_t net_compress(uint8_t *to, uint32_t room, const uint8_t *from, uint32_t n, int level);

/* net_decompress - decompress the @n untrusted bytes at @from into @size bytes at @to.  Returns
 * whether the result has exactly @size bytes. */
bool net_decompress(uint8_t *to, uint32_t size, const uint8_t *from, uint32_t n);

#endif
