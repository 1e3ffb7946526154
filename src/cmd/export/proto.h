/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/proto.h - builds messages in the wire format of protocol buffers, in memory.
 *
 * A nested message is opened and closed.  Its length is written when it is closed, into four bytes
 * reserved for it: the format allows a number to be longer than necessary.
 */
#ifndef CMD_EXPORT_PROTO_H
#define CMD_EXPORT_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
	char *bytes;
	size_t size, capacity;
	bool failed; /* no memory, or a message of 256 MiB; further additions are ignored */
};

void proto_fini(struct proto *p);
void proto_clear(struct proto *p); /* keeps the memory */

void proto_uint(struct proto *p, uint32_t field, uint64_t v);
void proto_int(struct proto *p, uint32_t field, int64_t v);
void proto_fixed64(struct proto *p, uint32_t field, uint64_t v);
void proto_double(struct proto *p, uint32_t field, double v);
/* Strings must be UTF-8: invalid bytes become U+FFFD. */
void proto_text(struct proto *p, uint32_t field, const char *s, size_t n);

/* proto_open - begin a nested message.  Returns the argument for proto_close(). */
size_t proto_open(struct proto *p, uint32_t field);
void proto_close(struct proto *p, size_t opened);

#endif
