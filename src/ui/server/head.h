/* SPDX-License-Identifier: MIT */
/*
 * ui/server/head.h - whether bytes are the head of a request of HTTP/1.1 (RFC 9112), strictly.
 *
 * A connection's first head is checked before libmicrohttpd sees it.
 */
#ifndef UI_SERVER_HEAD_H
#define UI_SERVER_HEAD_H

#include <stddef.h>

enum { HEAD_MAX = 32 << 10, HEAD_IS_PART = 0, HEAD_IS_WHOLE = 200 };

/* head_check - HEAD_IS_PART; HEAD_IS_WHOLE: @bytes begin with a head; else the status of the refusal,
 * 400, 413, 431 or 505, which may be known before it is whole. */
int head_check(const char *bytes, size_t size);

#endif
