/* SPDX-License-Identifier: MIT */
/*
 * trace/repair/repair_stream.c - writes the sound packets of one stream.
 *
 * If two numbers contradict each other, it is unknown which one is damaged.  The rules are:
 *
 *   (1) an event later than its packet's end, or earlier than the event before, ends the packet
 *   (2) a packet that begins before the last written event is left out
 *   (3) a time that does not fit 63 bits of nanoseconds is none: readers give up there
 *   (4) a packet that claims to end after the next one begins, or at 0, ends with its last event
 *   (5) counters never fall, nor rise by more than a stream can lose: a reader would show the
 *       difference modulo 2^64
 *   (6) every packet has the uuid of the metadata
 */
#include "trace/repair/repair_stream.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "ctf/compressed/compressed.h"

static const char impossible_time[] = "a time beyond the year 2262";

static void report(const struct stream *s, uint32_t number, const struct measured_packet *p,
		   const struct repair_options *o, const char *what)
{
	char text[1024];

	snprintf(text, sizeof text, "%.500s: packet %" PRIu32 " at byte %" PRIu64 ": %.200s\n  %s",
		 s->info.path, number, p->offset + p->at_bits / 8, p->reason, what);
	o->warn(o->context, text);
}

static void cut_at(struct measured_packet *p, uint64_t at_bits, const char *what)
{
	p->is_complete = false;
	p->at_bits = at_bits;
	p->reason = what;
}

/* Decodes the events up to the first that is not sound. */
static void measure(struct measured_packet *p, const struct stream *s, uint64_t *slots,
		    const struct cut *cut)
{
	uint64_t alignment = cut->is_given ? cut_alignment(s, p->info.stream) : 0;
	uint64_t end = p->info.content_bits,
		 latest = p->info.has_end && p->info.end ? p->info.end : UINT64_MAX,
		 most = cut_latest(s);
	struct ctf_reader r;
	struct ctf_event e;
	int got;

	p->is_complete = p->info.packet_bits <= p->room * 8;
	if (!p->is_complete)
		cut_at(p, p->room * 8, "the file ends within it");
	if (end > p->room * 8)
		end = p->room * 8;
	p->end_bits = p->info.body_bits;
	p->clock = p->info.begin;
	if (p->end_bits > end)
		return;
	ctf_reader_init(&r, s->bytes + p->offset,
			&(struct ctf_packet_info){ .stream = p->info.stream,
						   .body_bits = p->info.body_bits,
						   .content_bits = end,
						   .begin = p->info.begin },
			slots);
	while ((got = ctf_reader_next(&r, &e)) > 0) {
		if (r.clock < p->clock || r.clock > latest || r.clock > most)
			return cut_at(p, p->end_bits,
				      r.clock < p->clock ? "an event earlier than the one before"
				      : r.clock > most	 ? impossible_time
							 : "an event later than the packet's end");
		if (cut->is_given)
			cut_note_event(cut, p, e.end_bits, r.clock, alignment);
		p->clock = r.clock;
		p->end_bits = e.end_bits;
		p->n_events++;
	}
	if (got < 0)
		cut_at(p, r.fault.at_bits, r.fault.what ? r.fault.what : "an incomplete event");
}

/* Sets the sizes to end with the last sound event.  Returns false if no event is sound, or if the
 * sizes cannot be patched. */
static bool shorten(struct measured_packet *p, uint8_t *header)
{
	uint64_t size = (p->end_bits + 7) & ~7ull;

	if (!p->n_events || !is_patchable(&p->info.content_at) || !is_patchable(&p->info.packet_at))
		return false;
	if (!p->info.content_at.size_bits && p->end_bits % 8)
		return false;
	if (p->info.content_at.size_bits)
		patch(header, &p->info.content_at, p->end_bits);
	if (p->info.packet_at.size_bits)
		patch(header, &p->info.packet_at, size);
	p->info.packet_bits = size;
	return true;
}

static int write_packet(const struct stream *s, const struct measured_packet *p,
			const uint8_t *header, uint64_t header_bytes, int fd)
{
	int err = io_write(fd, header, header_bytes);

	return err ? err
		   : io_write(fd, s->bytes + p->offset + p->first_bits / 8,
			      p->info.packet_bits / 8 - header_bytes);
}

static uint64_t packet_room(const struct stream *s, uint32_t i)
{
	return (i + 1 < s->n_packets ? s->packets[i + 1].offset : s->size) - s->packets[i].offset;
}

static bool read_packet(const struct stream *s, uint32_t i, const struct ctf_meta *m,
			uint64_t *slots, struct measured_packet *p)
{
	struct ctf_fault unused;

	*p = (struct measured_packet){ .offset = s->packets[i].offset, .room = packet_room(s, i) };
	if (s->packed)
		p->room = compressed_need(s->packed, p->offset, p->room);
	return !ctf_packet_read(m, s->bytes + p->offset, p->room, &p->info, slots, &unused);
}

/* Whether packet @i, measured, claims to end after the next one begins. */
static bool ends_too_late(const struct stream *s, uint32_t i, const struct ctf_meta *m,
			  const struct measured_packet *p)
{
	uint64_t slots[CTF_SLOTS];
	struct measured_packet next;

	return p->info.has_end && i + 1 < s->n_packets && read_packet(s, i + 1, m, slots, &next) &&
	       next.info.has_begin && p->info.end > next.info.begin && p->clock <= next.info.begin;
}

/* An end of 0 is that of a packet whose writer did not come to its end. */
static bool has_no_end(const struct measured_packet *p)
{
	return p->info.has_end && !p->info.end && p->clock;
}

/* Whether a counter can have risen from @before to @now. */
static bool is_possible(uint64_t before, uint64_t now)
{
	return now >= before && now - before <= STREAM_LOST_MAX;
}

/* Rule (5): replaces an impossible counter by the least possible one. */
static void correct_counters(const struct stream *s, uint32_t number, struct measured_packet *p,
			     struct cut *cut, uint8_t *header, const struct repair_options *o)
{
	uint64_t next = cut->has_last ? cut->last_sequence + 1 : 0;
	bool is_unnumbered = cut->has_last && !cut->last_sequence && !p->info.sequence;
	struct ctf_packet_info *i = &p->info;
	bool is_right = true;

	if (i->has_discarded && is_patchable(&i->discarded_at) &&
	    !is_possible(cut->last_discarded, i->discarded)) {
		patch(header, &i->discarded_at, i->discarded = cut->last_discarded);
		is_right = false;
	}
	if (i->has_sequence && is_patchable(&i->sequence_at) && !is_possible(next, i->sequence) &&
	    !is_unnumbered) {
		patch(header, &i->sequence_at, i->sequence = next);
		is_right = false;
	}
	if (!is_right) {
		p->at_bits = 0;
		p->reason = "a counter of losses, or its number, is impossible";
		report(s, number, p, o, "it continues that of the packet before");
	}
	cut->last_discarded = i->discarded;
	cut->last_sequence = i->sequence;
	cut->has_last = true;
}

/* Rule (6). */
static void correct_uuid(const struct stream *s, uint32_t number, struct measured_packet *p,
			 const struct ctf_meta *m, uint8_t *header, uint64_t header_bytes,
			 const struct repair_options *o)
{
	if (!p->info.other_uuid_at || p->info.other_uuid_at + sizeof m->uuid > header_bytes)
		return;
	memcpy(header + p->info.other_uuid_at, m->uuid, sizeof m->uuid);
	p->at_bits = p->info.other_uuid_at * 8ull;
	p->reason = "its uuid is not that of the metadata";
	report(s, number, p, o, "it gets that of the metadata");
}

/* Writes packet @number to @fd.  @clock: time of the last event written to the stream. */
static int repair_packet(struct stream *s, uint32_t number, const struct ctf_meta *m,
			 uint64_t *clock, struct cut *cut, int fd, const struct repair_options *o,
			 struct repaired *r)
{
	uint64_t slots[CTF_SLOTS], header_bytes;
	uint8_t *header;
	struct measured_packet p;
	int err;

	if (!read_packet(s, number, m, slots, &p)) {
		r->n_left_out++;
		cut_at(&p, 0, "its stream is not described by the repaired metadata");
		report(s, number, &p, o, "it is left out");
		return 0;
	}
	if (!p.info.has_begin)
		p.info.begin = *clock;
	if (cut_is_outside(cut, &p.info))
		return 0;
	measure(&p, s, slots, cut);
	header_bytes = (p.info.body_bits + 7) / 8;
	if (p.info.begin > cut_latest(s) || (p.info.has_end && p.info.end > cut_latest(s)))
		cut_at(&p, 0, impossible_time);
	else if (p.info.begin < *clock)
		cut_at(&p, 0, "it begins before the events before it");
	else if (p.info.has_end && p.info.end && p.info.end < p.info.begin)
		cut_at(&p, 0, "it ends before it begins");
	header = header_bytes <= p.room ? malloc(header_bytes) : NULL;
	if (!header && header_bytes <= p.room)
		return -ENOMEM;
	if (header)
		memcpy(header, s->bytes + p.offset, header_bytes);
	if (!p.is_complete && (!header || !p.at_bits || !shorten(&p, header))) {
		r->n_left_out++;
		report(s, number, &p, o, "it is left out");
		free(header);
		return 0;
	}
	if (!p.is_complete) {
		r->n_cut++;
		report(s, number, &p, o, "the events before it are kept");
	}
	if ((ends_too_late(s, number, m, &p) || has_no_end(&p)) && p.info.end_at.size_bits &&
	    is_patchable(&p.info.end_at)) {
		patch(header, &p.info.end_at, p.clock);
		p.info.end = p.clock;
		r->n_retimed++;
	}
	if (header) {
		correct_counters(s, number, &p, cut, header, o);
		correct_uuid(s, number, &p, m, header, header_bytes, o);
	}
	if (!cut_packet(cut, &p, header))
		p.first_bits = header_bytes * 8;
	err = write_packet(s, &p, header, header_bytes, fd);
	free(header);
	assert(p.clock >= *clock);
	*clock = p.info.has_end && p.info.end > p.clock ? p.info.end : p.clock;
	r->n_packets++;
	r->n_events += p.n_events;
	return err;
}

int repair_stream(struct stream *s, const struct ctf_meta *m, int fd,
		  const struct repair_options *o, struct repaired *r)
{
	uint64_t clock = 0;
	struct cut cut;
	int err = 0;

	cut_open(&cut, s, o);
	for (uint32_t i = 0; i < s->n_packets && !err; i++) {
		stream_read_ahead(s, s->packets[i].offset, packet_room(s, i));
		err = repair_packet(s, i, m, &clock, &cut, fd, o, r);
		if (s->packed)
			compressed_let_go(s->packed, s->packets[i].offset);
		if (!err && o->progress && o->progress(o->context, packet_room(s, i)))
			err = -ECANCELED;
	}
	return err;
}
