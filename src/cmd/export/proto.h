/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/proto.h - messages in the wire format of protocol buffers, put together in memory.
 *
 * A message inside another is opened and closed; its length is written when it is closed, in four
 * bytes kept free for it, which the format allows (a number may be longer than it needs to be).
 */
#ifndef CMD_EXPORT_PROTO_H
#define CMD_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
	char *bytes;
	size_t size, capacity;
	bool failed; /* no memory, or a message of 256 MiB; nothing more is added */
};

void proto_fini(struct proto *p);
void proto_clear(struct proto *p); /* keeps the memory */

void proto_uint(struct proto *p, uint32_t field, uint64_t v);
void proto_int(struct proto *p, uint32_t field, int64_t v);
void proto_fixed64(struct proto *p, uint32_t field, uint64_t v);
void proto_double(struct proto *p, uint32_t field, double v);
/* Strings have to be UTF-8: what is not becomes U+FFFD. */
void proto_text(struct proto *p, uint32_t field, const char *s, size_t n);

/* proto_open - begin a message.  Returns what proto_close() wants. */
size_t proto_open(struct proto *p, uint32_t field);
void proto_close(struct proto *p, size_t opened);

#endif
