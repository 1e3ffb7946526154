/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/reader.c - the rings of all CPUs read as one stream, ordered by time.
 *
 * A pass takes the records up to a moment a little in the past (`until_ns`): a program may have read
 * the clock and not yet reserved its place.  A record that is being written holds back later ones
 * on other CPUs.  Bytes that were read are cleared before they are given back.
 */
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "base/monotonic.h"
#include "script/kernel/live.h"

enum { GIVE_BACK = 1 << 17, WAIT_TRIES = 1000 };
#define TIME_MASK ((1ull << RING_TIME_BITS) - 1)
#define SLACK_NS 100000u

static const uint64_t *record_at(const struct kernel_source *s, const struct kernel_reader *r)
{
	return (const uint64_t *)(r->ring->data + (r->position & (s->ring_bytes - 1)));
}

/* Clears the records that were read, and gives them back. */
static void give_back(const struct kernel_source *s, struct kernel_reader *r)
{
	uint64_t from = r->ring->consumed & (s->ring_bytes - 1),
		 to = r->position & (s->ring_bytes - 1);

	if (r->position == r->ring->consumed)
		return;
	if (to <= from) { /* a record may continue beyond the end */
		memset(r->ring->data + from, 0, s->ring_bytes + RING_SLACK - from);
		from = 0;
	}
	memset(r->ring->data + from, 0, to - from);
	/* [A] Cleared first: pairs with a program's reading `consumed` before it writes, ring.c. */
	store_release(&r->ring->consumed, r->position);
}

/* Looks at the record at the reader's position. */
static void look(struct kernel_source *s, struct kernel_reader *r)
{
	/* [B] The word first, then the record: pairs with emit_publish(), whose store is last. */
	uint64_t word = load_acquire(record_at(s, r)), ns, behind;

	r->time_ns = INT64_MAX;
	for (int i = 0; !word && load_acquire(&r->ring->reserved) != r->position; i++) {
		word = load_acquire(record_at(s, r));
		if (word || i < WAIT_TRIES)
			continue;
		if (r->last_ns < s->until_ns) /* it is not older than the one before it */
			s->until_ns = r->last_ns;
		return;
	}
	if (!word)
		return;
	behind = (s->now_ns - word) & TIME_MASK;
	if (behind > TIME_MASK / 2)
		return; /* younger than this pass */
	ns = s->now_ns - behind;
	r->last_ns = ns;
	r->time_ns = (int64_t)ns;
}

void kernel_readers_begin(struct kernel_source *s)
{
	s->now_ns = monotonic_ns();
	s->until_ns = s->is_stopped ? s->now_ns : s->now_ns - SLACK_NS;
	for (int i = 0; s->rings && i < s->n_cpus; i++)
		if (s->readers[i].time_ns == INT64_MAX)
			look(s, &s->readers[i]);
}

const uint64_t *kernel_read(struct kernel_source *s, int64_t *time_ns, int *cpu)
{
	int best = 0;

	for (int i = 1; i < s->n_cpus; i++)
		if (s->readers[i].time_ns < s->readers[best].time_ns)
			best = i;
	if (!s->rings || s->readers[best].time_ns > (int64_t)s->until_ns) {
		for (int i = 0; s->rings && i < s->n_cpus; i++)
			give_back(s, &s->readers[i]);
		return NULL;
	}
	*cpu = best;
	*time_ns = s->readers[best].time_ns + s->offset_ns;
	return record_at(s, &s->readers[best]);
}

void kernel_read_done(struct kernel_source *s, int cpu)
{
	struct kernel_reader *r = &s->readers[cpu];
	uint64_t size = *record_at(s, r) >> RING_TIME_BITS << 3;

	r->position += size;
	if (r->position - r->ring->consumed >= GIVE_BACK)
		give_back(s, r);
	look(s, r);
}
