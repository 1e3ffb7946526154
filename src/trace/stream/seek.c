/* SPDX-License-Identifier: MIT */
/*
 * trace/stream/seek.c - a stream's cursor to anywhere: see stream.h.
 *
 * CTF can be read forward only: what is before an event is found by reading its packet from the
 * beginning and remembering where events began.  The last STREAM_PLACES are kept, so that a packet
 * is read again only once in as many steps.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/stream/stream.h"

static void rewind_to(struct stream *s, uint32_t packet)
{
	s->packet = packet;
	s->reader.at = s->reader.end = 0;
	s->reader.fault = (struct ctf_fault){ 0 };
	s->is_at_begin = false;
	s->gone = 0; /* what comes again is let go again */
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

void stream_forward(struct stream *s)
{
	if (s->is_at_begin)
		rewind_to(s, 0);
	stream_next(s);
}

static void remember(struct stream_back *b, const struct ctf_reader *r)
{
	b->places[b->top++ % STREAM_PLACES] = (struct stream_bookmark){ r->at, r->clock, r->idle };
	if (b->n < STREAM_PLACES)
		b->n++;
	else
		b->is_complete = false;
}

/* On what @packet tells as lost; false if that is nothing, or the packet has not even room for its
 * header. */
static bool stand_on_loss(struct stream *s, uint32_t packet)
{
	if (!s->packets[packet].lost_events && !s->packets[packet].lost_packets)
		return false;
	rewind_to(s, packet);
	return stream_open_packet(s);
}

/* Lists the events of @packet that end at or before @end bits, or all that are sound; the packet
 * stays open. */
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

/* To the newest event of the list, which leaves the list. */
static void take_back(struct stream *s)
{
	struct stream_back *b = s->back;
	struct stream_bookmark p = b->places[--b->top % STREAM_PLACES];

	b->n--;
	b->is_current = true;
	s->reader.at = p.at;
	s->reader.clock = p.clock;
	s->reader.idle = p.idle;
	s->reader.fault = (struct ctf_fault){ 0 };
	if (next_event(&s->reader, &s->event) <= 0) { /* only if the file changes as we read */
		s->item = TRACE_END;
		s->is_at_begin = true;
		return;
	}
	s->item = TRACE_EVENT;
	s->time_ns = stream_to_ns(s, s->reader.clock);
}

/* The last item of the packets before @packet. */
static void last_before(struct stream *s, uint32_t packet)
{
	while (packet-- > 0) {
		list_events(s, packet, UINT64_MAX);
		if (s->back->n)
			return take_back(s);
		if (stand_on_loss(s, packet))
			return;
	}
	s->item = TRACE_END;
	s->is_at_begin = true;
}

/* The events of the open packet before the one the cursor is on. */
static void list_before(struct stream *s)
{
	struct stream_back *b = s->back;

	list_events(s, s->packet - 1, s->event.end_bits);
	if (b->n) { /* that one itself */
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
		last_before(s, s->item == TRACE_END ? s->n_packets : s->packet - 1);
		return 0;
	}
	if (!b->is_current || b->packet + 1 != s->packet || (!b->n && !b->is_complete))
		list_before(s);
	packet = s->packet - 1;
	if (b->n)
		take_back(s);
	else if (!stand_on_loss(s, packet))
		last_before(s, packet);
	return 0;
}
