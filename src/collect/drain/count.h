/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/count.h - which bytes of a packet are events, and how many.
 *
 * Programs do not count: that would cost each event.  The collector steps over the events of a
 * packet by their headers and lengths, at a few nanoseconds each, and reads no values.  The bytes
 * come from programs, so nothing beyond the packet is read.  The count ends at the first bytes that
 * make a reader end: an unknown class, an event that reaches beyond the packet, or a time before the
 * last event or after the packet.  Babeltrace 2.0 gives up the whole recording there, so the
 * rest is not written.
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_COUNT_H
#define COLLECT_DRAIN_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counter;

/* counter_open - for a pool whose events have these contexts, and vpid and vtid if @has_ids.  NULL
 * without memory. */
struct counter *counter_open(uint64_t contexts, bool has_ids);
void counter_close(struct counter *c);
/*
 * counter_describe - class @id, 1..ABI_SCHEMAS, gets this schema.  0 or -ENOMEM.
 *
 * Events of a class that is not described are no events, so a packet with any is counted only after
 * this has succeeded for all classes of the metadata.
 */
int counter_describe(struct counter *c, uint32_t id, const char *schema, size_t size);

struct counted {
	uint64_t events;  /* at the begin of the bytes, each whole, in the order of time */
	size_t bytes;	  /* of these */
	uint64_t last_ns; /* time of the last one */
};

/*
 * counter_count - the events in @size bytes of a packet that begins at @begin_ns and has no event
 * after @most_ns.
 */
struct counted counter_count(const struct counter *c, const void *bytes, size_t size,
			     uint64_t begin_ns, uint64_t most_ns);

/*
 * counter_copy - copy all @size bytes to @to, each once, and count the events of the copy.
 *
 * @next: the bytes of the next call, at least COUNTER_AHEAD_MOST: the first ones are fetched.  NULL: none.
 *
 * Programs may write to @from meanwhile.  Each part is counted while it is in the first cache.
 */
enum { COUNTER_AHEAD_MOST = 32768 };
struct counted counter_copy(const struct counter *c, void *to, const void *from, size_t size,
			    const void *next, uint64_t begin_ns, uint64_t most_ns);

#endif
