/* SPDX-License-Identifier: MIT */
/*
 * kernel/convert/page.h - converts a sub-buffer of the kernel's ring buffer into CTF events, in
 * place.
 *
 * A page is a u64 time, a u64 `commit` (size of the data, flags) and records: 5 bits type, 27 bits
 * of time since the record before, then data. A CTF event is never longer than its record, and the
 * record's header becomes the event's. So the page is its own output buffer:
 *
 *   (1) begin <= out <= next <= end: converted data lies before unconverted data
 *   (2) consecutive records whose bodies can stay are moved together, in runs; most pages begin
 *       with a run that need not move at all
 *   (3) ticks never decrease, and are never later than `latest_ticks`
 *   (4) nothing beyond the given bytes is read or written, whatever they hold
 *
 * A few events grow by up to KERNEL_GROWTH_MAX. If there is no room before the record, the packet
 * ends, and the next one begins at the page's begin, whose 16 bytes of header are room enough.
 *
 * With contexts (kernel/threads/event_contexts.h) each event grows. Then (1) and (2) do not hold, and
 * events are put into a separate buffer, one by one.
 *
 * Pure, except for the descriptions that kernel/convert/class.h gathers: bytes in, events out.
 */
#ifndef KERNEL_CONVERT_PAGE_H
#define KERNEL_CONVERT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/clock.h"
#include "kernel/convert/class.h"
#include "kernel/tracefs/page_format.h"

struct kernel_contexts;

struct kernel_page {
	struct kernel_classes *classes;
	const struct abi_clock *clock;
	uint8_t *begin;
	uint8_t *out;
	uint8_t *next;
	uint8_t *end;
	uint64_t ticks; /* of the record before next */
	uint64_t latest_ticks;
	size_t n_bytes;	   /* of records when it was opened */
	uint64_t n_missed; /* events lost before this page; 1 if the kernel does not report how
			    * many */
	struct kernel_contexts *contexts; /* NULL: none */
	uint8_t *room, *room_end;	  /* with contexts */
	const char *malformed;		  /* the reason why the rest of the page was skipped, or
					   * NULL */
};

/* kernel_page_ticks - the time of a page's first record; 0 if @size is too small. */
uint64_t kernel_page_ticks(const uint8_t *bytes, size_t size);

/* kernel_page_used - how many of a page's @size bytes are in use. */
size_t kernel_page_used(const uint8_t *bytes, size_t size);

/* Consecutive events for one CTF packet. They are inside the page, until the next packet. */
struct kernel_packet {
	uint8_t *events;
	size_t size;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t n_events;
	uint32_t n_unknown; /* records not understood, left out */
	bool has_births;    /* an event has the process of a thread */
};

/*
 * kernel_page_open - read a page's header.
 *
 * @earliest_ticks: the end of the page before. @latest_ticks: a time after the last record.
 * @classes, @clock: not owned.
 *
 * If the header is malformed, `malformed` is set and the page has no events. Afterwards, ticks is
 * the next page's @earliest_ticks.
 */
void kernel_page_open(struct kernel_page *p, struct kernel_classes *classes,
		      const struct abi_clock *clock, uint8_t *bytes, size_t size,
		      uint64_t earliest_ticks, uint64_t latest_ticks);

/* kernel_page_widen - add @contexts to each event, unless it is NULL. Events are then put into
 * @room, which has at least twice the page's size and KERNEL_CONTEXTS_BYTES_MAX. */
void kernel_page_widen(struct kernel_page *p, struct kernel_contexts *contexts, uint8_t *room,
		       size_t room_size);

/*
 * kernel_page_next - convert until the page or a packet ends. Events 2^31 ns apart never share a
 * packet, because an event carries only the low half of its time.
 *
 * With contexts a packet also ends when the room is full. The next packet overwrites it.
 *
 * Returns false after the last packet; @k then still counts unknown records.
 */
bool kernel_page_next(struct kernel_page *p, struct kernel_packet *k);

#endif
