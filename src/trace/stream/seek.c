/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/seek.c - moves a stream's cursor to a time, or back by one item.
 *
 * CTF can be decoded forward only.  To step back, the packet is decoded from its beginning and the
 * place of each event is kept in a ring of STREAM_BOOKMARKS bookmarks.  A packet is therefore
 * decoded again only once in STREAM_BOOKMARKS steps.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "trace/stream/internal.h"
#include "trace/stream/stream.h"

static void rewind_to(struct stream *s, uint32_t packet)
{
	assert(packet <= s->n_packets);
	s->packet = packet;
	s->reader.at = s->reader.end = 0;
	s->reader.fault = (struct ctf_fault){ 0 };
	s->is_at_begin = false;
	if (s->is_read_ahead)
		stream_read_pages(s);
	s->released = 0; /* pages that are read again can be released again */
	if (s->back)
		s->back->is_current = false;
}

void stream_seek(struct stream *s, int64_t time_ns)
{
	rewind_to(s, 0);
	stream_skip_to(s, time_ns);
	do
		stream_next(s);
	while (s->item != TRACE_END && s->time_ns < time_ns);
}

uint64_t stream_place(const struct stream *s)
{
	assert(s->item == TRACE_END || (s->packet && s->packet <= s->n_packets));
	return s->item == TRACE_END ? UINT64_MAX : s->packets[s->packet - 1].offset;
}

bool stream_is_place(const struct stream *s, uint64_t place)
{
	uint32_t packet = stream_packet_from(s, place);

	return place == UINT64_MAX || (packet < s->n_packets && s->packets[packet].offset == place);
}

/*
 * The packet at @place, or the first before it from which on none certainly ends before @time_ns: a place too
 * far on, of a forged file, must not lose an event.
 */
static uint32_t packet_to_resume(const struct stream *s, int64_t time_ns, uint64_t place)
{
	uint32_t packet = stream_packet_from(s, place);

	while (packet && (!s->packets[packet - 1].has_end ||
			  stream_to_ns(s, s->packets[packet - 1].end) >= time_ns))
		packet--;
	return packet;
}

void stream_resume(struct stream *s, int64_t time_ns, uint64_t place)
{
	uint32_t packet;

	do
		packet = packet_to_resume(s, time_ns, place);
	while (packet && stream_check_packet(s, packet - 1)); /* an index may be forged, too */
	rewind_to(s, packet);
	do
		stream_next(s);
	while (s->item != TRACE_END && s->time_ns < time_ns);
}

void stream_forward(struct stream *s)
{
	if (s->is_at_begin)
		rewind_to(s, 0);
	stream_next(s);
}

static void remember(struct stream_back *b, const struct ctf_reader *r)
{
	b->bookmarks[b->top++ % STREAM_BOOKMARKS] =
		(struct stream_bookmark){ r->at, r->clock, r->idle };
	if (b->n < STREAM_BOOKMARKS)
		b->n++;
	else
		b->is_complete = false;
}

/* Moves to the loss that @packet reports.  Returns false if it reports none, or if the packet is
 * too short for its header. */
static bool move_to_loss(struct stream *s, uint32_t packet)
{
	if (!s->packets[packet].lost_events && !s->packets[packet].lost_packets)
		return false;
	rewind_to(s, packet);
	return stream_open_packet(s);
}

/* Lists the events of @packet that end at or before bit @end, up to the first damaged one.  The
 * packet stays open. */
static void list_events(struct stream *s, uint32_t packet, uint64_t end)
{
	struct stream_back *b = s->back;
	uint64_t packet_end;
	int got = 0;

	rewind_to(s, packet);
	stream_open_packet(s);
	packet_end = s->reader.end;
	b->packet = packet;
	b->n = b->top = 0;
	b->is_complete = true;
	while (s->reader.at < end) {
		struct ctf_reader before = s->reader;

		got = next_event(&s->reader, &s->event);
		if (got <= 0 || s->reader.at > end)
			break;
		remember(b, &before);
	}
	if (got < 0)
		stream_damaged(s);
	s->reader.end = packet_end;
}

/* Moves to the newest event of the list and removes it from the list. */
static void move_to_newest(struct stream *s)
{
	struct stream_back *b = s->back;
	struct stream_bookmark p = b->bookmarks[--b->top % STREAM_BOOKMARKS];

	assert(b->n <= STREAM_BOOKMARKS);
	b->n--;
	b->is_current = true;
	s->reader.at = p.at;
	s->reader.clock = p.clock;
	s->reader.idle = p.idle;
	s->reader.fault = (struct ctf_fault){ 0 };
	/* only if the file changes while it is read */
	if (next_event(&s->reader, &s->event) <= 0) {
		s->item = TRACE_END;
		s->is_at_begin = true;
		return;
	}
	s->item = TRACE_EVENT;
	s->time_ns = stream_to_ns(s, s->reader.clock);
}

/* Makes @packet the number of the packet before it.  False if there is none. */
static bool step_back(struct stream *s, uint32_t *packet)
{
	uint64_t at = *packet < s->n_packets ? s->packets[*packet].offset : s->size;

	while (*packet && stream_check_packet(s, *packet - 1))
		*packet = stream_packet_from(s, at);
	return *packet && (*packet)--;
}

/* Moves to the last item of the packets before @packet. */
static void move_to_last_before(struct stream *s, uint32_t packet)
{
	while (step_back(s, &packet)) {
		list_events(s, packet, UINT64_MAX);
		if (s->back->n)
			return move_to_newest(s);
		if (move_to_loss(s, packet))
			return;
	}
	s->item = TRACE_END;
	s->is_at_begin = true;
}

/* Lists the events of the open packet that precede the current one. */
static void list_events_before(struct stream *s)
{
	struct stream_back *b = s->back;

	list_events(s, s->packet - 1, s->event.end_bits);
	if (b->n) { /* the current event itself */
		b->n--;
		b->top--;
	}
}

int stream_previous(struct stream *s)
{
	struct stream_back *b = s->back;
	uint32_t packet;

	if (!b && !(b = s->back = calloc(1, sizeof *b)))
		return -ENOMEM;
	if (s->is_at_begin)
		return 0;
	if (s->item != TRACE_EVENT) {
		move_to_last_before(s, s->item == TRACE_END ? s->n_packets : s->packet - 1);
		return 0;
	}
	if (!b->is_current || b->packet + 1 != s->packet || (!b->n && !b->is_complete))
		list_events_before(s);
	packet = s->packet - 1;
	if (b->n)
		move_to_newest(s);
	else if (!move_to_loss(s, packet))
		move_to_last_before(s, packet);
	return 0;
}
