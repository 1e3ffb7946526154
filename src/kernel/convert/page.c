/* SPDX-License-Identifier: MIT */
/* kernel/convert/page.c - converts a page of the ring buffer into packets of CTF events.
 *
 * Plain records are converted in runs with one move; all others one by one. See page.h for the
 * invariants. */
#include "kernel/convert/page.h"

#include <assert.h>
#include <string.h>

#include "base/atomic.h"
#include "clock/clock.h"
#include "kernel/threads/event_contexts.h"

/* One more record, with a delta below 2^27 ticks, then still ends below 2^32. */
#define GAP_NS (1ull << 31)

static size_t left(const struct kernel_page *p)
{
	return (size_t)(p->end - p->next);
}

static bool skip_rest(struct kernel_page *p, const char *why)
{
	p->malformed = why;
	p->next = p->end;
	return false;
}

static void read_missed(struct kernel_page *p, uint32_t commit, const uint8_t *behind, size_t room)
{
	if (!(commit & COMMIT_MISSED))
		return;
	p->n_missed = 1;
	if (commit & COMMIT_STORED && room >= 8 && load64(behind))
		p->n_missed = load64(behind);
}

uint64_t kernel_page_ticks(const uint8_t *bytes, size_t size)
{
	return size < KERNEL_PAGE_HEADER ? 0 : load64(bytes);
}

size_t kernel_page_used(const uint8_t *bytes, size_t size)
{
	size_t used;

	if (size < KERNEL_PAGE_HEADER)
		return size;
	/* The number of missed records may follow the last one. */
	used = KERNEL_PAGE_HEADER + (load32(bytes + 8) & COMMIT_SIZE_MASK) + 8;
	return used < size ? used : size;
}

void kernel_page_open(struct kernel_page *p, struct kernel_classes *classes,
		      const struct abi_clock *clock, uint8_t *bytes, size_t size,
		      uint64_t earliest_ticks, uint64_t latest_ticks)
{
	uint64_t ticks;
	uint32_t commit;

	*p = (struct kernel_page){ .classes = classes,
				   .clock = clock,
				   .begin = bytes,
				   .out = bytes,
				   .next = bytes,
				   .end = bytes,
				   .ticks = earliest_ticks,
				   .latest_ticks = latest_ticks };
	if (size < KERNEL_PAGE_HEADER) {
		p->malformed = "shorter than its header";
		return;
	}
	ticks = load64(bytes);
	commit = load32(bytes + 8);
	p->n_bytes = commit & COMMIT_SIZE_MASK;
	if (p->n_bytes > size - KERNEL_PAGE_HEADER) {
		p->malformed = "claims more bytes than it has";
		p->n_bytes = 0;
		return;
	}
	read_missed(p, commit, bytes + KERNEL_PAGE_HEADER + p->n_bytes,
		    size - KERNEL_PAGE_HEADER - p->n_bytes);
	if (!p->n_bytes)
		return;
	if (ticks < earliest_ticks || ticks > latest_ticks) {
		p->malformed = ticks < earliest_ticks ? "begins before the end of the one before"
						      : "begins in the future";
		return;
	}
	p->ticks = ticks;
	p->next = bytes + KERNEL_PAGE_HEADER;
	p->end = p->next + p->n_bytes;
}

void kernel_page_widen(struct kernel_page *p, struct kernel_contexts *contexts, uint8_t *room,
		       size_t room_size)
{
	assert(!contexts || room_size > KERNEL_CONTEXTS_BYTES_MAX);
	p->contexts = contexts;
	p->room = room;
	p->room_end = room + room_size;
}

/* Advances time without an event. Returns false if that ends the page or the packet. */
static bool advance(struct kernel_page *p, struct kernel_packet *k, uint64_t ticks)
{
	uint64_t ns = clock_ns(p->clock, ticks);

	if (ticks < p->ticks)
		return skip_rest(p, "goes back in time");
	if (ticks > p->latest_ticks)
		return skip_rest(p, "goes into the future");
	p->ticks = ticks;
	if (k->n_events)
		return ns - k->end_ns < GAP_NS;
	k->begin_ns = k->end_ns = ns;
	return true;
}

/* Converts consecutive records of plain classes. */
static void convert_run(struct kernel_page *p, struct kernel_packet *k)
{
	struct kernel_class *const *classes = p->classes->by_kernel_id;
	uint8_t *next = p->next, *const end = p->end;
	uint64_t ticks = p->ticks, ns = k->end_ns;
	uint32_t n = 0;
	size_t size;

	while (end - next >= 4 + KERNEL_COMMON_SIZE) {
		uint32_t header = load32(next), length = (header & 31) * 4, time;
		const struct kernel_class *class;
		uint16_t id;

		memcpy(&id, next + 4, sizeof id);
		class = classes[id];
		if (class->plain_length != length || (size_t)(end - next) < 4 + length ||
		    ticks + (header >> 5) > p->latest_ticks)
			break;
		if (class->n_fixes)
			kernel_class_fix(class, next + 4);
		ticks += header >> 5;
		ns = clock_ns(p->clock, ticks);
		time = (uint32_t)ns;
		memcpy(next, &time, sizeof time);
		memcpy(next + 4, &class->id, sizeof class->id);
		next += 4 + length;
		n++;
	}
	if (!n)
		return;
	size = (size_t)(next - p->next);
	if (p->out != p->next)
		memmove(p->out, p->next, size);
	p->out += size;
	p->next = next;
	p->ticks = ticks;
	k->end_ns = ns;
	k->n_events += n;
}

/* Whether the record's event, which may grow, ends before the record does. */
static bool has_room(const struct kernel_page *p, const uint8_t *record, size_t length)
{
	size_t growth = kernel_class_growth(p->classes, record, length);

	_Static_assert((int)KERNEL_GROWTH_MAX <= (int)KERNEL_PAGE_HEADER, "room at the begin");
	return !growth || p->contexts || (size_t)(record - 4 - p->out) >= growth;
}

/* A record at p->next whose @length bytes of data lie at offset @at. */
static bool convert_one(struct kernel_page *p, struct kernel_packet *k, size_t at, size_t length,
			uint32_t delta)
{
	uint8_t *record = p->next + at;
	uint64_t ticks = p->ticks + delta, ns;
	size_t size;

	if (length > left(p) || at > left(p) - length)
		return skip_rest(p, "has a record that does not end");
	if (ticks > p->latest_ticks)
		return skip_rest(p, "goes into the future");
	if (!has_room(p, record, length)) {
		assert(k->n_events); /* else the packet begins at the page's begin */
		return false;
	}
	ns = clock_ns(p->clock, ticks);
	p->next = record + length;
	size = kernel_class_convert(p->classes, p->out, record, length, (uint32_t)ns);
	if (!size) {
		k->n_unknown++;
		return advance(p, k, ticks);
	}
	k->has_births |= p->classes->was_birth;
	size = kernel_contexts_put(p->contexts, p->out, size, ns);
	p->out += size;
	p->ticks = ticks;
	k->end_ns = ns;
	k->n_events++;
	return true;
}

static bool skip_padding(struct kernel_page *p, struct kernel_packet *k, uint32_t delta)
{
	uint32_t size;

	if (!delta) {
		p->next = p->end;
		return true;
	}
	size = load32(p->next + 4);
	if (size < 4 || size > left(p) - 4)
		return skip_rest(p, "has padding that does not end");
	p->next += 4 + (size_t)size;
	return advance(p, k, p->ticks + delta);
}

/* One record of any kind.  Returns false if the packet ends with it. */
static bool convert_any(struct kernel_page *p, struct kernel_packet *k)
{
	uint32_t header, type, delta, word, needed;
	uint64_t time;

	if (left(p) < 4)
		return skip_rest(p, "ends within a record's header");
	header = load32(p->next);
	type = header & 31;
	delta = header >> 5;
	if (type - 1 < TYPE_DATA_MAX)
		return convert_one(p, k, 4, type * 4, delta);
	needed = type == TYPE_PADDING && !delta ? 4 : 8;
	if (left(p) < needed)
		return skip_rest(p, "ends within a record's header");
	if (type == TYPE_PADDING)
		return skip_padding(p, k, delta);
	word = load32(p->next + 4);
	if (type == TYPE_LONG)
		return word < 4 ? skip_rest(p, "has a record of no size")
				: convert_one(p, k, 8, word - 4, delta);
	time = delta | (uint64_t)word << 27;
	p->next += 8;
	return advance(p, k, type == TYPE_EXTEND ? p->ticks + time : time | (p->ticks & STAMP_TOP));
}

/* Whether the rest of the page, as one record, might not fit. */
static bool is_full(const struct kernel_page *p)
{
	return p->contexts && (size_t)(p->room_end - p->out) <
				      left(p) + 4 + KERNEL_GROWTH_MAX + KERNEL_CONTEXTS_BYTES_MAX;
}

bool kernel_page_next(struct kernel_page *p, struct kernel_packet *k)
{
	uint64_t ns = clock_ns(p->clock, p->ticks);

	p->out = p->contexts ? p->room : p->begin;
	*k = (struct kernel_packet){ .events = p->out, .begin_ns = ns, .end_ns = ns };
	while (p->next < p->end && !is_full(p)) {
		if (!p->contexts)
			convert_run(p, k);
		if (p->next < p->end && !convert_any(p, k))
			break;
	}
	assert(p->next <= p->end); /* (1) in page.h, (4) with contexts */
	assert(p->out <= (p->contexts ? p->room_end : p->next));
	k->size = (size_t)(p->out - k->events);
	return k->n_events > 0;
}
