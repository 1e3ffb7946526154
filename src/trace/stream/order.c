/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/order.c - compares a packet's claims with the packets before it: losses, order,
 * repetition.
 *
 * Invariants:
 *
 *   (1) the losses of a stream are at most STREAM_LOST_MAX events and as many packets, so totals
 *       over all streams do not overflow
 *   (2) a packet is left out only if its bytes are those of a packet before it; in compressed files and
 *       files with holes, if it has the header and the number (not 0) of the packet before
 *
 * A packet in the wrong place is shown where it stands: sorting would hide the writer's order, and a
 * damaged time would move sound events.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "trace/stream/internal.h"

/* Adds @n to *@sum.  False if that is more than a stream can lose: at 10^8 a second, 2^44 take two
 * days. */
static bool add_lost(uint64_t *sum, uint64_t n)
{
	if (n > STREAM_LOST_MAX - *sum)
		return false;
	*sum += n;
	assert(*sum <= STREAM_LOST_MAX);
	return true;
}

static void report_counter(struct stream *s, uint64_t offset, const char *what, uint64_t before,
			   uint64_t now)
{
	stream_report_damage(s,
			     "packet %u at byte %" PRIu64 ": %s, %" PRIu64 " after %" PRIu64
			     ", is impossible\n  no loss is counted for it",
			     s->n_packets - 1, offset, what, now, before);
}

/* The counters of the first packet belong to this file only if it is the stream's first packet. */
void order_count_lost(struct stream *s, struct stream_packet *p, const struct ctf_packet_info *now,
		      const struct ctf_packet_info *before)
{
	uint64_t base = before ? before->discarded : now->sequence ? now->discarded : 0;

	/* behind an impossible counter, the one before it is the better base if it fits */
	if (s->has_sound_discarded && now->discarded >= s->sound_discarded &&
	    now->discarded - s->sound_discarded <= STREAM_LOST_MAX)
		base = s->sound_discarded;
	s->has_sound_discarded = false;
	if (now->has_discarded && now->discarded > base) {
		if (add_lost(&s->sum_lost_events, now->discarded - base)) {
			p->lost_events = now->discarded - base;
		} else {
			s->has_sound_discarded = true;
			s->sound_discarded = base;
			report_counter(s, p->offset, "its counter of lost events", base,
				       now->discarded);
		}
	}
	if (now->has_sequence && before && before->has_sequence &&
	    now->sequence > before->sequence && now->sequence - before->sequence > 1) {
		if (add_lost(&s->sum_lost_packets, now->sequence - before->sequence - 1))
			p->lost_packets = now->sequence - before->sequence - 1;
		else
			report_counter(s, p->offset, "its number", before->sequence, now->sequence);
	}
}

static bool is_same_stream(const struct ctf_packet_info *a, const struct ctf_packet_info *b)
{
	return a->stream == b->stream && a->instance == b->instance && a->cpu == b->cpu;
}

/* Whether @now, which is of the same stream, may be a repetition: it does not follow @before. */
static bool is_disordered(const struct ctf_packet_info *before, const struct ctf_packet_info *now)
{
	if (before->has_sequence && now->has_sequence && now->sequence <= before->sequence)
		return true;
	return now->has_begin && before->has_end && before->end && now->begin < before->end;
}

/* The first packet whose end is @end or later; packets in disorder may hide it. */
static uint32_t find_end(const struct stream *s, uint64_t end)
{
	uint32_t low = 0, high = s->n_packets;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->packets[middle].end < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether the packet at @offset, @info, has the bytes of packet @i.  Of compressed files only the
 * header is compared, and only with the packet before it: another one would be decompressed again. */
static bool is_copy(struct stream *s, uint32_t i, const struct ctf_packet_info *info,
		    uint64_t offset)
{
	uint64_t size = info->packet_bits / 8, from = s->packets[i].offset;
	const struct ctf_packet_info *old = &s->last;

	assert(from < offset);
	if (!size || size > offset - from || size > s->size - offset)
		return false;
	if (!s->packed && !s->is_sparse)
		return !memcmp(s->bytes + from, s->bytes + offset, size);
	return i == s->n_packets - 1 && info->has_sequence && info->sequence &&
	       is_same_stream(old, info) && old->has_sequence && old->sequence == info->sequence &&
	       old->begin == info->begin && old->end == info->end &&
	       old->discarded == info->discarded && old->content_bits == info->content_bits &&
	       old->packet_bits == info->packet_bits;
}

enum { NAMED = 20 }; /* the most packets reported as repeated or in disorder */

static void report_repeated(struct stream *s, uint32_t i, uint64_t offset)
{
	if (s->n_repeated++ >= NAMED)
		return;
	stream_report_damage(s,
			     "the packet at byte %" PRIu64 " repeats packet %u at byte %" PRIu64
			     "\n  it is left out%s",
			     offset, i, s->packets[i].offset,
			     s->n_repeated == NAMED ? ", as are more that are not named" : "");
}

bool order_is_repeated(struct stream *s, const struct ctf_packet_info *info, uint64_t offset)
{
	enum { NEAR = 16 }; /* packets of one end */
	uint32_t first;

	if (!s->n_packets || !is_same_stream(&s->last, info) || !is_disordered(&s->last, info) ||
	    !info->has_end || !info->end)
		return false;
	first = find_end(s, info->end);
	for (uint32_t i = first; i < s->n_packets && i - first < NEAR; i++) {
		if (s->packets[i].end != info->end || !is_copy(s, i, info, offset))
			continue;
		report_repeated(s, i, offset);
		return true;
	}
	return false;
}

/* Equal numbers are not reported: some writers number nothing. */
void order_check(struct stream *s, const struct ctf_packet_info *info, uint64_t offset)
{
	if (s->n_packets < 2 || !is_same_stream(&s->last, info) || !s->last.has_sequence ||
	    !info->has_sequence || info->sequence >= s->last.sequence || s->n_disordered++ >= NAMED)
		return;
	stream_report_damage(s,
			     "packet %u at byte %" PRIu64 " has number %" PRIu64
			     ", but the packet before it has %" PRIu64
			     "\n  its events are shown in the order of the file%s",
			     s->n_packets - 1, offset, info->sequence, s->last.sequence,
			     s->n_disordered == NAMED ? ", as are more that are not named" : "");
}

void order_check_begin(struct stream *s, const struct ctf_packet_info *info)
{
	struct stream_packet *p = &s->packets[s->packet - 1];

	assert(s->packet > 0);
	if (s->packet < 2 || !info->has_begin || p->is_misplaced ||
	    s->reader.packet != s->bytes + p[-1].offset || info->begin >= s->reader.clock)
		return;
	p->is_misplaced = true;
	stream_report_damage(s,
			     "packet %u at byte %" PRIu64
			     " begins before the last event of packet %u\n"
			     "  its events are shown in the order of the file",
			     s->packet - 1, p->offset, s->packet - 2);
}
