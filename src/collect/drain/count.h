/* SPDX-License-Identifier: MIT */
/*
 * collect/drain/count.h - the number of events in the packets that a drain writes.
 *
 * Programs do not count: that would cost each event.  The collector steps over the events of a
 * packet by their lengths, at a few nanoseconds each, and reads no values.  The bytes come from
 * programs, so nothing beyond the packet is read; in bytes that are no events the count ends where
 * a reader ends.
 *
 * One thread.
 */
#ifndef COLLECT_DRAIN_COUNT_H
#define COLLECT_DRAIN_COUNT_H

#include <stddef.h>
#include <stdint.h>

struct counter;

/* counter_open - for a pool whose events have these contexts.  NULL without memory. */
struct counter *counter_open(uint64_t contexts);
void counter_close(struct counter *c);
/* counter_describe - class @id, 1..ABI_SCHEMAS, is in the metadata with this schema. */
void counter_describe(struct counter *c, uint32_t id, const char *schema, size_t size);
/* counter_count - the whole events in @size bytes. */
uint64_t counter_count(const struct counter *c, const void *bytes, size_t size);

#endif
