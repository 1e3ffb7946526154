/* SPDX-License-Identifier: MIT */
/*
 * abi/session.h - a session's memory: a common header, then one pool per channel.
 *
 *   page 0..             struct abi_session_memory
 *   channels[i].offset   struct abi_pool (abi/pool.h), aligned to ABI_POOL_ALIGN
 *
 * A channel is a pool of its own, with its own rule for a full pool and its own stream class in the
 * trace.  The collector creates all of it, seals its size and passes it to the user's programs.
 * They may all write to it, so no party trusts it: each copies and checks the constants once, and
 * verifies a filter before it runs it.
 *
 *   (1) constants are written before the memory is passed on
 *   (2) filters are only added; the text of one is complete before its size is set
 */
#ifndef ABI_SESSION_H
#define ABI_SESSION_H

#include <stdint.h>

#define ABI_SESSION_MEMORY_MAGIC 0x6472616f62746564ull /* "detboard" */
#define ABI_SESSION_MEMORY_VERSION 3u

enum {
	ABI_CHANNELS = 16, /* a power of two */
	ABI_CHANNEL_NAME_BYTES = 32,
	ABI_FILTERS = 255,
	ABI_FILTER_TEXT_BYTES = 128 << 10,
	ABI_POOL_ALIGN = 1 << 20, /* the largest chunk */
};

struct abi_channel {
	uint64_t offset, size; /* bytes, of its pool */
	uint64_t contexts;     /* recorded with each event after vpid and vtid: abi/context.h */
	char name[ABI_CHANNEL_NAME_BYTES];
};

struct abi_session_filter {
	uint32_t offset; /* in the text area */
	uint32_t size;	 /* bytes; 0 until the text is complete (store-release) */
};

_Static_assert(sizeof(struct abi_channel) == 56 && sizeof(struct abi_session_filter) == 8,
	       "layout both sides agree on");

struct abi_session_memory {
	uint64_t magic;
	uint32_t version;
	uint32_t n_channels;
	uint64_t size; /* bytes, whole mapping */
	struct abi_channel channels[ABI_CHANNELS];
	uint32_t trigger_channel; /* receives a copy of the events of triggers; 0: none */
	uint32_t pad;
	struct abi_session_filter filters[ABI_FILTERS]; /* filter n is at n - 1 */
	char text[ABI_FILTER_TEXT_BYTES];
};
_Static_assert(sizeof(struct abi_session_memory) <= ABI_POOL_ALIGN, "the first pool follows it");

/* The routing of an enabled event: its channel and the number of its filter, 0 for none.  Two
 * flags: the event is copied to the trigger channel, or goes to that channel only. */
#define ABI_ROUTING(channel, filter) ((uint16_t)((filter) << 4 | (channel)))
#define ABI_ROUTING_CHANNEL(routing) ((routing) & (ABI_CHANNELS - 1))
#define ABI_ROUTING_FILTER(routing) ((routing) >> 4 & ABI_FILTERS)
#define ABI_ROUTING_TRIGGER 0x8000u
#define ABI_ROUTING_TRIGGER_ONLY 0x4000u
_Static_assert(ABI_CHANNELS == 16 && ABI_FILTERS == 255, "four bits and eight");

#endif
