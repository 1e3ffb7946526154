/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/sockets/internal.h - shared by the files of sockets: their addresses, options and
 * messages as text. Its door is analysis/syscalls/structs.h.
 */
#ifndef ANALYSIS_SYSCALLS_SOCKETS_INTERNAL_H
#define ANALYSIS_SYSCALLS_SOCKETS_INTERNAL_H

#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"
#include "analysis/syscalls/bytes.h"

/* Bytes of the network beside words, by the style: words; "\x30\x39"; "\x30\x39" with words as a
 * comment. sockets_begin() returns whether words follow; then call_words_end() must follow those. */
bool sockets_begin(struct text *t, const uint8_t *bytes, size_t size);
/* "htons(80)", "inet_addr(\"127.0.0.1\")", the second with @name before it */
void sockets_port(struct text *t, const char *name, const uint8_t *bytes);
void sockets_internet(struct text *t, const char *name, const uint8_t *bytes);
/* A hardware address: "00:1b:44:11:3a:b7". */
void sockets_hardware(struct text *t, const uint8_t *bytes, size_t size);
/* The fields behind the family of an AF_INET or AF_INET6 address of @size bytes at @bytes, which are
 * enough. */
void sockets_inet(struct text *t, const uint8_t *bytes);
void sockets_inet6(struct text *t, const uint8_t *bytes, size_t size);

/* rare.c: the fields behind the family of the other addresses. False if the family is unknown or the
 * bytes are too few. */
bool sockets_rare(struct text *t, unsigned family, const uint8_t *bytes, size_t size,
		  const struct call_moment *x);
/* ax25.c: the same for AF_AX25. */
void sockets_ax25(struct text *t, const uint8_t *bytes, size_t size);

#endif
