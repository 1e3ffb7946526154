/* SPDX-License-Identifier: MIT */
/* net/lttng_live/internal.h - shared by protocol.c and live_packets.c: numbers of a
 * message, streams of a viewer. */
#ifndef NET_LTTNG_LIVE_INTERNAL_H
#define NET_LTTNG_LIVE_INTERNAL_H

#include <endian.h>
#include <string.h>

#include "net/lttng_live/protocol.h"

static inline void live_put32(struct live_connection *c, uint32_t v)
{
	v = htobe32(v);
	text_add(&c->out, (const char *)&v, sizeof v);
}

static inline void live_put64(struct live_connection *c, uint64_t v)
{
	v = htobe64(v);
	text_add(&c->out, (const char *)&v, sizeof v);
}

static inline uint32_t live_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return be32toh(v);
}

static inline uint64_t live_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return be64toh(v);
}

/* live_extend - make room for everything that is listed now.  False without memory. */
bool live_extend(struct live_connection *c);

/* live_cursor_of - the stream that the viewer calls @id, if it was sent to this viewer; else NULL. */
struct live_cursor *live_cursor_of(struct live_connection *c, uint64_t id, uint32_t *stream);

bool live_is_metadata(const struct live_connection *c, uint32_t stream);

/* live_count_unreported - the streams of @recording that the viewer does not know. */
uint32_t live_count_unreported(const struct live_connection *c, uint32_t recording);

/* live_packets.c: commands.  @body is the command without its head. */
void live_next_index(struct live_connection *c, const uint8_t *body);
void live_get_packet(struct live_connection *c, const uint8_t *body);
void live_get_metadata(struct live_connection *c, const uint8_t *body);

#endif
